"""Junctions: shared sets of inputs that many elements depend on, each represented by a number.

All results of a sorted, solved or normalised array depend on all of its elements.  Written pair by
pair that is a square of their number; by a junction, which depends on the elements and on which the
results depend, it is their sum.  Only at the end are pairs counted, and written down if they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from funcdiff.passes.sparsity.assembly import FullPattern, Pattern, pattern_of_keys
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.links import spans
from funcdiff.passes.sparsity.parts import Entries, Part, distinct, places

MOST_PAIRS: Final = 1 << 25
"""Pairs of elements up to which they are followed one by one."""


class DensePatternError(Exception):
    """There are more pairs than are worth being followed: nearly all depends on all."""


class Junctions:
    """Sets of inputs, and of other junctions, numbered from the number of inputs on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.count = 0
        self._rows: list[Array] = []
        self._columns: list[Array] = []

    def join(self, groups: Array, columns: Array, count: int) -> Array:
        """Return a number for each of so many groups of columns.

        Of a group of one it is that one; of a group of none -1.
        """
        groups, columns = distinct(groups, columns)
        sizes = np.bincount(groups, minlength=count)
        alone = sizes[groups] == 1
        numbers = np.full(count, -1)
        numbers[groups[alone]] = columns[alone]
        many = np.flatnonzero(sizes > 1)
        numbers[many] = self.first + self.count + np.arange(len(many))
        self._rows.append(numbers[groups[~alone]] - self.first)
        self._columns.append(columns[~alone])
        self.count += len(many)
        return numbers

    def _members(self) -> tuple[Array, Array]:
        """Return the junctions, in order, and all inputs in each."""
        if not self.count:
            return np.empty(0, int), np.empty(0, int)
        rows, columns = np.concatenate(self._rows), np.concatenate(self._columns)
        while np.any(nested := columns >= self.first):
            starts = np.searchsorted(rows, np.arange(self.count + 1))
            inner = columns[nested] - self.first
            counts = np.diff(starts)[inner]
            if counts.sum() > MOST_PAIRS:
                raise DensePatternError
            deeper = columns[spans(starts[inner], counts)]
            rows, columns = distinct(
                np.concatenate([rows[~nested], np.repeat(rows[nested], counts)]),
                np.concatenate([columns[~nested], deeper]),
            )
        return rows, columns

    def widest(self, parts: Sequence[Part], sizes: Sequence[int]) -> list[int]:
        """Return on how many elements of each input an element depends, at most."""
        rows, columns = places(parts)
        inner, members = self._members()
        through = columns >= self.first
        found = []
        for start, stop in pairwise(np.cumsum([0, *sizes]).tolist()):
            inside = (start <= members) & (members < stop)
            counts = np.bincount(inner[inside], minlength=self.count)
            weights = ((start <= columns) & (columns < stop)).astype(int)
            weights[through] = counts[columns[through] - self.first]
            found.append(int(np.bincount(rows, weights).max(initial=0)))
        return found

    def patterns(self, parts: Sequence[Part], height: int, sizes: Sequence[int]) -> list[Pattern]:
        """Return the pattern of a result of so many elements by each input."""
        rows, columns = self._members()
        part = Entries(*places(parts), None)
        through = part.columns >= self.first
        users, used = part.rows[through], part.columns[through] - self.first
        found = []
        for start, stop in pairwise(np.cumsum([0, *sizes]).tolist()):
            shape = (height, stop - start)
            direct = (start <= part.columns) & (part.columns < stop)
            inside = (start <= columns) & (columns < stop)
            members = _Members(rows[inside], columns[inside] - start, self.count)
            keys = part.rows[direct] * max(shape[1], 1) + part.columns[direct] - start
            found.append(members.pattern(keys, users, used, shape))
        return found


class _Members:
    """The inputs in each junction, of one array."""

    def __init__(self, rows: Array, columns: Array, count: int) -> None:
        self.columns = columns
        self.starts = np.searchsorted(rows, np.arange(count + 1))
        self.counts = np.diff(self.starts)

    def pattern(self, keys: Array, users: Array, used: Array, shape: tuple[int, int]) -> Pattern:
        """Return a pattern of places, and of elements that use junctions."""
        kept = np.flatnonzero(self.counts[used])
        users, used = users[kept], used[kept]
        total = len(keys) + int(self.counts[used].sum())
        size = shape[0] * shape[1]
        if size <= MOST_PAIRS and total > size // 8:
            return self._mark(keys, users, used, shape)
        if total > MOST_PAIRS:
            return FullPattern(*shape)
        counts = self.counts[used]
        columns = self.columns[spans(self.starts[used], counts)]
        pairs = np.repeat(users, counts) * shape[1] + columns
        return pattern_of_keys(np.concatenate([keys, pairs]), shape)

    def _mark(self, keys: Array, users: Array, used: Array, shape: tuple[int, int]) -> Pattern:
        """Return a pattern of many places, which are marked in an array, junction by junction."""
        marks = np.zeros(shape, bool)
        marks.reshape(-1)[keys] = True
        order = np.argsort(used, kind="stable")
        users, used = users[order], used[order]
        firsts = np.flatnonzero(np.diff(used, prepend=-1))
        for first, end in pairwise([*firsts.tolist(), len(used)]):
            k = used[first]
            inside = self.columns[self.starts[k] : self.starts[k + 1]]
            marks[users[first:end, None], inside] = True
        return pattern_of_keys(np.flatnonzero(marks), shape, ordered=True)
