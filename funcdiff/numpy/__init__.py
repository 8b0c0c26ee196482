"""NumPy for traced arrays."""

from funcdiff.numpy import arithmetic, array, products, shape  # noqa: F401
