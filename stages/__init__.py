"""Stages: one file a node of the decision graph, and the subjects that they share."""
