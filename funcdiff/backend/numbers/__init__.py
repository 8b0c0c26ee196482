"""Compiles programs of few numbers to arithmetic of Python floats."""
