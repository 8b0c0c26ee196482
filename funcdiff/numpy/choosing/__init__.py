"""Functions that select, place, sort or assign elements."""
