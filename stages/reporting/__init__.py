"""Reporting: the model package and the decision record."""
