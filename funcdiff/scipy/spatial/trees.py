"""Trees of points: a search finds the neighbours, which are constants, NumPy their distances."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

import numpy as np

from funcdiff.api.rules.opaque_functions import primitive
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.covered import Holder, cover, holds_traced, load, refusal
from funcdiff.scipy.spatial.distance.metrics import floating, minkowski

_MODULE: Final = "scipy.spatial"
_OTHERS: Final = (
    "query_ball_point", "query_ball_tree", "query_pairs", "count_neighbors",
    "sparse_distance_matrix",
)  # fmt: skip


def _tree(name: str) -> Any:
    """Return a class of SciPy's trees, whose points and queries may be traced."""
    plain: Any = getattr(load(_MODULE), name)

    class Tree(plain, Holder):  # type: ignore[misc]
        """SciPy's tree; of traced points there are distances of neighbours alone."""

        def __init__(self, data: Any, *args: Any, **kwargs: Any) -> None:
            self._points: Any = _checked(name, data) if holds_traced(data) else None
            self._options = (args, kwargs)
            self._box: Any = kwargs.get("boxsize", args[4] if len(args) > 4 else None)
            if self._points is None:
                super().__init__(data, *args, **kwargs)
            elif self._box is not None:
                self._points = _within(self._points, np.asarray(self._box))

        def __getattribute__(self, name: str) -> Any:
            if name in _OTHERS and self._points is not None:
                raise refusal(_MODULE, f"KDTree.{name}")
            found = super().__getattribute__(name)
            return _of_plain(name, found) if name in _OTHERS else found

        def query(
            self,
            x: Any,
            k: Any = 1,
            eps: float = 0.0,
            p: float = 2.0,
            distance_upper_bound: float = np.inf,
            workers: int = 1,
        ) -> Any:
            """Return distances of neighbours, which are differentiable, and their numbers."""
            if self._points is None and not holds_traced(x):
                return super().query(x, k, eps, p, distance_upper_bound, workers)
            points = floating(self.data if self._points is None else self._points)
            queries = floating(x)
            args, kwargs = self._options

            def search(data: Any, x: Any) -> Any:
                found = plain(data, *args, **kwargs)
                return found.query(x, k, eps, p, distance_upper_bound, workers)[1]

            def shape(_data: Any, x: Any) -> Any:
                counts = () if np.ndim(k) == 0 and k == 1 else np.shape(_ranks(k))
                return np.zeros((*x.shape[:-1], *counts), np.intp)

            opaque: Any = primitive
            numbers = opaque(search, result=shape)(stop_gradient(points), stop_gradient(queries))
            is_missing = numbers == points.shape[0]
            nearest = points[np.where(is_missing, 0, numbers)] if len(points) else np.inf
            others = queries if numbers.ndim == queries.ndim - 1 else queries[..., None, :]
            gaps = others - nearest
            if self._box is not None:  # 0 where space has no period
                turns = np.round(gaps / np.where(np.equal(self._box, 0), np.inf, self._box))
                gaps = gaps - stop_gradient(turns) * self._box
            distances = minkowski(gaps, 0.0, p)
            return np.where(is_missing, np.inf, distances), numbers

    Tree.__name__ = Tree.__qualname__ = name
    return Tree


def _checked(name: str, data: Any) -> Any:
    """Return points; raise as SciPy does where they are complex or not finite."""
    if (points := floating(data)).dtype.kind == "c":
        raise TypeError(f"{name} does not work with complex data")
    error = ValueError("data must be finite, check for nan or inf values")
    return refuse_where(~np.isfinite(points), error, points)


def _within(points: Any, box: Any) -> Any:
    """Return points; raise as SciPy does where some are outside of a periodic box."""
    larger = ValueError("Some input data are greater than the size of the periodic box.")
    smaller = ValueError("Negative input data are outside of the periodic box.")
    points = refuse_where((box > 0) & (points >= box), larger, points)
    return refuse_where((box > 0) & (points < 0), smaller, points)


def _of_plain(name: str, method: Any) -> Any:
    """Return a method of a tree of plain points, which refuses traced ones and trees of them."""

    @wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        if any(holds_traced(getattr(x, "_points", x)) for x in given):
            raise refusal(_MODULE, f"KDTree.{name}")
        return method(*args, **kwargs)

    return wrapper


def _ranks(k: Any) -> Any:
    return range(k) if np.ndim(k) == 0 else k


for _name in ("KDTree", "cKDTree"):
    cover(
        _MODULE,
        _name,
        _tree(_name),
        note="query: the numbers of the neighbours are constants. Of traced points, query alone.",
    )
