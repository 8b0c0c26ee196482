"""Primitives: one record each, holding the value and every derivative rule."""
