"""Agreement of two results: tolerances follow from the precision of the dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = list[Any]
Function: TypeAlias = Callable[[Sequence[Any]], Values]


def is_smooth(x: Any) -> bool:
    """Whether an array has a floating or complex dtype."""
    return bool(np.asarray(x).dtype.kind in "fc")


def precision(values: Iterable[Any]) -> float:
    """Return the distance of 1 to the next number in the coarsest of the dtypes."""
    found = [float(np.finfo(np.asarray(x).dtype).eps) for x in values if is_smooth(x)]
    return max(found, default=float(np.finfo(np.float64).eps))


def rounding(values: Iterable[Any]) -> float:
    """Return the relative tolerance between two ways to compute the same."""
    return math.pow(precision(values), 0.75)


def magnitudes(shape: int | tuple[int, ...], random: np.random.Generator) -> Any:
    """Return random positive numbers, none of which is small."""
    return random.uniform(0.4, 1.0, shape)


def direction(x: Any, random: np.random.Generator) -> Any:
    """Return a random tangent of the type of `x`, without small entries."""
    x = np.asarray(x)

    def part() -> Any:
        return magnitudes(x.shape, random) * random.choice([-1.0, 1.0], x.shape)

    t = part() + 1j * part() if x.dtype.kind == "c" else part()
    return np.asarray(t).astype(x.dtype)[()]


def disagreement(left: Any, right: Any, tolerance: float, scale: float = 1.0) -> str | None:
    """Return where two arrays of one shape differ most and by what, or None if they agree.

    The tolerance is relative to the largest of both arrays and `scale`, the size of the numbers
    that they were computed from.
    """
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape:
        return f"shape {left.shape} against {right.shape}"
    if not left.size:
        return None
    if left.dtype.kind not in "fc" or right.dtype.kind not in "fc":
        wrong = np.asarray(left != right).astype(float)
    else:
        wrong = _error(left, right)
        finite = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in (left, right)]
        wrong = np.where(wrong <= tolerance * max(*finite, scale), 0.0, wrong)
    if not wrong.any():
        return None
    place = tuple(int(k) for k in np.unravel_index(np.argmax(wrong), wrong.shape))
    where = f"entry {place}: " if place else ""
    return f"{where}{left[place]} against {right[place]}"


def _error(left: Any, right: Any) -> Any:
    """Return distances: none between equal infinities or two NaNs, an infinite one to any other."""
    with np.errstate(all="ignore"):
        distance = np.asarray(np.abs(left - right))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))
