"""Colours columns so that those of one colour share no row: they are computed as one vector.

Partial distance-2 colouring, columns with many entries first: A. H. Gebremedhin, F. Manne and
A. Pothen, "What color is your Jacobian?", SIAM Review 47 (2005), 629-705.
"""

from __future__ import annotations

import numpy as np

from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.known import Array


def column_colors(pattern: Pattern) -> Array:
    """Return a colour for each column, numbered from 0; 0 for those without entries."""
    by_row, by_column = pattern, pattern.transposed
    row_starts, column_starts = by_row.pointers, by_column.pointers
    counts = np.diff(column_starts)
    colors = np.full(pattern.shape[1], -1)
    met = np.full(pattern.shape[1] + 2, -1)  # by colour, the last column that could not have it
    used = 0
    for column in np.argsort(-counts, kind="stable").tolist():
        if not counts[column]:
            colors[column] = 0
            continue
        for row in by_column.columns[column_starts[column] : column_starts[column + 1]].tolist():
            met[colors[by_row.columns[row_starts[row] : row_starts[row + 1]]]] = column
        colors[column] = color = int(np.argmax(met[: used + 1] != column))
        used = max(used, color + 1)
    return colors
