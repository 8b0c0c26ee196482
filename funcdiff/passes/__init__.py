"""Transforms programs into equivalent programs that are cheaper or better behaved."""
