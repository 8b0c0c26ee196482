"""Interpolation between scattered points: which simplex or neighbour a point has is a constant.

In a simplex the interpolant is linear in the barycentric coordinates, which are smooth in its
corners and the point.  Radial functions are functions of the squared distance, so that those that
are smooth at their centre have their derivatives there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.api.rules.opaque_functions import primitive, without_effects
from funcdiff.core.recording.builder import current_builder
from funcdiff.numpy import asarray
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.borrowed import borrow_classes, borrow_functions, method_of
from funcdiff.scipy.covered import Holder, cover, covers, holds_traced, load, table
from funcdiff.scipy.interpolate.piecewise import _points

# ---- triangulations and neighbours ---------------------------------------------------------------


@lru_cache(maxsize=8)
def _triangulation(content: bytes, columns: int) -> Any:
    points = np.frombuffer(content).reshape(-1, columns)
    return load("scipy.spatial").Delaunay(points)


def triangulation(points: Any) -> Any:
    """Return the Delaunay triangulation of points, one of the last ones again."""
    return _triangulation(np.ascontiguousarray(points, float).tobytes(), points.shape[1])


def shares(corners: Any, x: Any) -> Any:
    """Return the barycentric coordinates of points, of shape (m, d), in as many simplices."""
    system = np.concatenate([corners, np.ones_like(corners[..., :1])], -1).swapaxes(1, 2)
    right = np.concatenate([x, np.ones_like(x[:, :1])], axis=-1)
    return np.linalg.solve(system, right[..., None])[..., 0]


def find_simplex(found: Any, xi: Any, tolerance: Any) -> Any:
    """Return which simplex each point is in, by so many times what rounding asks for."""
    at = np.ascontiguousarray(xi, float)
    return found.find_simplex(at, tol=100 * np.finfo(float).eps * float(tolerance))


def tolerance_of(simplex_tolerance: float = 1.0) -> Any:
    """Return the one keyword of the interpolators' calls."""
    return np.float64(simplex_tolerance)


def _find_corners(points: Any, xi: Any, tolerance: Any) -> tuple[Any, Any]:
    """Return the corners of the simplex that each point is in, and whether there is one."""
    found = triangulation(points)
    index = find_simplex(found, xi, tolerance)
    return found.simplices[np.maximum(index, 0)].astype(np.int64), index >= 0


def _no_corners(points: Any, xi: Any, tolerance: Any) -> tuple[Any, Any]:
    return np.zeros((len(xi), points.shape[1] + 1), np.int64), np.zeros(len(xi), bool)


_corners: Final = without_effects(primitive(_find_corners, result=_no_corners))


