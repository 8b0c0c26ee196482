"""`make_smoothing_spline`: natural cubic splines, smoothed by ``λ ∫ s''²``.

With ``Qᵀ``, the second divided differences, and the second derivatives γ at the inner data,
``(R + λ Qᵀ W⁻¹ Q) γ = Qᵀ y``, which has five bands, the values at the data are ``y - λ W⁻¹ Q γ``,
and the spline goes through them.  Without λ it minimizes the criterion of generalized cross
validation, and is differentiated as any minimum.

P. J. Green and B. W. Silverman, "Nonparametric Regression and Generalized Linear Models", London
1994, section 2.3; G. Wahba, "Spline Models for Observational Data", Philadelphia 1990, chapter 4.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.rules.opaque_functions import primitive, without_effects
from funcdiff.numpy import asarray
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy import linalg
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.covered import load
from funcdiff.scipy.interpolate.bsplines import cover_smoothing
from funcdiff.scipy.optimize.closed import close
from funcdiff.scipy.optimize.constraints import bound_arrays
from funcdiff.scipy.optimize.minimum import Problem, minimum_at


class _Penalty:
    """The equations of a penalty on the second derivative, for data at `x` with weights."""

    def __init__(self, x: Any, w: Any) -> None:
        self.h, self.inverse = np.diff(x), 1 / w
        h, v, a, c = self.h, self.inverse, 1 / self.h[:-1], 1 / self.h[1:]
        b = -(a + c)
        self.smooth = _bands((h[:-1] + h[1:]) / 3, h[1:-1] / 6, 0 * h[2:-1])
        self.rough = _bands(
            a**2 * v[:-2] + b**2 * v[1:-1] + c**2 * v[2:],
            b[:-1] * a[1:] * v[1:-2] + c[:-1] * b[1:] * v[2:-1],
            c[:-2] * a[2:] * v[2:-2],
        )

    def solve(self, lam: Any, right: Any) -> Any:
        """Solve ``(R + λ Qᵀ W⁻¹ Q) γ = right``."""
        return linalg.solveh_banded(self.smooth + lam * self.rough, right)

    def differences(self, y: Any) -> Any:
        """Return ``Qᵀ y``."""
        return np.diff(np.diff(y, axis=0) / self.h[:, None], axis=0)

    def spread(self, gamma: Any) -> Any:
        """Return ``W⁻¹ Q γ``."""
        inner = np.diff(_between_zeros(gamma), axis=0) / self.h[:, None]
        return self.inverse[:, None] * np.diff(_between_zeros(inner), axis=0)

    def residuals(self, lam: Any, y: Any) -> Any:
        """Return what smoothing takes from columns of data, over λ."""
        return self.spread(self.solve(lam, self.differences(y)))

    def criterion(self, lam: Any, y: Any) -> Any:
        """Return ``n |residuals|² / (n - tr A)²`` for one column, numerator and root over λ²."""
        rough = self.differences(self.spread(np.eye(len(y) - 2)))
        freedom = np.trace(self.solve(lam, rough))
        return len(y) * np.sum(self.residuals(lam, y) ** 2) / freedom**2


def _bands(main: Any, first: Any, second: Any) -> Any:
    """Return the upper bands of a symmetric matrix, as LAPACK has them."""
    rows = [np.concatenate([np.zeros(i), band]) for i, band in enumerate((main, first, second))]
    return np.stack(rows[::-1])


def _between_zeros(x: Any) -> Any:
    none = np.zeros((1, x.shape[1]))
    return np.concatenate([none, x, none])


def _make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    x, y = array(asarray(x, float)), array(asarray(y, float))
    w = array(np.ones(len(x)) if w is None else asarray(w, float))
    if x.ndim != 1 or len(x) != y.shape[axis]:
        raise ValueError(f"``x`` should be 1D and {x.shape = } == {y.shape = }")
    if len(x) <= 4:
        raise ValueError("``x`` and ``y`` length must be at least 5")
    y = np.moveaxis(y, axis, 0)
    columns, penalty = y.reshape(len(x), -1), _Penalty(x, w)
    if lam is None:
        lams = [_best(penalty, x, columns[:, [i]], w) for i in range(columns.shape[1])]
        parts = [best * penalty.residuals(best, columns[:, [i]]) for i, best in enumerate(lams)]
        taken = np.concatenate(parts, axis=1)
    else:
        x = _check_data(x, w, lam)
        taken = lam * penalty.residuals(lam, columns)
    interpolate: Any = copy_of(load("scipy.interpolate").make_interp_spline)
    values = np.moveaxis((columns - taken).reshape(y.shape), 0, axis)
    known = lam is None  # finding λ has looked at the data
    return interpolate(x, values, k=3, bc_type="natural", axis=axis, check_finite=not known)


def _check_data(x: Any, w: Any, lam: Any) -> Any:
    """Return `x`, or raise what SciPy raises; it does so itself where it finds λ."""
    order = ValueError("``x`` should be an ascending array")
    sign = ValueError("Regularization parameter should be non-negative")
    x = refuse_where(x[1:] <= x[:-1], order, x)
    x = refuse_where(w <= 0, ValueError("Invalid vector of weights"), x)
    return refuse_where(np.less(lam, 0), sign, x)


def _best(penalty: _Penalty, x: Any, y: Any, w: Any) -> Any:
    """Return λ of generalized cross validation for a column of data."""
    closed = close(lambda lam: penalty.criterion(lam[0], y), (1,))
    problem = Problem("make_smoothing_spline", closed, *bound_arrays([(0, len(x))], 1))
    found = _found(*map(stop_gradient, (x, y[:, 0], w)))
    return minimum_at(problem, found[None], np.array([len(x) / 2])).x[0]


def _find(x: Any, y: Any, w: Any) -> Any:
    """Return the λ that SciPy finds, by which its spline is off the data."""
    spline = load("scipy.interpolate").make_smoothing_spline(x, y, w)
    residuals = _Penalty(x, w).spread(spline(x[1:-1], 2)[:, None])[:, 0]
    size = residuals @ residuals
    lam = (y - spline(x)) @ residuals / size if size > 0 else 0.0
    return np.clip(np.float64(lam), 0.0, len(x))


_found: Final[Any] = without_effects(primitive(_find, result=lambda *_given: np.float64(0.0)))

cover_smoothing("make_smoothing_spline", _make_smoothing_spline)
