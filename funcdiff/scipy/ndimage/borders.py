"""Images beyond their borders: which pixel stands for a place outside, and where for a coordinate.

Everything here is a matter of integers, but for coordinates, which are reflected and wrapped by
sums and differences: these have their derivatives by the coordinate.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.numpy import take
from funcdiff.numpy.border.promotion import array

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
"""SciPy's codes of its modes; filters have the first five, and take wrap for grid-wrap."""

_BY_CONSTANT: Final = (CONSTANT, GRID_CONSTANT)

_REACH: Final = 8.0
"""So far from an image no spline sees more than its border: their orders are at most 5."""


def pixels(place: Any, n: int, mode: int) -> tuple[Any, Any]:
    """Return the pixel that stands for an integral place, and whether it is one of the image."""
    inside = (place >= 0) & (place < n)
    if mode in _BY_CONSTANT or mode == NEAREST:
        return np.clip(place, 0, n - 1), inside | (mode == NEAREST)
    if mode in (WRAP, GRID_WRAP) or n == 1:
        return place % n, inside | True
    period = 2 * n - 2 if mode == MIRROR else 2 * n
    folded = place % period
    last = period if mode == MIRROR else period - 1
    return np.where(folded < n, folded, last - folded), inside | True


def extend(x: Any, axis: int, before: int, behind: int, mode: int, cval: Any) -> Any:
    """Return an image with so many more pixels at both ends of an axis, or with fewer."""
    if x.shape[axis] == 0:  # no pixel stands for any
        return array(np.zeros([before + behind if k == axis else n for k, n in enumerate(x.shape)]))
    index, inside = pixels(np.arange(-before, x.shape[axis] + behind), x.shape[axis], mode)
    y = take(x, index, axis=axis)
    if mode not in _BY_CONSTANT:
        return y
    shape = [1] * x.ndim
    shape[axis] = -1
    return np.where(inside.reshape(shape), y, cval)


def coordinate(x: Any, n: int, mode: int) -> tuple[Any, Any]:
    """Return where in an image a coordinate is looked up, and whether it is in the image."""
    last = n - 1
    inside = (x >= 0) & (x <= last)
    if mode == GRID_CONSTANT:
        return x, inside | True
    if mode == CONSTANT:
        return np.where(inside, x, 0.0), inside
    if mode == NEAREST or n == 1:  # near the border a spline still sees pixels of the image
        return np.clip(x, -_REACH, last + _REACH), inside | True
    if mode == MIRROR:
        folded = x - 2 * last * np.floor(x / (2 * last))
        found = np.where(folded > last, 2 * last - folded, folded)
    elif mode == REFLECT:
        folded = x - 2 * n * np.floor(x / (2 * n))
        found = np.where(folded >= n, 2 * n - 1 - folded, folded)
    elif mode == WRAP:
        behind = x - last * np.floor(x / last)
        found = np.where(x < 0, x + last * (np.floor(-x / last) + 1), behind)
    else:
        behind = x - n * np.trunc(x / n)
        found = np.where(x < 0, x + n * (np.trunc((-1 - x) / n) + 1), behind)
    return np.where(inside, x, found), inside | True
