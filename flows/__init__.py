"""Flows: Prefect decides and schedules, DVC executes, MLflow keeps; no arithmetic here."""
