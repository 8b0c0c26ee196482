"""Graph colouring: groups columns and rows that one vector computes together.

Columns of a colour share no row (partial distance-2 colouring: A. H. Gebremedhin, F. Manne and
A. Pothen, "What color is your Jacobian?", SIAM Review 47 (2005), 629-705).  Of a symmetric matrix
an entry or its mirror image need be found, so that fewer colours do: a star colouring, in which no
path of four vertices has two colours (A. H. Gebremedhin, A. Tarafdar, F. Manne and A. Pothen, "New
acyclic and star coloring algorithms with application to computing Hessians", SIAM J. Sci. Comput.
29 (2007), 1042-1072).  A star colouring of the symmetric matrix [[0, Jᵀ], [J, 0]] says which
columns to push *and* which rows to pull (A. Montoison, G. Dalle and A. Gebremedhin, "Revisiting
sparse matrix coloring and bicoloring", arXiv:2505.07308, 2025).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.known import Array


class Coloring(NamedTuple):
    """Which columns are pushed together, which rows pulled, and where entries are read."""

    columns: Array  # the colour of each, counted from 0; -1 for those in no vector
    rows: Array  # the colour of each
    mirrored: Array  # by entry: whether it is read from its row's vector, at its column
    is_symmetric: bool = False  # of a symmetric matrix, vectors of rows are those of columns

    @property
    def pushes(self) -> int:
        """How many vectors are pushed."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def pulls(self) -> int:
        """How many vectors are pulled."""
        return 0 if self.is_symmetric else int(self.rows.max(initial=-1)) + 1

    @property
    def products(self) -> int:
        """How many vectors there are."""
        return self.pushes + self.pulls


def push_columns(pattern: Pattern, colors: Array) -> Coloring:
    """Return the colouring that pushes columns of these colours."""
    return Coloring(colors, np.full(pattern.shape[0], -1), np.zeros(len(pattern.rows), bool))


def pull_rows(pattern: Pattern, colors: Array) -> Coloring:
    """Return the colouring that pulls rows of these colours."""
    return Coloring(np.full(pattern.shape[1], -1), colors, np.ones(len(pattern.rows), bool))


def cheapest(pattern: Pattern, mode: str | None, *, symmetric: bool) -> Coloring:
    """Return a colouring of few vectors.

    The mode says whether only columns are pushed, or only rows pulled; None is both.
    """
    if mode == "reverse":
        return pull_rows(pattern, column_colors(pattern.transposed))
    best = push_columns(pattern, column_colors(pattern))
    if symmetric and np.array_equal(pattern.keys, pattern.transposed.keys):
        return min(best, symmetric_coloring(pattern), key=lambda found: found.products)
    if mode == "forward":
        return best
    if best.products > np.bincount(pattern.columns, minlength=1).max():  # as many are pulled
        others = pull_rows(pattern, column_colors(pattern.transposed))
        best = min(best, others, key=lambda found: found.products)
    if len(pattern.rows) > (best.products - 1) * max(pattern.shape):  # a vector finds no more
        return best
    return min(best, bidirectional_coloring(pattern), key=lambda found: found.products)


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


def symmetric_coloring(pattern: Pattern) -> Coloring:
    """Return a star colouring of a symmetric pattern, neighbours of many first."""
    colors = star_colors(pattern, np.argsort(-np.diff(pattern.pointers), kind="stable"))
    return _leave_out_unread(pattern, colors, colors)._replace(is_symmetric=True)


def bidirectional_coloring(pattern: Pattern) -> Coloring:
    """Return a colouring of columns and rows together.

    Those with few entries come first: their colours are then spared, as rows and columns with many
    have colours of their own.
    """
    height, width = pattern.shape
    flipped, size = pattern.transposed, height + width
    whole = Pattern(
        np.concatenate([flipped.rows, pattern.rows + width]),
        np.concatenate([flipped.columns + width, pattern.columns]),
        (size, size),
    )
    colors = star_colors(whole, np.argsort(np.diff(whole.pointers), kind="stable"))
    used = int(colors.max(initial=-1)) + 1
    return _leave_out_unread(pattern, colors[:width], colors[width:] + used)


def star_colors(pattern: Pattern, order: Array) -> Array:
    """Return a colour for each row of a symmetric pattern, numbered from 0, given one by one.

    Neighbours differ, and no path of four has two colours only.  An edge from v to w is *central*
    at w if w has a further neighbour with the colour of v: then w is the centre of their star.
    """
    aside = pattern.rows != pattern.columns
    sources, targets = pattern.rows[aside], pattern.columns[aside]
    starts = np.searchsorted(sources, np.arange(len(order) + 1)).tolist()
    back = np.empty(len(sources), int)
    back[np.lexsort((sources, targets))] = np.arange(len(sources))
    colors = [-1] * len(order)
    around: list[set[int]] = [set() for _ in colors]  # colours of neighbours
    centers: list[set[int]] = [set() for _ in colors]  # of those that are centres beside it
    first: dict[tuple[int, int], int] = {}  # by vertex and colour, an edge to it from the colour
    central = bytearray(len(sources))
    froms, ends, backs = sources.tolist(), targets.tolist(), back.tolist()
    for v in order.tolist():
        edges = range(starts[v], starts[v + 1])
        refused: set[int] = set()
        for edge in edges:
            w = ends[edge]
            if colors[w] >= 0:
                refused.add(colors[w])
                refused |= around[w] if central[backs[edge]] else centers[w]
        colors[v] = color = next(k for k in range(len(refused) + 1) if k not in refused)
        for edge in edges:
            w = ends[edge]
            around[w].add(color)
            other = first.setdefault((w, color), edge)
            if other != edge:
                for each in (other, edge):
                    central[each] = True
                    if colors[w] >= 0:
                        centers[froms[each]].add(colors[w])
            if central[backs[edge]]:
                centers[w].add(color)
    return np.array(colors, int)


def _leave_out_unread(pattern: Pattern, columns: Array, rows: Array) -> Coloring:
    """Decide where each entry is read, and leave out the colours of which none is.

    An entry can be read from the vector of its column if no other of the same colour has one in
    the row, and from the vector of its row if no other of the same colour has one in the column.
    """
    column, row = columns[pattern.columns], rows[pattern.rows]
    direct, mirrored = _alone(pattern.rows, column), _alone(pattern.columns, row)
    used = np.zeros(max(columns.max(initial=-1), rows.max(initial=-1)) + 1, bool)
    used[column[direct & ~mirrored]] = True
    used[row[~direct]] = True
    free = direct & mirrored
    pairs, _ = _count_pairs(column[free], row[free])
    for one, other in pairs:
        if not (used[one] or used[other]):
            used[one] = True
    read = ~direct | (mirrored & ~used[column])
    return Coloring(_number_used(columns, used), _number_used(rows, used), read)


def _count_pairs(first: Array, second: Array) -> tuple[list[tuple[int, int]], Array]:
    """Return the pairs that occur, and for each of the given ones how often it does."""
    width = int(second.max(initial=0)) + 1
    keys, inverse, counts = np.unique(
        first * width + second, return_inverse=True, return_counts=True
    )
    return [divmod(key, width) for key in keys.tolist()], counts[inverse]


def _alone(lines: Array, colors: Array) -> Any:
    return _count_pairs(lines, colors)[1] == 1


def _number_used(colors: Array, used: Array) -> Array:
    """Number the used colours among these from 0; -1 for the others."""
    own = np.zeros(len(used), bool)
    own[colors] = True
    return np.where(own & used, np.cumsum(own & used) - 1, -1)[colors]
