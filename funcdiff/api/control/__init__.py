"""Branches and loops that become one equation, and what is kept of them."""
