"""Interpolation in one variable by a polynomial, and by pieces of a degree that is chosen.

At a node the barycentric formula is 0/0.  Multiplied by all distances it is a quotient of two
polynomials, which has its value and all derivatives there, too.

J.-P. Berrut, L. N. Trefethen, "Barycentric Lagrange interpolation", SIAM Review 46, 2004.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_classes, borrow_functions, copy_of, method_of
from funcdiff.scipy.covered import load
from funcdiff.scipy.interpolate import bsplines  # noqa: F401 (interp1d makes splines)

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


def barycentric(x: Any, nodes: Any, weights: Any, values: Any, scale: Any = 1.0) -> Any:
    """Return Σ w_j·f_j·Π_{i≠j}(x - x_i) over the same with f = 1, of values of shape (n, q)."""
    distance = scale * (x[:, None, None] - nodes)
    others = np.prod(np.where(np.eye(len(nodes), dtype=bool), 1.0, distance), axis=-1)
    terms = weights * others
    return terms @ values / np.sum(terms, axis=-1)[:, None]


borrow_classes("scipy.interpolate", "KroghInterpolator BarycentricInterpolator interp1d")
borrow_classes("scipy.interpolate", "FloaterHormannInterpolator")
borrow_functions("scipy.interpolate", "krogh_interpolate barycentric_interpolate")
_plain_init: Any = copy_of(load("scipy.interpolate").interp1d).__init__
_plain_evaluate: Any = copy_of(load("scipy.interpolate").interp1d)._evaluate


@method_of("scipy.interpolate._polyint", "BarycentricInterpolator")
def _evaluate(self: Any, x: Any) -> Any:
    """Evaluate the interpolating polynomial, at nodes as elsewhere."""
    scale = getattr(self, "_inv_capacity", 1.0)
    return barycentric(x, self.xi, self.wi, self.yi, scale).astype(self.dtype)


@method_of("scipy.interpolate", "interp1d")
def __init__(  # noqa: N807
    self: Any, x: Any, y: Any, kind: Any = "linear", axis: int = -1, **keywords: Any
) -> None:
    """Interpolate between points; splines of a degree above one take no missing values."""
    order = _ORDERS.get(kind, kind) if isinstance(kind, str) else kind
    if isinstance(order, str) or order < 2:
        _plain_init(self, x, y, kind, axis, **keywords)
        return
    _plain_init(self, x, y, "linear", axis, **keywords)
    if len(self.x) < order + 1:
        raise ValueError(f"x and y arrays must have at least {order + 1} entries")
    spline = copy_of(load("scipy.interpolate").make_interp_spline)
    self._kind = "spline"
    self._spline = spline(self.x, self._y, k=order, check_finite=False)
    self._call = type(self)._call_spline


@method_of("scipy.interpolate", "interp1d")  # type: ignore[no-redef]
def _evaluate(self: Any, x_new: Any) -> Any:
    """Evaluate from arrays that traced indices can index."""
    traced = copy(self)
    for name in ("x", "_y", "x_bds", "_x_shift"):
        if hasattr(self, name):
            setattr(traced, name, array(getattr(self, name)))
    return _plain_evaluate(traced, asarray(x_new))


def _cover_rational() -> None:
    """Cover the rational interpolant, which older versions of SciPy do not have."""

    @method_of("scipy.interpolate._bary_rational", "_BarycentricRational")
    def __call__(self: Any, z: Any) -> Any:  # noqa: N807
        """Evaluate the rational interpolant, at nodes as elsewhere."""
        z = asarray(z)
        values = self._support_values.reshape(len(self._support_values), -1)
        y = barycentric(z.reshape(-1), self._support_points, self.weights, values)
        y = y.reshape(z.shape + self._shape)
        return np.moveaxis(y, 0, self._axis) if z.ndim > 0 else y

    @method_of("scipy.interpolate._bary_rational", "FloaterHormannInterpolator")
    def __init__(  # noqa: N807
        self: Any, points: Any, values: Any, *, d: int = 3, axis: int = 0
    ) -> None:
        """Interpolate between distinct points, of which none is left out for its value."""
        z, f = asarray(points), asarray(values)
        self._axis = axis
        self._input_validation(z, f, d=d)
        order = np.argsort(z)
        z, f = take(z, order), take(np.moveaxis(f, axis, 0), order, axis=0)
        self._shape = f.shape[1:]
        self._support_points, self._support_values, self.weights = self._compute_weights(z, f, d)
        self._poles = self._residues = self._roots = None


if hasattr(load("scipy.interpolate"), "FloaterHormannInterpolator"):
    _cover_rational()
