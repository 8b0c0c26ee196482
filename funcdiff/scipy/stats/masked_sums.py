"""Means over counts where nobody knows where a sum ends: every block that may be needed, by masks.

``scipy.stats`` sums from the median up, and then down, in blocks of numbers until one adds nothing
or too many are summed.  As `maxcount` bounds their number, all of them can be summed at once, with
what comes behind an end left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def sum_by_masks(
    terms: Callable[[Any], Any],
    low: Any,
    high: Any,
    middle: Any,
    maxcount: int = 1000,
    tolerance: float = 1e-10,
    chunksize: int = 32,
) -> Any:
    """Sum terms over the whole numbers from `low` to `high`, from the middle on.

    `terms`: the terms at numbers of shape ``(n,)``.
    `low`, `high`, `middle`: numbers, of shape ``()``; ends may be infinite.
    `maxcount`, `tolerance`, `chunksize`: of how many numbers on no other block begins; below which
      sum, for each of its numbers, a block is the last; how many numbers are in a block.  All of
      them if no more are left.
    """
    steps = np.arange(float((maxcount // chunksize + 1) * chunksize))
    first = np.clip(middle, low, high)
    whole = high - low <= chunksize
    up, sizes = _blocks(terms, first + steps, low, high, chunksize)
    counted = whole | _is_before_end(up, sizes, tolerance)
    found = np.sum(np.where(counted, up, 0.0))
    count = np.sum(np.where(counted, sizes, 0.0))
    is_cut = np.all(counted) & (count > maxcount) & ~_is_small(up, sizes, tolerance)[-1]
    down, sizes = _blocks(terms, first - 1 - steps, low, high, chunksize)
    before = count + chunksize * np.arange(float(len(sizes)))
    goes_on = (before <= maxcount) | (np.arange(len(sizes)) == 0)
    counted = whole | (_is_before_end(down, sizes, tolerance) & goes_on & ~is_cut)
    return found + np.sum(np.where(counted, down, 0.0))


def _blocks(
    terms: Callable[[Any], Any], k: Any, low: Any, high: Any, chunksize: int
) -> tuple[Any, Any]:
    """Return the sums of blocks of terms, and how many of their numbers are within the ends."""
    inside = (k >= low) & (k <= high)
    values = np.where(inside, terms(np.clip(k, low, high)), 0.0)
    sizes = np.sum(np.reshape(inside, (-1, chunksize)), axis=1)
    return np.sum(np.reshape(values, (-1, chunksize)), axis=1), sizes


def _is_small(sums: Any, sizes: Any, tolerance: float) -> Any:
    return np.abs(sums) < tolerance * sizes


def _is_before_end(sums: Any, sizes: Any, tolerance: float) -> Any:
    """Return which blocks no small one precedes."""
    small = _is_small(sums, sizes, tolerance)
    return np.cumsum(small) - small == 0
