"""Primitives that act on each element alone."""
