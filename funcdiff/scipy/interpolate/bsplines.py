"""Splines as sums of B-splines, by de Boor's recurrence.

The interval between knots that a point is in is a constant; there a spline is a polynomial of the
point, of 2k knots around it, and of k + 1 coefficients, in which it is linear.  Splines through
data solve a banded system with the rows of these polynomials.

C. de Boor, "A Practical Guide to Splines", chapter X.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from funcdiff.adapting.conditions import may_hold
from funcdiff.api.inspection import stop_gradient
from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import linalg
from funcdiff.scipy.borrowed import borrow_classes, copy_of, cover_choice, method_of
from funcdiff.scipy.covered import cover, covers, holds_traced, load, refusal
from funcdiff.scipy.equalities import run_watched
from funcdiff.scipy.interpolate.piecewise import integral

_MODULE = "scipy.interpolate._bsplines"
_COMPILED = "scipy.interpolate._dierckx"


def spans(t: Any, k: int, x: Any) -> Any:
    """Return l with t[l] <= x < t[l+1] in the base interval, and its first or last one outside."""
    return np.clip(np.searchsorted(t, x, side="right") - 1, k, len(t) - k - 2)


def local_knots(t: Any, k: int, left: Any) -> Any:
    """Return t[l-k+1], ..., t[l+k] along a last axis."""
    return take(t, left[..., None] + np.arange(1 - k, k + 1))


def de_boor(d: Any, x: Any, knots: Any, nu: int) -> Any:
    """Return a spline, or its derivative of order nu, at points.

    `d`: coefficients of the k + 1 B-splines that are not zero there: shape (..., k + 1, q).
    `x`: points: shape (...).
    `knots`: those around each point, as `local_knots` has them.
    `nu`: which derivative.
    """
    k = d.shape[-2] - 1
    if nu > k:
        return np.zeros_like(d[..., 0, :])
    for p in range(k, 0, -1):
        low, width = knots[..., k - p : k], knots[..., k : k + p] - knots[..., k - p : k]
        step = d[..., 1:, :] - d[..., :-1, :]
        if p > k - nu:
            d = p * step / width[..., None]
        else:
            d = d[..., :-1, :] + ((x[..., None] - low) / width)[..., None] * step
    return d[..., 0, :]


def basis(x: Any, t: Any, k: int, left: Any, nu: int = 0) -> Any:
    """Return the values of the k + 1 B-splines that are not zero at points, along a last axis."""
    ones = np.broadcast_to(np.eye(k + 1), (*np.shape(x), k + 1, k + 1))
    return _at_spans(ones, x, t, k, left, nu)


def evaluate(t: Any, c: Any, k: int, x: Any, nu: int) -> Any:
    """Return a spline of coefficients of shape (n, q) at points, of any number outside."""
    left = spans(t, k, x)
    rows = take(c, left[..., None] + np.arange(-k, 1), axis=0)
    return _at_spans(rows, x, t, k, left, nu)


def _at_spans(rows: Any, x: Any, t: Any, k: int, left: Any, nu: int) -> Any:
    """Return a spline of coefficients around points, which is 0 in the first or last empty span."""
    knots, n = local_knots(t, k, left), len(t) - k - 1
    if not k or not may_hold(lambda: (t[k] == t[k + 1]) | (t[n - 1] == t[n])):
        return de_boor(rows, x, knots, nu)
    is_empty = (knots[..., k - 1] == knots[..., k])[..., None]
    knots = np.where(is_empty, np.arange(1.0 - k, k + 1), knots)
    return np.where(is_empty, 0.0, de_boor(rows, x, knots, nu))


def design(x: Any, t: Any, k: int, nu: int = 0) -> Any:
    """Return the matrix of the values of all B-splines at points."""
    left = spans(t, k, x)
    columns = left[..., None] + np.arange(-k, 1)
    places = columns[..., None] == np.arange(len(t) - k - 1)
    return np.sum(np.where(places, basis(x, t, k, left, nu)[..., None], 0.0), axis=-2)


# ---- what SciPy has compiled ---------------------------------------------------------------------


@covers(_COMPILED, "evaluate_spline")
def _evaluate_spline(t: Any, c: Any, k: int, x: Any, nu: int, extrapolate: bool) -> Any:
    inside = x == x if extrapolate else (t[k] <= x) & (x <= t[len(t) - k - 1])
    return np.where(inside[:, None], evaluate(t, c, k, x, nu), np.nan)


@covers(_COMPILED, "evaluate_all_bspl")
def _evaluate_all_bspl(t: Any, k: int, xval: Any, left: Any, nu: int = 0) -> Any:
    return basis(asarray(xval), t, k, asarray(left), int(nu))


@covers(_COMPILED, "data_matrix")
def _data_matrix(x: Any, t: Any, k: int, w: Any, extrapolate: bool = False) -> tuple[Any, Any, int]:
    """Return what is not zero of the weighted design matrix, and where it begins in each row."""
    left = spans(t, k, x)
    offsets = np.array(stop_gradient(array(left))) - k
    return basis(x, array(t), k, offsets + k) * w[:, None], offsets, len(t) - k - 1


@covers(_COMPILED, "find_interval")
def _find_interval(t: Any, k: int, xval: Any, prev_l: int, extrapolate: bool) -> int:
    return int(spans(array(t), k, stop_gradient(array(xval))))


@covers(_COMPILED, "_coloc")
def _coloc(x: Any, t: Any, k: int, ab: Any, offset: int = 0) -> None:
    """Write the values of the B-splines into the bands of a matrix, transposed."""
    left = spans(t, k, x)
    columns = left[:, None] + np.arange(-k, 1)
    ab[columns, 2 * k + offset + np.arange(len(x))[:, None] - columns] = basis(x, t, k, left)


@covers(_MODULE, "_handle_lhs_derivatives")
def _write_derivatives(
    t: Any, k: int, xval: Any, ab: Any, kl: int, ku: int, deriv_ords: Any, offset: int = 0
) -> None:
    left = spans(t, k, asarray(xval))
    columns = left + np.arange(-k, 1)
    for row in range(len(deriv_ords)):
        values = basis(asarray(xval), t, k, left, int(deriv_ords[row]))
        ab[kl + ku + offset + row - columns, columns] = values


@covers(_MODULE)
def get_lapack_funcs(names: Any, arrays: Any = (), *args: Any, **kwargs: Any) -> Any:
    """Return the solver of banded systems, the one routine that splines ask for."""
    if tuple(names) != ("gbsv",):
        raise refusal("scipy.linalg", "get_lapack_funcs")

    def gbsv(kl: int, ku: int, ab: Any, b: Any, **overwrite: bool) -> tuple[Any, None, Any, int]:
        return ab, None, linalg.solve_banded((kl, ku), ab[kl:], b), 0

    return [gbsv]


@covers(_MODULE, "_lsq_solve_qr")
def _solve_least_squares(
    x: Any, y: Any, t: Any, k: int, w: Any, periodic: bool = False
) -> tuple[Any, Any, Any, Any, Any]:
    """Return design matrix, weighted data, coefficients, and sum and values of the residuals."""
    if periodic:
        raise refusal("scipy.interpolate", "make_splrep")
    rows, weighted = design(x, t, k) * w[:, None], y * w[:, None]
    q, r = np.linalg.qr(rows)
    c = np.linalg.solve(r, q.T @ weighted)
    residuals = np.sum((weighted - rows @ c) ** 2, axis=-1)
    return rows, weighted, c, np.sum(residuals), residuals


@covers(_COMPILED, "_norm_eq_lsq")
def _normal_equations(x: Any, t: Any, k: int, y: Any, w: Any, ab: Any, rhs: Any) -> None:
    """Write the bands of AᵀA below the diagonal, transposed, and Aᵀy."""
    rows = design(x, t, k) * w[:, None]
    square = rows.T @ rows
    for r in range(k + 1):
        ab[: len(square) - r, r] = np.diagonal(square, -r)
    rhs[...] = rows.T @ (y * w[:, None])


# ---- BSpline -------------------------------------------------------------------------------------

cover_choice(_MODULE, "_get_xp_bspline_cls", "_BSpline")
borrow_classes("scipy.interpolate", "BSpline")


@method_of(_MODULE, "_BSpline")
def __call__(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:  # noqa: N807
    """Evaluate Σ c_i·B_i, by x, by the knots and by the coefficients."""
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    x, t, c, k = asarray(x, float), self.t, self.c, self.k
    points = x.reshape(-1)
    first, last = t[k], t[len(t) - k - 1]
    if extrapolate == "periodic":
        points, extrapolate = first + (points - first) % (last - first), False
    flat = c.reshape(len(c), -1)
    y = _evaluate_spline(array(t), flat, k, points, int(nu), bool(extrapolate))
    y = y.reshape(x.shape + c.shape[1:])
    axes = range(x.ndim, x.ndim + self.axis)
    return np.moveaxis(y, axes, range(self.axis)) if self.axis else y


@method_of(_MODULE, "_BSpline", fills=True)
def integrate(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """∫ s from a to b, of the spline that is zero outside if it is not extrapolated."""
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    t, k = self.t, self.k
    first, last = t[k], t[len(t) - k - 1]
    a, b = asarray(a, float), asarray(b, float)
    if not extrapolate:
        a, b = np.clip(a, first, last), np.clip(b, first, last)
    whole = copy_of(load("scipy.interpolate").BSpline).construct_fast(t, self.c, k, extrapolate)
    found = integral(whole.antiderivative(), first, last, a, b, extrapolate)
    return found.reshape(self.c.shape[1:])


borrow_classes("scipy.interpolate", "make_interp_spline make_lsq_spline")


def cover_smoothing(name: str, ours: Callable[..., Any] | None = None, *, note: str = "") -> None:
    """Cover a function that smooths, by its own code if there is no other.

    Splines of plain data take traced points, too.
    """
    plain = getattr(load("scipy.interpolate"), name, None)
    if plain is None:
        return

    @wraps(plain)
    def smooth(*args: Any, **kwargs: Any) -> Any:
        if holds_traced(args) or holds_traced(kwargs):
            return run_watched(partial(ours or copy_of(plain), *args, **kwargs))
        found = plain(*args, **kwargs)
        kind = copy_of(load("scipy.interpolate").BSpline)
        return kind.construct_fast(found.t, found.c, found.k, found.extrapolate, found.axis)

    cover("scipy.interpolate", name, smooth, note=note)
