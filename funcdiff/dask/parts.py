"""Adds results of blocks as a binary tree that the numbers of the blocks decide.

The sum of n blocks is that of the first ones, as many as the largest power of two below n, and of
the others.  So what one task adds, and what the next ones, changes no bit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Part:
    """Results of consecutive blocks."""

    start: int  # number of the first block
    size: int  # a power of two: the place in the tree, which the last part may not fill
    leaves: list[Any] | None  # results, added; None if the blocks are empty
    seconds: float = 0.0  # how long all blocks took


def merge_siblings(parts: Iterable[Part]) -> list[Part]:
    """Return parts, in their order, with neighbours added that are added first in the tree."""
    found: list[Part] = []
    for part in parts:
        found.append(part)
        while len(found) > 1 and _are_siblings(*found[-2:]):
            found[-2:] = [_add(*found[-2:])]
    return found


def sum_parts(parts: Iterable[Part]) -> Part:
    """Return the sum of all parts from the beginning of one in the tree, in their order."""
    waiting = merge_siblings(parts)
    while len(waiting) > 1:
        waiting[-2:] = [_add(*waiting[-2:])]
    return waiting[0]


def _are_siblings(left: Part, right: Part) -> bool:
    after = right.start == left.start + left.size
    return after and left.size == right.size and left.start % (2 * left.size) == 0


def _add(left: Part, right: Part) -> Part:
    if left.leaves is None or right.leaves is None:
        leaves = right.leaves if left.leaves is None else left.leaves
    else:
        leaves = list(map(operator.add, left.leaves, right.leaves))
    return Part(left.start, 2 * left.size, leaves, left.seconds + right.seconds)
