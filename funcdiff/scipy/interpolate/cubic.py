"""Cubic interpolants in one variable: their slopes at the data, and SciPy's own code for the rest.

`PchipInterpolator` and `Akima1DInterpolator` choose slopes by the signs and sizes of differences;
here they are chosen elementwise, so that it works for batches and at kinks.  The splines of
`CubicSpline` solve a tridiagonal system for theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff.scipy.linalg  # noqa: F401 (covers what CubicSpline calls)
from funcdiff.numpy import asarray
from funcdiff.scipy.borrowed import borrow_classes, borrow_functions, copy_of, method_of
from funcdiff.scipy.covered import load

_MODULE = "scipy.interpolate._cubic"

borrow_classes("scipy.interpolate", "CubicHermiteSpline CubicSpline")
borrow_classes(
    "scipy.interpolate",
    "PchipInterpolator Akima1DInterpolator",
    note="Where the slope has a kink the derivative is the mean of both sides, or that of a side.",
)
borrow_functions("scipy.interpolate", "pchip_interpolate")


# ---- PCHIP ---------------------------------------------------------------------------------------


@method_of(_MODULE, "PchipInterpolator")
def _find_derivatives(x: Any, y: Any, xp: Any = None) -> Any:
    """Return the weighted harmonic mean of the slopes on both sides, zero at extrema."""
    if len(y) == 2:
        return np.broadcast_to(np.diff(y, axis=0) / np.diff(x, axis=0), y.shape)
    h = np.diff(x, axis=0)
    m = np.diff(y, axis=0) / h
    (h0, h1), (m0, m1) = ((z[:-1], z[1:]) for z in (h, m))
    w0, w1 = h0 + 2 * h1, 2 * h0 + h1
    product = np.sign(m0) * np.sign(m1)
    is_mean = (product >= 0) & ((m0 != 0) | (m1 != 0))
    total = np.where(is_mean, w0 * m1 + w1 * m0, 1.0)
    # where one slope is zero the mean is, too, and has a kink: half of its derivative
    share = np.where(product > 0, 1.0, 0.5)
    inner = np.where(is_mean, share * ((w0 + w1) * m0 * m1 / total), 0.0)
    first, last = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], inner, last[None]])


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Return the slope of the parabola through three points, as far as it keeps the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    turns = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(turns, 3.0 * m0, d))


# ---- Akima ---------------------------------------------------------------------------------------


@method_of(_MODULE, "Akima1DInterpolator")
def __init__(  # noqa: N807 (a method)
    self: Any, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> None:
    """Interpolate with slopes that are means of differences, weighted by their changes."""
    if method not in {"akima", "makima"}:
        raise NotImplementedError(f"`method`={method} is unsupported.")
    x, y = asarray(x), asarray(y)
    if y.dtype.kind == "c":
        raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
    hermite = copy_of(load("scipy.interpolate").CubicHermiteSpline)
    hermite.__init__(self, x, y, y, axis=axis)  # checks what is given
    moved = np.moveaxis(y, axis, 0)
    slopes = _akima_slopes(x.reshape(-1, *(1 for _ in moved.shape[1:])), moved, method)
    hermite.__init__(
        self, x, y, np.moveaxis(slopes, 0, axis), axis=axis, extrapolate=extrapolate or False
    )


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    """H. Akima, "A new method of interpolation", J. ACM 17(4), 1970, equation (1)."""
    m = np.diff(y, axis=0) / np.diff(x, axis=0)
    if len(y) == 2:
        return np.broadcast_to(m, y.shape)
    before, behind = 2.0 * m[0] - m[1], 2.0 * m[-1] - m[-2]
    ends = [2.0 * before - m[0], before], [behind, 2.0 * behind - m[-1]]
    m = np.concatenate([np.stack(ends[0]), m, np.stack(ends[1])])
    change = np.abs(np.diff(m, axis=0))
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    w1, w2 = change[2:], change[:-2]
    total = w1 + w2
    is_weighted = total > 1e-9 * np.max(total, initial=-np.inf)
    share = w2 / np.where(is_weighted, total, 1.0)
    weighted = m[1:-2] + share * (m[2:-1] - m[1:-2])
    return np.where(is_weighted, weighted, 0.5 * (m[3:] + m[:-3]))
