"""Writes programs for other libraries of arrays: JAX, PyTorch and CuPy."""
