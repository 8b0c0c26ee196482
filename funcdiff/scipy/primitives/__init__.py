"""Primitives that only SciPy's functions need: their values are SciPy's, their derivatives ours."""
