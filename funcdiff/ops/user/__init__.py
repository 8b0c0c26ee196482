"""Primitives with custom rules or Python code."""
