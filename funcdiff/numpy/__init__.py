"""NumPy for traced arrays."""

from funcdiff.numpy import arithmetic, array, linalg, norms, products, shape, sorting  # noqa: F401
