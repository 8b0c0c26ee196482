"""Generates fast NumPy source for a program: buffer reuse, constant folding, products."""