class Scattered(Holder):
    """What the interpolators share: points and values that may be traced."""

    is_traced = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self).__name__,), self.__dict__

    def _keep(self, points: Any, values: Any, rescale: bool, fill_value: Any) -> bool:
        """Keep points and values; return whether something is traced."""
        self._points = _points(getattr(points, "points", points))
        self._values = asarray(values)
        self._rescale, self._fill = rescale, fill_value
        self.is_traced = current_builder() is not None and holds_traced((points, values))
        return self.is_traced

    def _scale_points(self, args: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
        """Return the points, those where values are wanted, the values, and the result's shape."""
        points = array(self._points)
        xi = array(_points(args, ndim=points.shape[1]))
        shape = xi.shape[:-1] + self._values.shape[1:]
        xi = xi.reshape(-1, xi.shape[-1])
        if self._rescale:
            scale = np.ptp(points, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
            points, xi = points / scale, xi / scale
        values = array(self._values)
        kind = np.complex128 if values.dtype.kind == "c" else np.float64
        return points, xi, values.astype(kind), shape


def _blank(name: str) -> Any:
    """Return a new interpolator of that name, before it has a state."""
    kind = table["scipy.interpolate"][name]
    return kind.__new__(kind)


def _linear() -> Any:
    plain: Any = load("scipy.interpolate").LinearNDInterpolator

    class LinearNDInterpolator(Scattered, plain):  # type: ignore[misc]
        __doc__ = plain.__doc__

        def __init__(
            self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
        ) -> None:
            if not self._keep(points, values, rescale, fill_value):
                plain.__init__(self, points, values, fill_value=fill_value, rescale=rescale)

        def __call__(self, *args: Any, **tolerance: Any) -> Any:
            """Evaluate Σ b_j·f_j, of barycentric coordinates b."""
            if not (self.is_traced or holds_traced(args)):
                return plain.__call__(self, *args, **tolerance)
            points, xi, values, shape = self._scale_points(args)
            known = stop_gradient(points), stop_gradient(xi)
            corners, inside = _corners(*known, tolerance_of(**tolerance))
            flat = values.reshape(len(values), -1)
            y = np.einsum("mj,mjq->mq", shares(array(points)[corners], xi), flat[corners])
            return np.where(inside[:, None], y, self._fill).reshape(shape)

    return LinearNDInterpolator


def _nearest() -> Any:
    plain: Any = load("scipy.interpolate").NearestNDInterpolator

    class NearestNDInterpolator(Scattered, plain):  # type: ignore[misc]
        __doc__ = plain.__doc__

        def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
            self._options = tree_options or {}
            if not self._keep(x, y, rescale, np.nan):
                plain.__init__(self, x, y, rescale=rescale, tree_options=tree_options)

        def __call__(self, *args: Any, **query_options: Any) -> Any:
            """Return the value at the nearest point, nan where there is none in reach."""
            if not (self.is_traced or holds_traced(args)):
                return plain.__call__(self, *args, **query_options)
            points, xi, values, shape = self._scale_points(args)
            tree = load("scipy.spatial").cKDTree

            def find(points: Any, xi: Any) -> tuple[Any, Any]:
                distance, index = tree(points, **self._options).query(xi, **query_options)
                reached = np.isfinite(distance)
                return np.where(reached, index, 0).astype(np.int64), reached

            def nothing(points: Any, xi: Any) -> tuple[Any, Any]:
                return np.zeros(len(xi), np.int64), np.zeros(len(xi), bool)

            nearest = primitive(find, result=nothing)
            index, reached = nearest(stop_gradient(points), stop_gradient(xi))
            y = values.reshape(len(values), -1)[index]
            return np.where(reached[:, None], y, np.nan).reshape(shape)

    return NearestNDInterpolator


cover("scipy.interpolate", "LinearNDInterpolator", _linear())
cover("scipy.interpolate", "NearestNDInterpolator", _nearest())
borrow_functions("scipy.interpolate", "griddata", read=1)

# ---- radial functions ----------------------------------------------------------------------------


def _distance(s: Any) -> Any:
    return np.where(s == 0, 0.0, np.sqrt(np.where(s == 0, 1.0, s)))


_KERNELS: Final[dict[str, Callable[[Any], Any]]] = {
    "linear": lambda s: -_distance(s),
    "thin_plate_spline": lambda s: 0.5 * s * np.log(np.where(s == 0, 1.0, s)),
    "cubic": lambda s: s * _distance(s),
    "quintic": lambda s: -(s**2) * _distance(s),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}
"""Radial functions of the squared distance; at the centre derivatives that jump count as zero."""


def _rows(x: Any, y: Any, kernel: str, epsilon: Any, powers: Any, shift: Any, scale: Any) -> Any:
    """Return the values at x of the functions around y, and of monomials; both may be batches."""
    apart = x[..., :, None, :] - y[..., None, :, :]
    squared = np.sum((epsilon * apart) ** 2, axis=-1)
    places = ((x - shift[..., None, :]) / scale[..., None, :])[..., None, :]
    monomials = np.prod(places ** np.asarray(powers), axis=-1)
    return np.concatenate([_KERNELS[kernel](squared), monomials], axis=-1)


@covers("scipy.interpolate._rbfinterp_np")
def _build_and_solve_system(
    y: Any, d: Any, smoothing: Any, kernel: str, epsilon: Any, powers: Any, *_namespace: Any
) -> tuple[Any, Any, Any]:
    """Return shift and scale of the monomials, and all coefficients, of one system or a batch."""
    y, d, smoothing = map(array, (y, d, smoothing))
    low, high = np.min(y, axis=-2), np.max(y, axis=-2)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(scale == 0, 1.0, scale)
    n, r, batch = y.shape[-2], len(powers), y.shape[:-2]
    top = _rows(y, y, kernel, epsilon, powers, shift, scale)
    ridge = smoothing[..., None] * np.eye(n)
    top = top + np.concatenate([ridge, np.zeros((*batch, n, r))], axis=-1)
    below = np.concatenate([top[..., n:].swapaxes(-1, -2), np.zeros((*batch, r, r))], axis=-1)
    right = np.concatenate([d, np.zeros((*batch, r, d.shape[-1]))], axis=-2)
    return shift, scale, np.linalg.solve(np.concatenate([top, below], axis=-2), right)


@covers("scipy.interpolate._rbfinterp_np")
def compute_interpolation(
    x: Any,
    y: Any,
    kernel: str,
    epsilon: Any,
    powers: Any,
    shift: Any,
    scale: Any,
    coeffs: Any,
    *_namespace: Any,
) -> Any:
    """Return the sum of radial functions and monomials at points."""
    return _rows(array(x), array(y), kernel, epsilon, powers, array(shift), array(scale)) @ coeffs


borrow_classes("scipy.interpolate", "RBFInterpolator", note="Which are neighbors is a constant.")


@method_of("scipy.interpolate", "RBFInterpolator")
def __call__(self: Any, x: Any) -> Any:  # noqa: N807
    """Evaluate the sum of all functions, or of those around the neighbors of each point."""
    x = asarray(x, float)
    if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
        raise ValueError(f"`x` must be a 2-dimensional array with {self.y.shape[1]} columns.")
    law = self.kernel, self.epsilon, self.powers
    if self.neighbors is None:
        y = compute_interpolation(x, self.y, *law, self._shift, self._scale, array(self._coeffs))
    else:
        y = _from_neighbors(self, x, law)
    if np.dtype(self.d_dtype).kind == "c":
        y = y[:, ::2] + 1j * y[:, 1::2]
    return y.reshape(len(x), *self.d_shape)


def _from_neighbors(self: Any, x: Any, law: Any) -> Any:
    """Return the sums of functions around the nearest data, a system for each point."""
    nearest = self._tree.query(stop_gradient(array(x)), self.neighbors)[1]
    nearest = np.sort(np.reshape(nearest, (len(x), -1)), axis=1)
    y, d, smoothing = (array(v)[nearest] for v in (self.y, self.d, self.smoothing))
    return compute_interpolation(
        array(x)[:, None], y, *law, *_build_and_solve_system(y, d, smoothing, *law)
    )[:, 0]
