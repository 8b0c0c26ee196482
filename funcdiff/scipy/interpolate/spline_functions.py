"""FITPACK's splines through data, of least squares between given knots, and smoothing ones.

The first two are linear in the data, and smooth in abscissas, knots and weights; for the third see
`smoothing`.  In two variables, smoothing takes no traced data.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

import funcdiff.numpy
from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy import asarray
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_classes, borrow_functions, copy_of, define
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.interpolate.bsplines import (
    _solve_least_squares,
    cover_smoothing,
    design,
    evaluate,
)
from funcdiff.scipy.interpolate.piecewise import roots_of
from funcdiff.scipy.interpolate.smoothing import smooth

_COMPILED = "scipy.interpolate._fitpack"
_BEFORE = "scipy.interpolate._dfitpack"
"""Where the compiled routines were up to SciPy 1.17, some with other arguments."""


def _refuse(what: str) -> UnsupportedNumPyError:
    return UnsupportedNumPyError(
        f"{what} takes no traced data, at {user_location()}: which knots there are depends on it. "
        "Interpolate (s=0), or give the knots: make_interp_spline, make_lsq_spline."
    )


def _knots(x: Any, k: int, first: Any, last: Any) -> Any:
    """Return knots at the data, or between them, without the first and last few of these."""
    inner = x[(k + 1) // 2 : -((k + 1) // 2)] if k % 2 else ((x[1:] + x[:-1]) / 2)[k // 2 : -k // 2]
    ends = [np.broadcast_to(asarray(end, float), (k + 1,)) for end in (first, last)]
    return np.concatenate([array(ends[0]), inner, ends[1]])


def _interpolate(t: Any, k: int, x: Any, y: Any) -> Any:
    """Return the coefficients of the spline through data along the first axis."""
    return copy_of(load("scipy.interpolate").make_interp_spline)(x, y, k=k, t=t).c


def _fit(x: Any, y: Any, t: Any, k: int, w: Any) -> tuple[Any, Any]:
    """Return the coefficients of the spline of least squares, and the sum of the squares."""
    weights = np.ones(len(x)) if w is None else w
    _, _, c, total, _ = _solve_least_squares(x, y[:, None], t, k, weights)
    return c[:, 0], total


def _pad(c: Any, length: int) -> Any:
    return np.concatenate([c, np.zeros(length - len(c))])


# ---- in one variable -----------------------------------------------------------------------------


@covers(_BEFORE)
def fpcurf0(
    x: Any, y: Any, k: int, w: Any = None, xb: Any = None, xe: Any = None, s: Any = None
) -> tuple[Any, ...]:
    """Return the data of an interpolating spline as `UnivariateSpline` keeps them."""
    x, y = asarray(x, float), asarray(y, float)
    xb, xe = x[0] if xb is None else xb, x[-1] if xe is None else xe
    if s is None or isinstance(s, Tracer) or s != 0:
        weights, s = np.ones(len(x)) if w is None else w, len(x) if s is None else s
        t, c, total, code = smooth(x, y, weights, xb, xe, k, s, "UnivariateSpline")
        return x, y, w, xb, xe, k, s, len(t), t, _pad(c, len(t)), total, None, None, code
    t = _knots(x, k, xb, xe)
    c = _pad(_interpolate(t, k, x, y), len(t))
    return x, y, w, xb, xe, k, 0.0, len(t), t, c, 0.0, None, None, -1


@covers(_BEFORE)
def fpcurfm1(
    x: Any, y: Any, k: int, t: Any, w: Any = None, xb: Any = None, xe: Any = None
) -> tuple[Any, ...]:
    """Return the data of a spline of least squares as `LSQUnivariateSpline` keeps them."""
    x, y = asarray(x, float), asarray(y, float)
    c, total = _fit(x, y, t, k, w)
    return x, y, w, xb, xe, k, -1.0, len(t), t, _pad(c, len(t)), total, None, None, 0


@covers(_BEFORE)
@covers(_COMPILED)
def fpchec(x: Any, t: Any, k: int) -> int:
    """Return that data and knots fit together: values are not looked at."""
    return 0


@covers("scipy.interpolate._fitpack2", "_curfit")
def _data_of_curve(
    x: Any, y: Any, k: int, w: Any = None, xb: Any = None, xe: Any = None, s: Any = None,
    nest: Any = None, iopt: int = 0, t: Any = None, **_memory: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return what `fpcurf0` or `fpcurfm1` does."""
    given = asarray(x, float).reshape(-1), asarray(y, float).reshape(-1), k
    return fpcurfm1(*given, t, w, xb, xe) if iopt == -1 else fpcurf0(*given, w, xb, xe, s)


