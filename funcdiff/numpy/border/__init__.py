"""Where NumPy's calls become equations: dispatch, promotion, concrete values."""
