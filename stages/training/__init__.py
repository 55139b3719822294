"""Train and evaluate a workload: one process, several, and the pilot's two arms."""
