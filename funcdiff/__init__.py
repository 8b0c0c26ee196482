"""Derivatives of plain NumPy code by composable program transforms."""

from funcdiff import numpy, pytree
from funcdiff.api.derivatives import grad, jvp, linearize, value_and_grad, vjp

__all__ = ["grad", "jvp", "linearize", "numpy", "pytree", "value_and_grad", "vjp"]