@covers(_BEFORE)
def curfit(
    task: int, x: Any, y: Any, w: Any, t: Any, wrk: Any, iwrk: Any, xb: Any, xe: Any, k: int, s: Any
) -> tuple[int, Any, Any, int]:
    """Write the knots; return how many there are, coefficients, squares, and what happened."""
    x, y = asarray(x, float), asarray(y, float)
    if task == -1:
        t[: k + 1], t[-k - 1 :] = xb, xe
        c, total = _fit(x, y, t, k, w)
        return len(t), _pad(c, len(t)), total, 0
    if task != 0:
        raise _refuse("splrep with task=1")
    if isinstance(s, Tracer) or s != 0:
        knots, c, total, code = smooth(x, y, w, xb, xe, k, s, "splrep")
        t[: len(knots)] = knots
        return len(knots), _pad(c, len(knots)), total, code
    knots = _knots(x, k, xb, xe)
    t[: len(knots)] = knots
    return len(knots), _pad(_interpolate(knots, k, x, y), len(knots)), 0.0, -1


@covers(_COMPILED, "curfit")
def _curve(
    task: int, x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any, t: Any, wrk: Any, iwrk: Any
) -> tuple[int, Any, Any, Any, int]:
    """Return how many knots there are, knots, coefficients, squares, and what happened."""
    t = array(t).copy()
    count, c, total, code = curfit(task, x, y, w, t, wrk, iwrk, xb, xe, k, s)
    return count, t, c, total, code


@covers("scipy.interpolate._fitpack_repro")
def _make_splrep_impl(
    x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any, t: Any, nest: Any,
    periodic: bool = False, xp: Any = None,
) -> Any:  # fmt: skip
    """Return the smoothing spline of one column of data."""
    if t is not None or nest is not None or periodic:
        raise _refuse("make_splrep with t, nest or a period")
    t, c, _, _ = smooth(x, y[:, 0], w, xb, xe, k, s, "make_splrep")
    return copy_of(load("scipy.interpolate").BSpline).construct_fast(t, c[:, None], k)


cover_smoothing(
    "make_splrep",
    note="Which data have a knot is a constant; with `t`, `nest` or a period data are not traced.",
)


@covers(_BEFORE)
@covers(_COMPILED)
def splev(t: Any, c: Any, k: int, x: Any, e: int = 0) -> tuple[Any, int]:
    """Return the spline at points, and 1 if one is outside where that is an error."""
    at = np.clip(asarray(x, float), t[k], t[len(t) - k - 1]) if e == 3 else x
    return splder(t, c, k, at, 0, e)


@covers(_BEFORE)
def splder(t: Any, c: Any, k: int, x: Any, nu: int = 1, e: int = 0) -> tuple[Any, int]:
    """Return a derivative at points: outside it is continued, zero or refused."""
    t, c, x = array(t), asarray(c), asarray(x, float)
    first, last = t[k], t[len(t) - k - 1]
    outside = (x < first) | (x > last)
    if e == 2 and is_known_to_hold(lambda: np.any(outside)):
        return x, 1
    y = evaluate(t, c[:, None], k, x, nu)[:, 0]
    return (np.where(outside, 0.0, y) if e == 1 else y), 0


@covers(_COMPILED, "splder")
def _derivative(t: Any, c: Any, k: int, nu: int, x: Any, e: int = 0) -> tuple[Any, int]:
    return splder(t, c, k, x, nu, e)


