"""Covering arrays: few rows of a table that have every value, or every pair of values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations


def covering(rows: Sequence[Mapping[str, Hashable]], strength: int) -> list[int]:
    """Return which rows to keep so that all values that occur together in any still do in one.

    A greedy choice, the same everywhere: rows of most new combinations first, then in their order.

    Parameters
    ----------
    rows
        The value of each parameter in each row.
    strength
        How many parameters a combination has: 1 keeps every value, 2 every pair of values.

    Returns
    -------
    list of int
        Positions of rows, in order.

    References
    ----------
    D. M. Cohen, S. R. Dalal, M. L. Fredman and G. C. Patton, "The AETG system: an approach to
    testing based on combinatorial design", IEEE Transactions on Software Engineering 23 (1997).
    """
    parts = [{*combinations(row.items(), min(strength, len(row)))} for row in rows]
    seen: set[tuple[tuple[str, Hashable], ...]] = set()
    kept: set[int] = set()
    for new in range(max(map(len, parts), default=0), 0, -1):
        for k, part in enumerate(parts):
            if len(part - seen) >= new:
                kept.add(k)
                seen |= part
    return sorted(kept)
