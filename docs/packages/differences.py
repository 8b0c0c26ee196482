"""Derivatives by central differences, extrapolated to a vanishing step, with an estimate of error.

The table is Neville's, as in C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)",
Advances in Engineering Software 4 (1982); each element takes the entry whose neighbours agree best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

FIRST_STEP: Final = 2.0**-6
"""The first step, relative to the coordinate."""
LEVELS: Final = 7

Array = np.ndarray[Any, Any]


def jacobian(f: Callable[[Any], Any], x: Any) -> tuple[Array, Array]:
    """Return the Jacobian of f at x, shape `f(x).shape + x.shape`, and estimates of its errors."""
    at = np.asarray(x)
    columns = [_along(f, x, index) for index in np.ndindex(at.shape)]
    values, errors = (np.stack(part, axis=-1) for part in zip(*columns, strict=True))
    shape = values.shape[:-1] + at.shape
    return values.reshape(shape), errors.reshape(shape)


def _along(f: Callable[[Any], Any], x: Any, index: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the derivative by one coordinate, and the error of each element."""
    size = abs(float(np.asarray(x)[index])) or 1.0
    best, error = np.zeros(0), np.zeros(0)
    row: list[Array] = []
    for level in range(LEVELS):
        above = [_central(f, x, index, size * FIRST_STEP / 2.0**level)]
        if not level:
            best, error = above[0], np.full(above[0].shape, np.inf)
        for order, coarser in enumerate(row):
            weight = 4.0 ** (order + 1)
            finer = (weight * above[order] - coarser) / (weight - 1.0)
            found = np.maximum(abs(finer - above[order]), abs(finer - coarser))
            better = found < error
            best, error = np.where(better, finer, best), np.where(better, found, error)
            above.append(finer)
        row = above
    return best, error


def _central(f: Callable[[Any], Any], x: Any, index: tuple[int, ...], step: float) -> Array:
    """Return the central difference with a step, which is rounded so that it is exact."""
    ends = [np.array(x, np.float64) for _ in range(2)]
    ends[0][index] += step
    ends[1][index] -= step
    width = float(ends[0][index]) - float(ends[1][index])
    points = [end if np.ndim(x) else float(end) for end in ends]
    above, below = (np.asarray(f(point), np.float64) for point in points)
    return (above - below) / width
