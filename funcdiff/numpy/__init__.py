"""NumPy for traced arrays."""

from funcdiff.numpy import arithmetic, array, products, shape, sorting  # noqa: F401
