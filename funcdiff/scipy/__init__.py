"""SciPy's functions for traced arrays: ``from funcdiff.scipy import special``."""

from funcdiff.scipy import special

__all__ = ["special"]
