"""Generates fast NumPy source for a program: formulas, memory, constants, products."""
