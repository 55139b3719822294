"""Numerics: is an implementation right, in value, gradient, layout, determinism and memory?"""
