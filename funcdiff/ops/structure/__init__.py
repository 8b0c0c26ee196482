"""Primitives that arrange elements: views, slices, joins, windows."""
