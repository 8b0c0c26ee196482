"""Tracks which tiles of an array that a loop writes and reads may be nonzero everywhere.

A loop over ``y[i]`` makes a chain of writes to one array.  To work out the support of the whole
array at each step would take quadratic time, but the loop asks for one element at a time: what was
written last to a tile of the array tells.
"""

from __future__ import annotations

from typing import Any

from funcdiff.core.tracer import Tracer
from funcdiff.ops.structure.slicing import Slice

_Tiles = tuple[tuple[int, ...], dict[tuple[int, ...], bool], bool]


class Tiles:
    """The tiles of the chains of writes in one program; a chain is known by its latest array."""

    def __init__(self) -> None:
        self._chains: dict[Any, _Tiles] = {}

    def write(
        self, y: Tracer, x: Tracer, p: Slice, *, everywhere: bool, before: bool, adds: bool
    ) -> None:
        """Note that `y` is `x` with one tile replaced, or added to.

        `everywhere` and `before` tell whether the tile and `x` may differ from zero everywhere.
        """
        if not _is_tile(p):
            return
        chain = self._chains.pop(x.atom, None)
        if chain is None or chain[0] != p.lengths:
            chain = (p.lengths, {}, before)
        _, tiles, elsewhere = chain
        tiles[p.starts] = everywhere or (adds and tiles.get(p.starts, elsewhere))
        self._chains[y.atom] = chain

    def is_dense(self, x: Tracer, p: Slice) -> bool:
        """Whether it is known that a slice may differ from zero everywhere."""
        chain = self._chains.get(x.atom)
        if chain is None or not _is_tile(p) or chain[0] != p.lengths:
            return False
        return chain[1].get(p.starts, chain[2])


def _is_tile(p: Slice) -> bool:
    """Whether a slice is one of those of its size that cover an array without overlap."""
    return all(
        step == 1 and length and start % length == 0
        for start, length, step in zip(p.starts, p.lengths, p.steps, strict=True)
    )
