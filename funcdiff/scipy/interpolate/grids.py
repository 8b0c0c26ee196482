"""Interpolation on rectangular grids: products of functions of one variable each.

Which cell a point is in is a constant.  Tensor products of splines pass through their data by
one banded system after another, axis by axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_classes, copy_of, method_of
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.interpolate import spline_functions  # noqa: F401 (interpn asks for it)
from funcdiff.scipy.interpolate.bsplines import design

_GRIDS = "scipy.interpolate._rgi_cython"


@covers(_GRIDS)
def find_indices(grid: Any, xi: Any) -> tuple[Any, Any]:
    """Return the cell of each point along each axis, and how far into it the point is."""
    indices, distances = [], []
    for x, points in zip(xi, grid, strict=True):
        if len(points) == 1:
            index, distance = np.full(x.shape, -1), np.zeros_like(x)
        else:
            index = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
            low, high = take(points, index), take(points, index + 1)
            distance = (x - low) / (high - low)
        indices.append(index)
        distances.append(distance)
    return np.stack(indices), np.stack(distances)


@covers(_GRIDS)
def evaluate_linear_2d(values: Any, indices: Any, distances: Any, grid: Any, out: Any) -> Any:
    """Return the mean of the values at the corners of each cell, weighted by the distances."""
    (i, j), (s, t) = indices, distances
    v = array(values)
    low, high = v[i, j] * (1 - t) + v[i, j + 1] * t, v[i + 1, j] * (1 - t) + v[i + 1, j + 1] * t
    return low * (1 - s) + high * s


borrow_classes(
    "scipy.interpolate",
    "RegularGridInterpolator",
    note="Splines of traced values are solved for exactly, by SciPy to its solver's tolerance.",
)
borrow_classes("scipy.interpolate", "NdBSpline interpn")


@method_of("scipy.interpolate", "RegularGridInterpolator")
def _evaluate_linear(self: Any, indices: Any, distances: Any) -> Any:
    """Return the mean of the values at the corners of each cell, axis by axis."""
    return _corners(array(self.values), list(indices), list(distances), [])


def _corners(values: Any, indices: list[Any], distances: list[Any], chosen: list[Any]) -> Any:
    if not indices:
        return values[tuple(chosen)]
    rest = indices[1:], distances[1:]
    low = _corners(values, *rest, [*chosen, indices[0]])
    high = _corners(values, *rest, [*chosen, indices[0] + 1])
    share = distances[0].reshape(-1, *(1 for _ in low.shape[1:]))
    return low * (1 - share) + high * share


@method_of("scipy.interpolate", "RegularGridInterpolator")
def _evaluate_nearest(self: Any, indices: Any, distances: Any) -> Any:
    """Return the values at the nearest corners."""
    nearest = [np.where(d <= 0.5, i, i + 1) for i, d in zip(indices, distances, strict=True)]
    return array(self.values)[tuple(nearest)]


@method_of("scipy.interpolate", "RegularGridInterpolator", always=True)
def _construct_spline(self: Any, method: str, solver: Any = None, **options: Any) -> Any:
    """Return the tensor product of splines through the values."""
    k = self._SPLINE_DEGREE_MAP[method]
    make = copy_of(load("scipy.interpolate").make_interp_spline)
    splines, c = [], self.values
    for axis, points in enumerate(self.grid):
        splines.append(make(points, c, k=k, axis=axis))
        c = np.moveaxis(splines[-1].c, 0, axis)
    kind = copy_of(load("scipy.interpolate").NdBSpline)
    return kind(tuple(s.t for s in splines), c, k)


@method_of("scipy.interpolate", "NdBSpline")
def __call__(self: Any, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:  # noqa: N807
    """Evaluate a product of B-splines, by points, knots and coefficients."""
    extrapolate = self.extrapolate if extrapolate is None else bool(extrapolate)
    knots, degrees = self.t, [int(k) for k in self.k]
    orders = [0] * len(knots) if nu is None else [int(n) for n in nu]
    if len(orders) != len(knots) or min(orders) < 0:
        raise ValueError(f"invalid number of derivative orders nu = {nu!r}")
    xi = asarray(xi, float)
    points = xi.reshape(-1, xi.shape[-1])
    y: Any = None
    is_inside: Any = True
    for d, (t, k, n) in enumerate(zip(knots, degrees, orders, strict=True)):
        x = points[:, d]
        rows = design(x, array(t), k, n)
        y = np.tensordot(rows, self.c, 1) if y is None else np.einsum("mi,mi...->m...", rows, y)
        is_inside = is_inside & ((t[k] <= x) & (x <= t[len(t) - k - 1]))
    if not extrapolate:
        y = np.where(np.reshape(is_inside, (-1, *(1 for _ in y.shape[1:]))), y, np.nan)
    return y.reshape(xi.shape[:-1] + self.c.shape[len(knots) :])
