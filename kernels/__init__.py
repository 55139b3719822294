"""Operators: one folder each, complete in itself; torch and NumPy are all they need."""
