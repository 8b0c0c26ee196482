"""Draws programs as graphs: forward and derivative, the user's lines, and what is kept."""
