"""NumPy's linear algebra and its products of arrays."""
