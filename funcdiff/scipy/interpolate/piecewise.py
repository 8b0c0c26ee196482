"""Piecewise polynomials; the interval of a point is a constant for derivatives.

SciPy's compiled evaluators are formulas of the coefficients and of the distance from the left end
of the interval, so they are differentiated by all of these: coefficients, breakpoints and points.
At a breakpoint the derivative is that of the interval SciPy takes, which begins there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial
from typing import Any

import numpy as np

from funcdiff.api.inspection import stop_gradient
from funcdiff.api.rules.implicit import solution_of
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_classes, cover_choice, method_of
from funcdiff.scipy.covered import cover, covers, holds_traced, load
from funcdiff.scipy.places import place

_MODULE = "scipy.interpolate._interpolate"
_COMPILED = "scipy.interpolate._ppoly"


def intervals(breaks: Any, points: Any, extrapolate: bool) -> tuple[Any, Any]:
    """Return which interval each point is in, the outer ones without end, and whether it counts.

    An interval contains the breakpoint at which it begins; breakpoints may descend.
    """
    sign = np.where(breaks[-1] >= breaks[0], 1.0, -1.0)
    b, x = sign * breaks, sign * points
    index = np.clip(np.searchsorted(b, x, side="right") - 1, 0, len(breaks) - 2)
    inside = x == x if extrapolate else (b[0] <= x) & (x <= b[-1])
    return index, inside


def powers(z: Any, degree: int, nu: int) -> list[Any]:
    """Return the derivatives of order nu of z^degree, ..., z, 1."""
    found = []
    for n in range(degree, -1, -1):
        scale = float(factorial(n) // factorial(n - nu)) if n >= nu else 0.0
        found.append(scale * z ** max(n - nu, 0))
    return found


@covers(_COMPILED, "evaluate")
def _evaluate(c: Any, x: Any, xp: Any, nu: int, extrapolate: bool, out: Any) -> None:
    """Σ c[m]·(x - x_i)^(k-m), by Horner's rule."""
    index, inside = intervals(x, xp, extrapolate)
    z = (xp - take(x, index))[:, None]
    rows = take(c, index, axis=1)
    y = np.zeros_like(rows[0])
    degree = len(c) - 1
    for n in range(degree, nu - 1, -1):
        y = y * z + rows[degree - n] * float(factorial(n) // factorial(n - nu))
    out[...] = np.where(inside[:, None], y, np.nan)


@covers(_COMPILED, "fix_continuity")
def _fix_continuity(c: Any, x: Any, order: int) -> None:
    """Set the last coefficients so that derivatives up to an order are continuous."""
    h = np.diff(x)[:-1, None]
    top = len(c) - 1
    for m in range(order, -1, -1):
        jumps = sum(comb(n, m) * c[top - n, :-1] * h ** (n - m) for n in range(m + 1, top + 1))
        c[top - m, 1:] = c[top - m, :1] + np.cumsum(jumps, axis=0)


@covers(_COMPILED, "evaluate_bernstein")
def _evaluate_bernstein(c: Any, x: Any, xp: Any, nu: int, extrapolate: bool, out: Any) -> None:
    """Evaluate by de Casteljau's algorithm, derivatives by differences of the coefficients."""
    index, inside = intervals(x, xp, extrapolate)
    width = (take(x, index + 1) - take(x, index))[:, None]
    s = (xp - take(x, index))[:, None] / width
    rows = take(c, index, axis=1)
    for degree in range(len(c) - 1, len(c) - 1 - min(nu, len(c) - 1), -1):
        rows = degree * np.diff(rows, axis=0) / width
    while len(rows) > 1:
        rows = (1 - s) * rows[:-1] + s * rows[1:]
    y = rows[0] if nu < len(c) else np.zeros_like(rows[0])
    out[...] = np.where(inside[:, None], y, np.nan)


@covers(_COMPILED, "evaluate_nd")
def _evaluate_nd(c: Any, xs: Any, ks: Any, xp: Any, nu: Any, extrapolate: bool, out: Any) -> None:
    """Evaluate a product of powers in every cell, axis by axis."""
    orders, nus = [int(k) for k in np.asarray(ks)], [int(n) for n in np.asarray(nu)]
    found = [intervals(x, xp[:, d], extrapolate) for d, x in enumerate(xs)]
    cells = array(c.reshape(*orders, *(len(x) - 1 for x in xs), -1))
    rows = cells[(*(slice(None) for _ in orders), *(index for index, _ in found))]
    for d, (index, _) in enumerate(found):
        z = xp[:, d] - take(xs[d], index)
        terms = zip(powers(z, orders[d] - 1, nus[d]), rows, strict=True)
        rows = sum(p.reshape(-1, 1) * row for p, row in terms)
    inside = np.all(np.stack([flags for _, flags in found]), axis=0)
    out[...] = np.where(inside[:, None], rows, np.nan)


def _points(points: Any, ndim: int | None = None) -> Any:
    """Return points, or a tuple of arrays of their coordinates, as an array."""
    if not holds_traced(points):
        return place("scipy.interpolate._interpnd", "_ndim_coords_from_arrays")(points, ndim)
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*(asarray(p, float) for p in points)), axis=-1)
    points = asarray(points)
    return points.reshape(-1, ndim or 1) if points.ndim == 1 else points


