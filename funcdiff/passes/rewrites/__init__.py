"""Identities: each rewrite is a function whose docstring is what it may assume."""
