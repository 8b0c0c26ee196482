"""Says how often something runs as it is, until it is worth making it quicker.

To derive an equation and to compile it take some 60 µs, and save one or two of each run on small
arrays.  Programs that come back a few times, as where derivatives are held against differences, are
many, so the work waits for some runs: a loop of a hundred calls loses little by that.  The larger
the arrays, the more is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_ELEMENTS: Final = 256
_EQUATIONS_A_RUN: Final = 64
_MOST: Final = 32


class Patience:
    """How many runs are waited for at the least: one in tests, which go through all ways so."""

    least = 8


patience: Final = Patience()


def runs_before(sizes: Sequence[int], equations: int = 0) -> int:
    """Return how many runs to wait for, of operations on arrays of so many elements.

    8 on numbers, up to 32 of long programs; half of them on arrays of 256 elements.
    """
    elements = sum(sizes) / max(len(sizes), 1)
    runs = min(max(equations // _EQUATIONS_A_RUN, patience.least), _MOST)
    return min(runs, int(_MOST / (1 + elements / _ELEMENTS)))