# a tuple is no array here
cover("scipy.interpolate._interpnd", "_ndim_coords_from_arrays", _points)

for _name in ("PPoly", "BPoly"):  # from SciPy 1.18 on, they hand over to others
    cover_choice(_MODULE, f"_get_xp_{_name.lower()}_cls", f"_{_name}")
borrow_classes("scipy.interpolate", "PPoly BPoly NdPPoly")


def integral(f: Any, first: Any, last: Any, a: Any, b: Any, extrapolate: Any) -> Any:
    """Return the integral from a to b of what has the antiderivative `f` from `first` to `last`."""
    if extrapolate != "periodic":
        return f(b, extrapolate=bool(extrapolate)) - f(a, extrapolate=bool(extrapolate))
    period = last - first

    def whole(x: Any) -> Any:
        times = np.floor((x - first) / period)
        return times * (f(last) - f(first)) + f(x - times * period)

    return whole(b) - whole(a)


@method_of(_MODULE, "_BPoly", fills=True)
@method_of(_MODULE, "_PPoly", fills=True)
def integrate(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """∫ p from a to b, d/da = -p(a), d/db = p(b)."""
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    a, b = asarray(a, float), asarray(b, float)
    found = integral(self.antiderivative(), self.x[0], self.x[-1], a, b, extrapolate)
    return found.reshape(self.c.shape[2:])


@method_of(_MODULE, "_PPoly")
def solve(self: Any, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
    """Return where p = y, dr/dθ = -(∂p/∂θ)/p'(r); where p jumps over y it is a breakpoint."""
    if self.c.ndim > 2:
        raise UnsupportedNumPyError(
            f"PPoly.solve of several traced polynomials is not supported, at {user_location()}: "
            "SciPy returns arrays of several lengths. Solve them one by one."
        )
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    c, x, level = (np.asarray(stop_gradient(v)) for v in (self.c, self.x, y))
    plain = load("scipy.interpolate").PPoly(c, x)
    found = plain.solve(float(level), discontinuity, extrapolate)
    places = np.argmin(np.abs(x[:, None] - found), axis=0)
    off = np.abs(plain(found) - level) > 1e-8 * np.max(np.abs(c), initial=1.0)
    jumps = (x[places] == found) & off
    implicit = roots_of(lambda r: self(r, extrapolate=True) - y, found)
    return np.where(jumps, take(self.x, places), implicit)


def roots_of(f: Callable[[Any], Any], found: Any) -> Any:
    """Return roots that were found of an elementwise function, dr/dθ = -(∂f/∂θ)/f'(r)."""

    def divide(slope: Any, t: Any) -> Any:
        return t / slope(np.ones_like(t))

    return solution_of("the roots of a polynomial", f, found, divide)