@covers(_BEFORE)
def splint(t: Any, c: Any, k: int, a: Any, b: Any) -> tuple[Any, None]:
    """Return the integral of a spline that is zero outside."""
    return _integral(t, c, k, a, b), None


@covers(_COMPILED, "splint")
def _integral(t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
    spline = copy_of(load("scipy.interpolate").BSpline)(t, c, k, extrapolate=False)
    return spline.integrate(a, b)


@covers(_BEFORE)
@covers(_COMPILED)
def spalde(t: Any, c: Any, k1: int, x: Any) -> tuple[Any, int]:
    """Return all derivatives at a point."""
    points = asarray(x, float).reshape(1)
    found = [evaluate(array(t), asarray(c)[:, None], k1 - 1, points, nu)[0, 0] for nu in range(k1)]
    return np.stack(found), 0


@covers(_BEFORE)
@covers(_COMPILED)
def sproot(t: Any, c: Any, mest: int) -> tuple[Any, int, int]:
    """Return the roots of a cubic spline, how many there are, and what happened."""
    t, c = array(t), asarray(c)
    values = (np.array(stop_gradient(v)) for v in (t, c))
    found = load("scipy.interpolate").sproot((*values, 3), mest)
    return roots_of(lambda x: evaluate(t, c[:, None], 3, x, 0)[:, 0], found), len(found), 0


# ---- in two variables ----------------------------------------------------------------------------


@covers("scipy.interpolate._fitpack2", "_regrid_smth")
@covers(_BEFORE)
def regrid_smth(
    x: Any,
    y: Any,
    z: Any,
    xb: Any,
    xe: Any,
    yb: Any,
    ye: Any,
    kx: int,
    ky: int,
    s: Any,
    *_iterations: Any,
) -> tuple[Any, ...]:
    """Return knots and coefficients of a spline through values on a grid."""
    if isinstance(s, Tracer) or s != 0:
        raise _refuse("RectBivariateSpline with s > 0")
    x, y = asarray(x, float), asarray(y, float)
    ends = [(x[0], xb), (x[-1], xe), (y[0], yb), (y[-1], ye)]
    xb, xe, yb, ye = (own if given is None else given for own, given in ends)
    tx, ty = _knots(x, kx, xb, xe), _knots(y, ky, yb, ye)
    c = _interpolate(tx, kx, x, asarray(z, float).reshape(len(x), len(y)))
    c = _interpolate(ty, ky, y, c.T).T
    return len(tx), tx, len(ty), ty, c.reshape(-1), 0.0, -1


def _rows(t: Any, k: int, x: Any, nu: int) -> Any:
    t, x = array(t), asarray(x, float).reshape(-1)
    return design(np.clip(x, t[k], t[len(t) - k - 1]), t, k, nu)


def _table(tx: Any, ty: Any, c: Any, kx: int, ky: int) -> Any:
    return asarray(c).reshape(len(tx) - kx - 1, len(ty) - ky - 1)


@covers(_BEFORE)
@covers(_COMPILED)
def parder(
    tx: Any, ty: Any, c: Any, kx: int, ky: int, nux: int, nuy: int, x: Any, y: Any
) -> tuple[Any, int]:
    """Return a partial derivative on a grid, at the border for points outside."""
    table = _table(tx, ty, c, kx, ky)
    return _rows(tx, kx, x, nux) @ table @ _rows(ty, ky, y, nuy).T, 0


@covers(_BEFORE)
@covers(_COMPILED)
def pardeu(
    tx: Any, ty: Any, c: Any, kx: int, ky: int, nux: int, nuy: int, x: Any, y: Any
) -> tuple[Any, int]:
    """Return a partial derivative at points, at the border for points outside."""
    table = _table(tx, ty, c, kx, ky)
    return np.sum(_rows(tx, kx, x, nux) @ table * _rows(ty, ky, y, nuy), axis=-1), 0


@covers(_BEFORE)
@covers(_COMPILED)
def bispev(tx: Any, ty: Any, c: Any, kx: int, ky: int, x: Any, y: Any) -> tuple[Any, int]:
    """Return a spline on a grid."""
    return parder(tx, ty, c, kx, ky, 0, 0, x, y)


@covers(_BEFORE)
@covers(_COMPILED)
def bispeu(tx: Any, ty: Any, c: Any, kx: int, ky: int, x: Any, y: Any) -> tuple[Any, int]:
    """Return a spline at points."""
    return pardeu(tx, ty, c, kx, ky, 0, 0, x, y)


@covers(_BEFORE)
@covers(_COMPILED)
def pardtc(tx: Any, ty: Any, c: Any, kx: int, ky: int, nux: int, nuy: int) -> tuple[Any, int]:
    """Return the coefficients of a partial derivative, padded to as many as there were."""
    table = _table(tx, ty, c, kx, ky)
    table = _differentiate(array(tx), table, kx, nux)
    table = _differentiate(array(ty), table.T, ky, nuy).T
    return _pad(table.reshape(-1), len(c)), 0


def _differentiate(t: Any, c: Any, k: int, nu: int) -> Any:
    """Return the coefficients of a derivative along the first axis, on ``t[nu:-nu]``."""
    for order in range(nu):
        p, knots = k - order, t[order : len(t) - order]
        widths = knots[p + 1 : -1] - knots[1 : -p - 1]
        c = p * (c[1:] - c[:-1]) / widths[:, None]
    return c


@covers(_BEFORE)
@covers(_COMPILED)
def dblint(tx: Any, ty: Any, c: Any, kx: int, ky: int, xb: Any, xe: Any, yb: Any, ye: Any) -> Any:
    """Return the integral over a rectangle of a spline that is zero outside."""
    kind = copy_of(load("scipy.interpolate").BSpline)
    table = _table(tx, ty, c, kx, ky)
    parts = [
        kind(array(t), np.eye(n), k, extrapolate=False).integrate(a, b)
        for t, n, k, a, b in ((tx, len(table), kx, xb, xe), (ty, table.shape[1], ky, yb, ye))
    ]
    return parts[0] @ table @ parts[1]


@covers(_COMPILED, "percur", "surfit", "surfit_smth", "surfit_lsq", "sphere", "parcur")
@covers(_BEFORE, "percur", "surfit_smth", "surfit_lsq", "spherfit_smth", "spherfit_lsq")
def _choose_knots(*args: Any, **options: Any) -> Any:
    raise _refuse("A smoothing or periodic spline of FITPACK")


@covers(_COMPILED, "regrid", "spgrid", "insert")
@covers(_BEFORE, "regrid_smth_spher", "fpcurf1")
def _refuse_others(*args: Any, **options: Any) -> Any:
    raise _refuse("This routine of FITPACK")


borrow_classes(
    "scipy.interpolate",
    "UnivariateSpline",
    note="Which data have a knot is a constant; without values there are `len(x) + k + 1` knots.",
)
borrow_classes("scipy.interpolate", "InterpolatedUnivariateSpline LSQUnivariateSpline")
borrow_classes("scipy.interpolate", "RectBivariateSpline", note="Data are traced where s is 0.")
borrow_classes(
    "scipy.interpolate",
    "BivariateSpline SmoothBivariateSpline LSQBivariateSpline",
    note="Points are traced; data are not.",
)
borrow_functions(
    "scipy.interpolate",
    "splrep",
    note="Which data have a knot is a constant; without values there are `len(x) + k + 1` knots.",
)
borrow_classes("scipy.interpolate", "splev splint spalde splder splantider sproot bisplev")


class _Quiet:
    """NumPy for traced arrays, without errors for repeated knots, which nobody may know of."""

    @staticmethod
    def errstate(**_: str) -> Any:
        """Change nothing."""
        return nullcontext()

    def __getattr__(self, name: str) -> Any:
        return getattr(funcdiff.numpy, name)


define("scipy.interpolate._fitpack_impl", np=_Quiet())
