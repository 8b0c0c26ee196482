"""The border to NumPy: dispatch, promotion and concrete values, by which calls become equations."""
