"""Fuses row-wise equations into regions that run block by block in cache, in threads."""
