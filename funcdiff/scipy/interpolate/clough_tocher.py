"""Smooth interpolation between scattered points of the plane, by cubics on thirds of triangles.

Gradients at the points minimize the curvature along the edges of the triangulation, the solution of
a linear system, which SciPy iterates to `tol`.  Which triangle a point is in, and which is beside
it, are constants; everything else is smooth in points, values and places.

P. Alfeld, "A trivariate Clough-Tocher scheme for tetrahedral data", Computer Aided Geometric Design
1 (1984), 169. G. Nielson, "A method for interpolating scattered data based upon a minimum norm
network", Mathematics of Computation 40 (1983), 253.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.rules.opaque_functions import primitive, without_effects
from funcdiff.numpy import zeros
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.covered import cover, holds_traced, load
from funcdiff.scipy.interpolate.scattered import (
    Scattered,
    find_simplex,
    shares,
    tolerance_of,
    triangulation,
)


def _find(points: Any, xi: Any, tolerance: Any) -> tuple[Any, ...]:
    """Return corners of the triangles that points are in, those of the three beside, and edges.

    Each with whether there is one; of edges there are at most six for each point.
    """
    found = triangulation(points)
    index = find_simplex(found, xi, tolerance)
    inside, index = index >= 0, np.maximum(index, 0)
    beside = found.neighbors[index]
    starts, ends = found.vertex_neighbor_vertices
    edges = np.zeros((6 * len(points), 2), np.int64)
    edges[: len(ends)] = np.stack([np.repeat(np.arange(len(points)), np.diff(starts)), ends], 1)
    corners = found.simplices.astype(np.int64)
    known = np.arange(6 * len(points)) < len(ends)
    return corners[index], inside, corners[np.maximum(beside, 0)], beside >= 0, edges, known


def _nothing(points: Any, xi: Any, tolerance: Any) -> tuple[Any, ...]:
    m, e = len(xi), 6 * len(points)
    shapes: list[tuple[int, ...]] = [(m, 3), (m,), (m, 3, 3), (m, 3), (e, 2), (e,)]
    return tuple(np.zeros(s, np.int64 if k % 2 == 0 else bool) for k, s in enumerate(shapes))


_found: Final[Any] = without_effects(primitive(_find, result=_nothing))


def _gradients(points: Any, values: Any, edges: Any, known: Any) -> Any:
    """Return the gradients at points, of shape (n, 2, q)."""
    n = len(points)
    i, j = edges[:, 0], edges[:, 1]
    edge = np.where(known[:, None], points[j] - points[i], 1.0)
    weight = np.where(known, 1.0, 0.0) / np.sum(edge**2, axis=-1) ** 1.5
    square = weight[:, None, None] * edge[:, :, None] * edge[:, None, :]
    system, right = zeros((n, n, 2, 2)), zeros((n, 2, values.shape[1]), values.dtype)
    np.add.at(system, (i, i), 4 * square)
    np.add.at(system, (i, j), 2 * square)
    steps = (weight[:, None] * edge)[:, :, None] * (values[j] - values[i])[:, None]
    np.add.at(right, i, 6 * steps)
    matrix = np.swapaxes(system, 1, 2).reshape(2 * n, 2 * n)
    return np.linalg.solve(matrix, right.reshape(2 * n, -1)).reshape(right.shape)


_NEXT: Final = ((1, 2), (2, 0), (0, 1))
"""The corners that follow each corner."""


def _patch(corners: Any, f: Any, df: Any, beside: Any, is_one: Any, b: Any) -> Any:
    """Return the cubics on thirds of triangles, at barycentric coordinates.

    `corners`, `f`, `df`: of each triangle, with the values and gradients there: (m, 3, 2), (m, 3,
      q), (m, 3, 2, q).
    `beside`, `is_one`: corners of the triangles opposite to each corner, (m, 3, 3, 2), and whether
      there is one.
    `b`: coordinates, of shape (m, 3).
    """

    def towards(k: int, other: int) -> Any:
        """Return the ordinate beside a corner on the edge to another."""
        edge = corners[:, other] - corners[:, k]
        return f[:, k] + np.einsum("mi,miq->mq", edge, df[:, k]) / 3

    on_edge = {(k, j): towards(k, j) for k, pair in enumerate(_NEXT) for j in pair}
    near = [(on_edge[k, i] + on_edge[k, j] + f[:, k]) / 3 for k, (i, j) in enumerate(_NEXT)]
    across = []
    for k, (i, j) in enumerate(_NEXT):
        c = shares(corners, np.mean(beside[:, k], axis=1))
        slope = (2 * c[:, j] + c[:, i] - 1) / (2 - 3 * c[:, j] - 3 * c[:, i])
        slope = np.where(is_one[:, k], slope, -0.5)[:, None]
        bend = f[:, j] - 3 * on_edge[j, i] + 3 * on_edge[i, j] - f[:, i]
        sides = near[i] + near[j] + 2 * on_edge[i, j] - on_edge[j, i] - f[:, i]
        across.append((slope * bend + sides) / 2)
    inner = [(across[i] + across[j] + near[k]) / 3 for k, (i, j) in enumerate(_NEXT)]
    least = np.min(b, axis=1, keepdims=True)
    w = [b[:, k, None] - least[:, 0, None] for k in range(3)]
    v = 3 * least
    y = v**3 * (inner[0] + inner[1] + inner[2]) / 3
    for k, (i, j) in enumerate(_NEXT):
        y = y + w[k] ** 3 * f[:, k]
        y = y + 3 * w[k] ** 2 * (w[i] * on_edge[k, i] + w[j] * on_edge[k, j] + v * near[k])
        y = y + 6 * w[i] * w[j] * v * across[k] + 3 * w[k] * v**2 * inner[k]
    return y


def _smooth() -> Any:
    plain: Any = load("scipy.interpolate").CloughTocher2DInterpolator

    class CloughTocher2DInterpolator(Scattered, plain):  # type: ignore[misc]
        __doc__ = plain.__doc__

        def __init__(
            self,
            points: Any,
            values: Any,
            fill_value: Any = np.nan,
            tol: float = 1e-6,
            maxiter: int = 400,
            rescale: bool = False,
        ) -> None:
            if not self._keep(points, values, rescale, fill_value):
                plain.__init__(self, points, values, fill_value, tol, maxiter, rescale)

        def __call__(self, *args: Any, **tolerance: Any) -> Any:
            """Evaluate the cubics around points."""
            if not (self.is_traced or holds_traced(args)):
                return plain.__call__(self, *args, **tolerance)
            points, xi, values, shape = self._scale_points(args)
            if points.shape[1] != 2:
                raise ValueError("CloughTocher2DInterpolator interpolates in two dimensions.")
            points, flat = array(points), values.reshape(len(values), -1)
            corners, inside, beside, is_one, *edges = _found(
                stop_gradient(points), stop_gradient(array(xi)), tolerance_of(**tolerance)
            )
            slopes = _gradients(points, flat, *edges)
            y = _patch(
                points[corners], flat[corners], slopes[corners], points[beside], is_one,
                shares(points[corners], xi),
            )  # fmt: skip
            return np.where(inside[:, None], y, self._fill).reshape(shape)

    return CloughTocher2DInterpolator


cover(
    "scipy.interpolate",
    "CloughTocher2DInterpolator",
    _smooth(),
    note="Traced values have exact gradients, to which SciPy comes up to tol.",
)
