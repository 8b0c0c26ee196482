"""NumPy's aliasing on immutable values: arrays, views, indexed reads, writes, exports."""
