"""Smoothing splines: FITPACK chooses the knots among the data, and how much it smooths by `s`.

Which data have a knot is a constant.  On these knots the coefficients minimize
``Σ (w_i (y_i - s(x_i)))² + λ² Σ (jumps of the k-th derivative)²``, and λ is the root of the
equation that the sum of squares is what FITPACK has reached, `s` to a thousandth of it.

P. Dierckx, "Curve and Surface Fitting with Splines", Oxford 1993, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.api.rules.implicit import custom_root
from funcdiff.api.rules.opaque import primitive
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy import asarray, zeros
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.covered import load
from funcdiff.scipy.interpolate.bsplines import design

_MOST: Final = 60.0
"""Up to which \\|ln λ\\| the root is looked for: beyond, the spline does not change any more."""


def smooth(
    x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any, *, grows: bool = False
) -> tuple[Any, Any, Any, int]:
    """Return knots and coefficients of FITPACK's smoothing spline, its squares, and its code.

    Parameters
    ----------
    x, y, w
        Data and their weights: shape (m,).
    xb, xe
        Ends of the spline.
    k
        Its degree.
    s
        How large the sum of the squared weighted residuals may be.
    grows
        Whether FITPACK begins with little memory, as of `UnivariateSpline`, and goes on with more,
        which leads to other knots.
    """
    x, y, w, xb, xe, s = given = [array(asarray(v, float)) for v in (x, y, w, xb, xe, s)]
    found: Any = _chosen(k, grows, *map(stop_gradient, given))
    try:
        count, code, smooths = int(found[1]), int(found[2]), bool(found[3])
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"which data have a knot of a smoothing spline is not known at {user_location()}, "
            "inside vmap, cond, scan and derivatives under jit. Leave these out, or give the "
            "knots: to LSQUnivariateSpline, make_lsq_spline or splrep(task=-1)."
        ) from error
    places = np.concatenate([x, (x[1:] + x[:-1]) / 2])
    ends = [np.broadcast_to(end, (k + 1,)) for end in (xb, xe)]
    t = np.concatenate([ends[0], places[found[0][: count - 2 * k - 2]], ends[1]])
    rows, right = design(x, t, k) * w[:, None], y * w

    def coefficients(penalty: Any) -> Any:
        zero = np.zeros(len(penalty))
        q, r = np.linalg.qr(np.concatenate([rows, penalty]))
        return np.linalg.solve(r, q.T @ np.concatenate([right, zero]))

    def squares(c: Any) -> Any:
        return np.sum((right - rows @ c) ** 2)

    if not smooths:
        c = coefficients(zeros((0, rows.shape[1])))
        return t, c, squares(c), code
    jumps = _jumps(t, k)
    reached = s + (found[4] - stop_gradient(s))
    root = custom_root(
        lambda q: squares(coefficients(np.exp(q) * jumps)) - reached, np.float64(0.0), _increasing
    )
    c = coefficients(np.exp(root) * jumps)
    return t, c, squares(c), code


def _choose(
    k: int, grows: bool, x: Any, y: Any, w: Any, xb: Any, xe: Any, s: Any
) -> tuple[Any, ...]:
    """Return the places of the inner knots, how many knots, FITPACK's code, and what it reached."""
    splrep: Any = load("scipy.interpolate._fitpack_impl").splrep
    options = {"w": w, "xb": float(xb), "xe": float(xe), "k": int(k), "full_output": 1}
    if grows:
        t, fp, code = _grown(x, y, w, xb, xe, k, s)
    else:
        (t, _, _), fp, code, _ = splrep(x, y, s=float(s), **options)
    inner = t[k + 1 : -k - 1]
    least = splrep(x, y, t=inner, **options)[1] if code >= 0 else fp
    places = np.concatenate([x, (x[1:] + x[:-1]) / 2])
    found = np.zeros(len(x), np.int64)
    found[: len(inner)] = np.argmin(np.abs(inner[:, None] - places), axis=1)
    smooths = bool(code >= 0 and fp > least * (1 + 1e-7))
    return found, np.int64(len(t)), np.int64(code), np.bool_(smooths), np.float64(fp)


def _grown(x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any) -> tuple[Any, Any, Any]:
    """Return knots, squares and FITPACK's code as `UnivariateSpline` does, which holds the lock."""
    compiled: Any = load("scipy.interpolate._dfitpack")
    found = compiled.fpcurf0(x, y, int(k), w=w, xb=float(xb), xe=float(xe), s=float(s))
    if found[-1] == 1:
        known, (fp, fpint, places, code) = found[:8], found[10:]
        t, c, fpint, places = (np.resize(v, len(x) + k + 1) for v in (*found[8:10], fpint, places))
        found = compiled.fpcurf1(*known, t, c, fp, fpint, places, code)
    return found[8][: found[7]], found[10], found[-1]


def _nothing(
    k: int, grows: bool, x: Any, y: Any, w: Any, xb: Any, xe: Any, s: Any
) -> tuple[Any, ...]:
    found = np.zeros(len(x), np.int64)
    return found, np.int64(0), np.int64(0), np.bool_(0), np.float64(0)


_chosen: Final[Any] = primitive(_choose, nondiff_argnums=(0, 1), result=_nothing)


def _jumps(t: Any, k: int) -> Any:
    """Return the matrix of what the k-th derivative of a spline jumps by at its inner knots."""
    count, columns = len(t) - 2 * k - 2, len(t) - k - 1
    place, step = np.arange(count)[:, None], np.arange(k + 2)
    widths = t[place + step + k + 1] - t[place + step]
    others = place[..., None] + step[:, None] + step
    distances = t[place + k + 1][..., None] - t[others]
    factors = np.where(others == place[..., None] + k + 1, 1.0, distances)
    matrix = zeros((count, columns))
    matrix[place, place + step] = widths / np.prod(factors, axis=-1)
    scale: Any = (t[columns] - t[k]) / (count + 1)
    return matrix * scale**k


def _increasing(f: Callable[[Any], Any], start: Any) -> Any:
    """Return the root of an increasing function, or the end that is nearest to it."""
    low, high = -1.0, 1.0
    while f(np.float64(low)) > 0 and low > -_MOST:
        low *= 2
    while f(np.float64(high)) < 0 and high < _MOST:
        high *= 2
    if f(np.float64(low)) > 0 or f(np.float64(high)) < 0:
        return np.float64(low if f(np.float64(low)) > 0 else high)
    root = load("scipy.optimize").brentq(
        lambda q: float(f(np.float64(q))), low, high, xtol=1e-14, rtol=1e-14
    )
    return np.float64(root)
