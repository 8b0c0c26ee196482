"""Smoothing splines of FITPACK: knots among the data, and how much is smoothed, are chosen by `s`.

Which data have a knot is a constant.  On these knots the coefficients minimize
``Σ (w_i (y_i - s(x_i)))² + λ² Σ (jumps of the k-th derivative)²``, and λ is the root of the
equation that the sum of squares is what FITPACK has reached, `s` to a thousandth of it.

Where values are not known, nor is how many knots there are.  The spline is then computed with the
first knot repeated, to as many knots as there can be, and returned on knots among which others are
inserted, which change nothing of it.

P. Dierckx, "Curve and Surface Fitting with Splines", Oxford 1993, sections 1.3, 5.2 and 5.3.
"""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.rules.implicit import solution_of
from funcdiff.api.rules.opaque_functions import primitive, without_effects
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy import asarray, take, zeros
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import concrete_value
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.covered import load
from funcdiff.scipy.interpolate.bsplines import design
from funcdiff.scipy.places import place

_MOST: Final = 60.0
"""Up to which \\|ln λ\\| the root is looked for: beyond, the spline does not change any more."""


class _Choice(NamedTuple):
    """What is chosen by values: where knots are, and how much is smoothed.

    Attributes
    ----------
    places
        Which of `_candidates` each of the m + k + 1 knots is; the first ones are filled.
    filled
        How many are.
    inserted, origins
        The knots and as many others as are filled, and which candidates they are, -1 for others.
    code
        FITPACK's: what happened.
    smooths, root, reached
        Whether jumps are minimized, ln λ if they are, and the sum of squares.
    """

    places: Any
    filled: Any
    inserted: Any
    origins: Any
    code: Any
    smooths: Any
    root: Any
    reached: Any


def smooth(
    x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any, name: str
) -> tuple[Any, Any, Any, int]:
    """Return knots and coefficients of FITPACK's smoothing spline, its squares, and its code.

    `x`, `y`, `w`: data and their weights: shape (m,).
    `xb`, `xe`: ends of the spline.
    `k`: its degree.
    `s`: how large the sum of the squared weighted residuals may be.
    `name`: of which of SciPy's functions: they lead to other knots.

    Returns
    -------
    tuple
        Without values there are m + k + 1 knots and one coefficient for each B-spline of these,
        and the code is 0.
    """
    x, y, w, xb, xe, s = (array(asarray(v, float)) for v in (x, y, w, xb, xe, s))
    ends = [np.broadcast_to(end, (k + 1,)) for end in (xb, xe)]
    chosen = _Choice(*_chosen(name, *map(stop_gradient, (x, y, w, *ends, s))))
    places, filled, code, is_known = chosen.places, chosen.filled, 0, True
    try:
        filled, code = (int(concrete_value(v)) for v in (chosen.filled, chosen.code))
        places, filled = places[filled:], 0
    except ConcreteValueError:
        is_known = False
    candidates = _candidates(x, xb, xe)
    t = take(candidates, places)
    rows, right = design(x, t, k) * w[:, None], y * w
    jumps = _jumps(t, k, filled)

    def squares(c: Any) -> Any:
        return np.sum((right - rows @ c) ** 2)

    def excess(q: Any) -> Any:
        reached = s + (chosen.reached - stop_gradient(s))
        found = squares(_minimum(rows, right, np.exp(q) * jumps, filled))
        return np.where(chosen.smooths, found - reached, q)

    root = solution_of("the smoothing of a spline", excess, chosen.root)
    c = _minimum(rows, right, np.where(chosen.smooths, np.exp(root), 0.0) * jumps, filled)
    if is_known:
        return t, c, squares(c), code
    inserted = _told(chosen.inserted, chosen.code)
    full = np.where(chosen.origins < 0, inserted, take(candidates, chosen.origins))
    sites = np.mean(full[np.arange(len(c))[:, None] + np.arange(1, k + 1)], axis=1)  # Greville's
    return full, np.linalg.solve(design(sites, full, k), design(sites, t, k) @ c), squares(c), code


def _candidates(x: Any, xb: Any, xe: Any) -> Any:
    """Return where knots can be: at the ends, at data, and between two."""
    return np.concatenate([xb[None], xe[None], x, (x[1:] + x[:-1]) / 2])


def _minimum(rows: Any, right: Any, penalty: Any, filled: Any) -> Any:
    """Return the coefficients of least squares, and zero for the first ones, that are filled."""
    count, columns = penalty.shape
    empty = np.arange(count)[:, None] < filled
    penalty = np.where(empty, np.eye(count, columns), penalty)
    q, r = np.linalg.qr(np.concatenate([rows, penalty]))
    return np.linalg.solve(r, q.T @ np.concatenate([right, np.zeros(count)]))


def _jumps(t: Any, k: int, filled: Any) -> Any:
    """Return the matrix of what the k-th derivative of a spline jumps by at its inner knots."""
    count, columns = len(t) - 2 * k - 2, len(t) - k - 1
    place, step = np.arange(count)[:, None], np.arange(k + 2)
    widths = t[place + step + k + 1] - t[place + step]
    others = place[..., None] + step[:, None] + step
    distances = t[place + k + 1][..., None] - t[others]
    is_empty = place[..., None] < filled
    factors = np.where((others == place[..., None] + k + 1) | is_empty, 1.0, distances)
    matrix = zeros((count, columns))
    matrix[place, place + step] = widths / np.prod(factors, axis=-1)
    scale: Any = (t[columns] - t[k]) / (count - filled + 1)
    return matrix * scale**k


