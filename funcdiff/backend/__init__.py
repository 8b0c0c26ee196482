"""Compiles programs to Python code: one function of plain NumPy calls per program."""
