"""Assembles the entries of a Jacobian block by block: a pattern, and the numbers in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from funcdiff.core.late import computed
from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.indexing import gather, scatter, scatter_add
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.parts import (
    Entries,
    Part,
    are_distinct,
    distinct,
    entries,
    hold,
    is_count,
    join_vectors,
    places,
    take,
)
from funcdiff.space import splat


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a matrix may differ from zero, row by row.

    Rows and columns are in order, each pair once.
    """

    rows: Array
    columns: Array
    shape: tuple[int, int]

    @property
    def keys(self) -> Array:
        """The places as numbers, counted row by row."""
        return self.rows * self.shape[1] + self.columns

    @property
    def nnz(self) -> int:
        """How many places there are."""
        return len(self.rows)

    @property
    def is_half_full(self) -> bool:
        """Whether more than half of the elements may differ from zero."""
        return 2 * self.nnz > self.shape[0] * self.shape[1]

    def first_beyond(self, other: Pattern) -> tuple[int, int] | None:
        """Return the first place that another pattern of this shape has not, if there is one."""
        missing = np.setdiff1d(self.keys, other.keys)
        return divmod(int(missing[0]), self.shape[1]) if len(missing) else None

    @computed
    def _contents(self) -> Any:
        return self.shape, self.rows.tobytes(), self.columns.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._contents == other._contents

    def __hash__(self) -> int:
        return hash(self._contents)

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix."""
        order = np.lexsort((self.rows, self.columns))
        return Pattern(self.columns[order], self.rows[order], self.shape[::-1])

    @computed
    def pointers(self) -> Array:
        """Where each row begins, and the last one ends."""
        return np.searchsorted(self.rows, np.arange(self.shape[0] + 1))

    @computed
    def lower(self) -> tuple[Pattern, Array]:
        """The pattern of the lower triangle, and which of the places are in it."""
        chosen = np.flatnonzero(self.rows >= self.columns)
        return Pattern(self.rows[chosen], self.columns[chosen], self.shape), chosen


class FullPattern(Pattern):
    """A pattern of all places, which are written down when they are asked for."""

    def __init__(self, height: int, width: int) -> None:
        object.__setattr__(self, "shape", (height, width))

    @computed
    def rows(self) -> Array:
        """The number of each row, as often as there are columns."""
        return np.repeat(np.arange(self.shape[0]), self.shape[1])

    @computed
    def columns(self) -> Array:
        """The numbers of all columns, row by row."""
        return np.tile(np.arange(self.shape[1]), self.shape[0])

    @property
    def keys(self) -> Array:
        """The places as numbers, counted row by row."""
        return np.arange(self.nnz)

    @property
    def nnz(self) -> int:
        """How many places there are."""
        return self.shape[0] * self.shape[1]

    @computed
    def pointers(self) -> Array:
        """Where each row begins, and the last one ends."""
        return np.arange(self.shape[0] + 1) * self.shape[1]

    def first_beyond(self, other: Pattern) -> tuple[int, int] | None:
        """Return the first place that another pattern of this shape has not, if there is one."""
        if other.nnz == self.nnz:
            return None
        later = np.flatnonzero(other.keys != np.arange(other.nnz))
        return divmod(int(later[0]) if len(later) else other.nnz, self.shape[1])

    @computed
    def _contents(self) -> Any:
        return self.shape

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix."""
        return FullPattern(*self.shape[::-1])


def pattern_of_keys(keys: Array, shape: tuple[int, int], *, ordered: bool = False) -> Pattern:
    """Return the pattern of places that are numbered row by row, in any order, or in order."""
    if not ordered:
        keys = np.sort(keys, kind="stable")
        keys = keys[np.diff(keys, prepend=-1) != 0]
    if len(keys) == shape[0] * shape[1]:
        return FullPattern(*shape)
    return Pattern(*np.divmod(keys, max(shape[1], 1)), shape)


def block_entries(parts: Sequence[Part], sizes: Sequence[int]) -> list[list[Entries]]:
    """Return the entries of a result by input, with columns counted from the first of each."""
    starts = np.cumsum([0, *sizes])
    blocks: list[list[Entries]] = [[] for _ in sizes]
    for part in map(entries, parts):
        for block, (start, stop) in zip(blocks, pairwise(starts.tolist()), strict=True):
            inside = np.flatnonzero((start <= part.columns) & (part.columns < stop))
            if len(inside):
                columns = part.columns[inside] - start
                block.append(Entries(part.rows[inside], columns, take(part.data, inside)))
    return blocks


def pattern_of(block: Sequence[Entries], shape: tuple[int, int]) -> Pattern:
    """Return the pattern of a block."""
    if not block:
        return Pattern(np.empty(0, int), np.empty(0, int), shape)
    rows = np.concatenate([part.rows for part in block])
    columns = np.concatenate([part.columns for part in block])
    return pattern_of_keys(rows * max(shape[1], 1) + columns, shape)


def add_up(parts: Sequence[Part]) -> Entries:
    """Return a sum as one list in order, with one coefficient for each element and input."""
    rows, columns = distinct(*places(parts))
    pattern = Pattern(rows, columns, (1 + int(rows[-1]), 1 + int(columns.max())))
    (dtype,) = {part.data.type.dtype for part in parts if part.data is not None}
    return Entries(rows, columns, numbers_of(list(map(entries, parts)), pattern, dtype))


def numbers_of(block: Sequence[Entries], pattern: Pattern, dtype: np.dtype[Any]) -> Tracer:
    """Return the entries of a block in the order of its pattern, those of one place added up."""
    size = len(pattern.rows)
    if not size:
        return constant(0, ArrayType((0,), dtype))
    width = pattern.shape[1]
    keys = pattern.keys
    fixed = np.zeros(size, dtype)
    places, vectors = [], []
    for part in block:
        assert part.data is not None
        place = np.searchsorted(keys, part.rows * width + part.columns)
        number = splat(part.data)
        if number is None:
            places.append(place)
            vectors.append(part.data)
        else:
            np.add.at(fixed, place, number)
    if not places:
        return hold(fixed)
    place, vector = np.concatenate(places), join_vectors(vectors)
    alone = are_distinct(place, size)
    if alone and len(place) == size and not fixed.any():
        order = np.empty(size, int)
        order[place] = np.arange(size)
        return vector if is_count(order, size) else gather(vector, [hold(order)], (0,))
    if alone and not fixed[place].any():
        return scatter(hold(fixed), vector, [hold(place)], (0,), distinct=True)
    return scatter_add(hold(fixed), vector, [hold(place)], (0,))
