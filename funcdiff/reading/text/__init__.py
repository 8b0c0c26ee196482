"""Decompiles a program to readable NumPy code: one module that runs with NumPy alone.

`funcdiff.backend.code.source` writes for speed; what is written here gives the same bits, and is
meant to look as a careful person would have written it.
"""
