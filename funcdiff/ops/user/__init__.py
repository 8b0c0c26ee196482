"""Primitives with rules or code of the user's."""
