"""Ufuncs, their keywords and their methods."""
