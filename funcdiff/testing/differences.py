"""Central differences, and what it means that two results agree.

A tolerance follows from the precision of the dtypes and from nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Values: TypeAlias = list[Any]
Function: TypeAlias = Callable[[Sequence[Any]], Values]

_SLACK: Final = 32.0
"""How many times the ideal error of a difference quotient is allowed."""


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


def truncation(values: Iterable[Any]) -> float:
    """Return the relative tolerance between a derivative and a difference quotient.

    Of error ``c·h⁴ + ε/h`` the best is of order ``ε^(4/5)``; `c`, a fifth derivative, is unknown.
    """
    return _SLACK * math.pow(precision(values), 0.6)


def direction(x: Any, random: np.random.Generator) -> Any:
    """Return a random tangent of the type of `x`, without small entries."""
    x = np.asarray(x)

    def part() -> Any:
        return random.uniform(0.4, 1.0, x.shape) * random.choice([-1.0, 1.0], x.shape)

    t = part() + 1j * part() if x.dtype.kind == "c" else part()
    return np.asarray(t).astype(x.dtype)[()]


def central_difference(
    function: Function, xs: Sequence[Any], ts: Sequence[Any], step: float | None = None
) -> Values:
    """Return the directional derivative of a function by central differences.

    With ``D(h) = (f(x + h·t) - f(x - h·t)) / 2h`` it is ``(4·D(h/2) - D(h)) / 3`` (Richardson),
    of error O(h⁴).  Entries of `ts` that are None do not move.  The step ``h`` follows from the
    precision unless it is given.
    """
    if step is None:
        step = math.pow(precision(xs), 0.2)

    def quotient(h: float) -> Values:
        forward = function([_moved(x, t, h) for x, t in zip(xs, ts, strict=True)])
        backward = function([_moved(x, t, -h) for x, t in zip(xs, ts, strict=True)])
        return [
            (a - b) / (2 * h) if is_smooth(a) else None
            for a, b in zip(forward, backward, strict=True)
        ]

    with np.errstate(all="ignore"):
        coarse, fine = quotient(step), quotient(step / 2)
        return [None if a is None else (4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def _moved(x: Any, t: Any, h: float) -> Any:
    return x if t is None else (x + x.dtype.type(h) * t).astype(x.dtype)


def disagreement(
    left: Any, right: Any, tolerance: float, scale: float = 1.0, absolute: float | None = None
) -> str | None:
    """Return where two arrays differ most and by what, or None if they agree.

    Parameters
    ----------
    left, right
        Arrays, which must have one shape.
    tolerance
        Relative to the largest of both arrays and `scale`.
    scale
        Size of the numbers that the arrays were computed from.
    absolute
        A difference that is never too large, in place of that which `scale` allows.
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
        allowed = tolerance * scale if absolute is None else absolute
        wrong = np.where(wrong <= max(tolerance * max(finite), allowed), 0.0, wrong)
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
