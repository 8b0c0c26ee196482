"""Primitives along axes: reductions, accumulations, sorting, indexing."""
