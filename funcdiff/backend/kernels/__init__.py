"""Generates what `jit` runs: code that keeps its memory from call to call."""
