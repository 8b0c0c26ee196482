"""Primitives whose parameters hold programs: branches, loops, checkpoints."""
