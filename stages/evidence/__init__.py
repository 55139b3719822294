"""Evidence on an operator: the real job as a scene, its implementations examined and timed."""
