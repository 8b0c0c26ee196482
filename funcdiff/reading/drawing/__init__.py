"""Draws programs as graphs: forward and derivative, source lines, and saved values."""
