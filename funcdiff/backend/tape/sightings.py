"""Counts how often recordings came: a program costs as much to derive as many runs of a tape."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from funcdiff.core.recording import Recording

_EQUATIONS_A_SIGHT: Final = 64
_MOST_SIGHTS: Final = 16
"""A program is derived after one sight for so many equations, and at the latest after so many."""

_KEPT: Final = 1 << 16

_counts: Final[dict[int, int]] = {}
"""By the hash of what was done with a recording: if two agree, one is derived early."""


def comes_back(recording: Recording, *what: Hashable) -> bool:
    """Note that something is done with a recording; return whether it was, often enough."""
    key = hash((recording, what))
    if len(_counts) >= _KEPT:
        _counts.clear()
    seen = _counts[key] = _counts.get(key, 0) + 1
    return seen > min(max(len(recording[0]) // _EQUATIONS_A_SIGHT, 1), _MOST_SIGHTS)


def forget_sightings() -> None:
    """Begin to count anew."""
    _counts.clear()