# ---- by values -----------------------------------------------------------------------------------


def _choose(name: str, x: Any, y: Any, w: Any, first: Any, last: Any, s: Any) -> _Choice:
    """Return the choice for data and weights, the knots at the ends, and `s`."""
    splrep: Any = load("scipy.interpolate").splrep
    k, xb, xe = len(first) - 1, first[0], last[0]
    if not np.all(x[1:] >= x[:-1]):
        raise ValueError("x must be increasing")
    options = {"w": w, "xb": xb, "xe": xe, "k": k, "full_output": 1}
    if name == "UnivariateSpline":
        t, fp, code = _grow(x, y, w, xb, xe, k, s)
    elif name == "make_splrep":
        plain = load("scipy.interpolate").make_splrep(x, y, w=w, xb=xb, xe=xe, k=k, s=float(s))
        t, fp, code = plain.t, np.sum((w * (y - plain(x))) ** 2), 0
    else:
        (t, _, _), fp, code, _ = splrep(x, y, s=float(s), **options)
    inner = t[k + 1 : -k - 1]
    least = splrep(x, y, t=inner, **options)[1] if code >= 0 else fp
    smooths = bool(code >= 0 and fp > least * (1 + 1e-7))
    candidates = _candidates(x, xb, xe)
    filled = len(x) + k + 1 - len(t)
    places = np.zeros(len(x) + k + 1, np.int64)
    places[filled + k + 1 : -k - 1] = np.argmin(np.abs(inner[:, None] - candidates), axis=1)
    places[-k - 1 :] = 1
    root = _root(x, y, w, candidates[places[filled:]], k, fp) if smooths else 0.0
    inserted = _insert(t, places[filled:], filled)
    found = _Choice(places, filled, *inserted, code, smooths, root, fp)
    kinds = (v.dtype for v in _nothing(name, x, y, w, first, last, s))
    return _Choice(*(np.asarray(v, kind) for v, kind in zip(found, kinds, strict=True)))


def _grow(x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any) -> tuple[Any, Any, Any]:
    """Return knots, squares and FITPACK's code as `UnivariateSpline` does, which holds the lock.

    FITPACK begins with little memory, and goes on with more.
    """
    private: Any = load("scipy.interpolate._fitpack2")
    if hasattr(private, "_curfit"):  # from SciPy 1.18 on, without a lock
        bbox = [float(xb), float(xe)]
        found = load("scipy.interpolate").UnivariateSpline(x, y, w, bbox, int(k), float(s))._data
        return found[8][: found[7]], found[10], found[-1]
    compiled: Any = load("scipy.interpolate._dfitpack")
    found = compiled.fpcurf0(x, y, int(k), w=w, xb=float(xb), xe=float(xe), s=float(s))
    if found[-1] == 1:
        known, (fp, fpint, places, code) = found[:8], found[10:]
        t, c, fpint, places = (np.resize(v, len(x) + k + 1) for v in (*found[8:10], fpint, places))
        found = compiled.fpcurf1(*known, t, c, fp, fpint, places, code)
    return found[8][: found[7]], found[10], found[-1]


def _insert(t: Any, origins: Any, count: int) -> tuple[Any, Any]:
    """Return knots with some more, each in the middle of the widest interval, and their origins."""
    for _ in range(count):
        after = np.argmax(np.diff(t)) + 1
        t = np.insert(t, after, (t[after - 1] + t[after]) / 2)
        origins = np.insert(origins, after, -1)
    return t, origins


def _root(x: Any, y: Any, w: Any, t: Any, k: int, reached: Any) -> float:
    """Return ln λ with which the sum of squares is what FITPACK has reached, or the nearest end."""
    rows, right, jumps = design(x, t, k) * w[:, None], y * w, _jumps(t, k, 0)

    def excess(q: float) -> float:
        c = _minimum(rows, right, np.exp(q) * jumps, 0)
        return float(np.sum((right - rows @ c) ** 2) - reached)

    low, high = -1.0, 1.0
    while excess(low) > 0 and low > -_MOST:
        low *= 2
    while excess(high) < 0 and high < _MOST:
        high *= 2
    if excess(low) > 0 or excess(high) < 0:
        return low if excess(low) > 0 else high
    found = load("scipy.optimize").brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    return float(found)


def _nothing(name: str, x: Any, y: Any, w: Any, first: Any, last: Any, s: Any) -> _Choice:
    length, whole, real = len(x) + len(first), np.zeros((), np.int64), np.zeros(())
    places = np.zeros(length, np.int64)
    return _Choice(places, whole, np.zeros(length), places, whole, np.zeros((), bool), real, real)


_chosen: Final[Any] = without_effects(primitive(_choose, nondiff_argnums=0, result=_nothing))


def _tell(knots: Any, code: Any) -> Any:
    """Return knots, and warn of what SciPy warns of where it knows the code."""
    if code > 0:
        told: Any = place("scipy.interpolate._fitpack2", "_curfit_messages")
        warnings.warn(told[int(code)], stacklevel=2)
    return knots


_told: Final[Any] = without_effects(primitive(_tell, result=lambda *given: given[0]))
