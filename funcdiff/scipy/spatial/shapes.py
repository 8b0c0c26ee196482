"""Convex hulls, whose facets are constants, comparisons of shapes, and arcs of great circles."""

from __future__ import annotations

from math import factorial
from typing import Any, Final

import numpy as np

from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import array, as_number
from funcdiff.numpy.border.values import concrete_value
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import Holder, cover, covers, holds_traced, load, refusal
from funcdiff.scipy.spatial.distance.metrics import floating, minkowski

_MODULE: Final = "scipy.spatial"
_COUNTS: Final = (
    "coplanar", "good", "ndim", "neighbors", "npoints", "nsimplex", "simplices", "vertices",
)  # fmt: skip


class ConvexHull(Holder):
    """The hull of traced points: its volume and area, by facets that are constants."""

    def __init__(self, points: Any, incremental: bool = False, qhull_options: Any = None) -> None:
        self.points: Any = array(points).astype(np.float64)
        try:
            known = concrete_value(self.points)
        except ConcreteValueError:
            raise ConcreteValueError(
                f"{_MODULE}.ConvexHull needs the values of its points, which decide how many "
                f"facets there are, at {user_location()}: leave out jit and vmap."
            ) from None
        self._plain: Any = load(_MODULE).ConvexHull(np.asarray(known), incremental, qhull_options)
        corners = self.points[self._plain.simplices]
        middle = np.mean(np.asarray(known)[self._plain.vertices], axis=0)
        d = self.points.shape[1]
        edges = corners[:, 1:] - corners[:, :1]
        volume: Any = np.sum(np.abs(np.linalg.det(corners - middle))) / factorial(d)
        squares = np.linalg.det(edges @ np.swapaxes(edges, 1, 2))
        area: Any = np.sum(np.sqrt(squares)) / factorial(d - 1)
        self.volume, self.area = as_number(volume), as_number(area)

    def __getattr__(self, name: str) -> Any:
        if name in _COUNTS:
            return getattr(self._plain, name)
        if not name.startswith("_") and hasattr(self._plain, name):
            raise refusal(_MODULE, f"ConvexHull.{name}")
        raise AttributeError(name)


def _hull(points: Any, *args: Any, **kwargs: Any) -> Any:
    """Return SciPy's hull, of traced points ours."""
    kind: Any = ConvexHull if holds_traced(points) else load(_MODULE).ConvexHull
    return kind(points, *args, **kwargs)


_hull.__name__ = _hull.__qualname__ = "ConvexHull"
cover(
    _MODULE,
    "ConvexHull",
    _hull,
    note="volume and area; the facets are constants. Not under jit and vmap.",
)
borrow_functions(_MODULE, "geometric_slerp")


@covers(_MODULE)
def procrustes(data1: Any, data2: Any) -> Any:
    """Return two configurations of points, standardised and rotated onto each other, and the rest.

    The rotation is the orthogonal factor of one's product with the other.
    """
    first, second = floating(data1), floating(data2)
    if first.ndim != 2 or second.ndim != 2:
        raise ValueError("Input matrices must be two-dimensional")
    if first.shape != second.shape:
        raise ValueError("Input matrices must be of same shape")
    if first.size == 0:
        raise ValueError("Input matrices must be >0 rows and >0 cols")
    first, second = (x - np.mean(x, axis=0) for x in (first, second))
    first, second = (x / np.linalg.norm(x) for x in (first, second))
    u, w, vt = np.linalg.svd(second.T @ first, full_matrices=False)
    second = second @ (u @ vt) * np.sum(w)
    return first, second, np.sum((first - second) ** 2)


@covers(_MODULE)
def minkowski_distance(x: Any, y: Any, p: Any = 2.0) -> Any:
    """Return (Σ |x - y|ᵖ)^(1/p) along the last axis, with the derivative 0 at 0."""
    return minkowski(floating(x), floating(y), p)


@covers(_MODULE)
def minkowski_distance_p(x: Any, y: Any, p: Any = 2.0) -> Any:
    """Return its power Σ |x - y|ᵖ, of p = ∞ itself."""
    gaps: Any = np.abs(floating(y) - floating(x))
    if p == np.inf:
        return np.max(gaps, axis=-1)
    return np.sum(np.where(gaps == 0, 0, np.where(gaps == 0, 1, gaps) ** p), axis=-1)


@covers(_MODULE)
def distance_matrix(x: Any, y: Any, p: Any = 2.0, threshold: int = 1000000) -> Any:
    """Return the distances between the rows of two matrices; the threshold has no part in it."""
    left, right = floating(x), floating(y)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"x contains {left.shape[1]}-dimensional vectors but y contains "
            f"{right.shape[1]}-dimensional vectors"
        )
    return minkowski(left[:, None, :], right[None, :, :], p)
