"""Integrals and series behind derivatives of special functions, in plain NumPy and float64."""
