"""Tiering: counts the runs of recordings on tapes, until deriving a program is worth its cost."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import funcdiff.passes as passes
from funcdiff.core.atoms import Entry
from funcdiff.core.evaluate import runs_before
from funcdiff.core.primitive import Operation
from funcdiff.core.recording import Recording

_SIGHTS_OF_A_LOOP: Final = 6
_ROLLED: Final = 8
"""A long program is derived after so many sights if, with loops, it has that many times fewer
equations: of those it has without them, each then takes some 10 µs.
"""

_NEW: Final = 128
"""Operations that may be new: the derivative of one takes some 250 µs, until it is known."""

_KEPT: Final = 1 << 16

_counts: Final[dict[int, int]] = {}
"""By the hash of what was done with a recording: if two agree, one is derived early."""


def comes_back(recording: Recording, *what: Hashable) -> bool:
    """Note that something is done with a recording; return whether it was, often enough."""
    key = hash((recording, what))
    if len(_counts) >= _KEPT:
        _counts.clear()
    seen = _counts[key] = _counts.get(key, 0) + 1
    entries = recording[0]
    if _has_new_operations(entries):
        return True
    often = runs_before([entry[0].size for entry in entries if entry], len(entries))
    return seen > often or (seen > _SIGHTS_OF_A_LOOP and _is_loop(recording))


def _is_loop(recording: Recording) -> bool:
    """Whether a recording is long, and its program short."""
    count = len(recording[0])
    return (
        count >= passes.recorded.LONG
        and len(passes.recorded.recorded(recording).equations) * _ROLLED <= count
    )


def _has_new_operations(entries: Sequence[Entry]) -> bool:
    """Whether so many operations were not seen before that the whole is derived in less time.

    They are seen then: what has the same operations goes by a tape.
    """
    new = {
        x[0] for x in entries
        if x and type(x[0]) is Operation and x[0].steps is None
        and x[0].primitive.facts.model is None
    }  # fmt: skip
    for op in new:
        op.steps = {}
    return len(new) > max(_NEW, len(entries) // 8)


def forget_sightings() -> None:
    """Begin to count anew."""
    _counts.clear()
