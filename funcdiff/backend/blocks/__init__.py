"""Elementwise regions that run block by block in cache, in several threads."""
