"""Looks for the entries in which a linear function differs from another, by halving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.testing.quotients import Mismatch

_MOST_REPORTED: Final = 5


class Found(NamedTuple):
    """What a search has found."""

    single: list[tuple[int, Mismatch]]  # entries that differ, and how
    # Groups that differ along one direction, but no half of them does.
    together: list[tuple[Any, Mismatch]]
    left: Any  # places, in order, that differ or have not been looked at
    tried: int  # number of directions, each along some of the entries


def search(
    places: Any, whole: Mismatch, fault: Callable[[Any], Mismatch | None], most: int
) -> Found:
    """Find single places at which there is a fault, in as many steps as a number has digits.

    A direction along all of them showed the fault `whole`; one along half of them tells which half
    has it: ``fault(places)`` describes the fault along a direction of these entries alone.  At most
    `most` directions are tried.
    """
    single: list[tuple[int, Mismatch]] = []
    together: list[tuple[Any, Mismatch]] = []
    faulty = [(places, (fault(places) if len(places) == 1 else None) or whole)]
    tried = 0
    while faulty and len(single) + len(together) < _MOST_REPORTED:
        part, found = faulty.pop()
        if len(part) == 1:
            single.append((int(part[0]), found))
            continue
        if tried >= most:
            faulty.append((part, found))
            break
        halves = [(half, fault(half)) for half in np.array_split(part, 2)]
        tried += 2
        wrong = [(half, its) for half, its in halves if its is not None]
        if wrong:
            faulty += wrong[::-1]
        else:
            together.append((part, found))
    left = np.sort(np.concatenate([np.zeros(0, int), *(part for part, _ in faulty)]))
    return Found(single, together, left, tried)
