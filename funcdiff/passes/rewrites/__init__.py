"""Rewrite rules: each is a function of which the docstring is the identity."""
