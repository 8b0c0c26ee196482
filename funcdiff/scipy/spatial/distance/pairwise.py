"""Distances of pairs of vectors, between the rows of two matrices, and within one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.dispatch import refuse
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.array_api import is_lazy_array
from funcdiff.scipy.covered import covers
from funcdiff.scipy.spatial.distance.metrics import ALIASES, METRICS, Metric, floating

_MODULE: Final = "scipy.spatial.distance"


# ---- of two vectors ------------------------------------------------------------------------------


def _of_vectors(metric: Metric) -> None:
    """Cover the metric of two vectors, with SciPy's check of their shape."""
    read = floating if metric.__name__ in ("braycurtis", "canberra") else array

    def distance(u: Any, v: Any, *parameters: Any, **keywords: Any) -> Any:
        u, v = read(u), read(v)
        if u.ndim != 1 or v.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        return metric(u, v, *parameters, **keywords)

    distance.__doc__ = metric.__doc__
    covers(_MODULE, metric.__name__)(distance)


for _name, _metric in METRICS.items():
    if _name != "jensenshannon":
        _of_vectors(_metric)


@covers(_MODULE)
def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """Return the distance of distributions, with the derivative 0 where they are equal."""
    left, right = (np.moveaxis(array(x), axis, -1) for x in (p, q))
    found = METRICS["jensenshannon"](left, right, base)
    return np.expand_dims(found, axis) if keepdims else found


# ---- tables --------------------------------------------------------------------------------------


def _metric_of(metric: Any, rows: Any, keywords: dict[str, Any]) -> Metric:
    """Return a metric by its name or as a function of broadcast vectors; add SciPy's defaults."""
    if callable(metric):
        name = getattr(metric, "__name__", "")
        return METRICS.get(name) or _by_pairs(metric)
    name = str(metric).lower()
    name = ALIASES.get(name, name)
    if name not in METRICS:
        raise UnsupportedNumPyError(
            f"{_MODULE} was asked for distances by the metric {metric!r} of a traced array, at "
            f"{user_location()}. It compares truth values, which have no derivative, or is "
            f"unknown. The others are {', '.join(METRICS)}."
        )
    if name == "seuclidean" and keywords.get("V") is None:
        keywords["V"] = np.var(rows, axis=0, ddof=1)
    if name == "mahalanobis" and keywords.get("VI") is None:
        if len(rows) <= rows.shape[1]:
            raise ValueError(
                f"The number of observations ({len(rows)}) is too small; the covariance matrix is "
                f"singular. For observations with {rows.shape[1]} dimensions, at least "
                f"{rows.shape[1] + 1} observations are required."
            )
        keywords["VI"] = np.linalg.inv(np.atleast_2d(np.cov(rows.T))).T
    return METRICS[name]


def _by_pairs(metric: Metric) -> Metric:
    """Return a function of the user's, of two vectors, for matrices of them."""

    def of_all(x: Any, y: Any, **keywords: Any) -> Any:
        shape = np.broadcast_shapes(x.shape, y.shape)
        x, y = (np.broadcast_to(z, shape).reshape(-1, shape[-1]) for z in (x, y))
        found = [metric(a, b, **keywords) for a, b in zip(x, y, strict=True)]
        return np.stack(found).reshape(shape[:-1])

    return of_all


@covers(_MODULE, note="No metrics of truth values, no out=. Another function is called by pairs.")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distances between the rows of two matrices."""
    refuse(f"{_MODULE}.cdist", out=out)
    left, right = floating(XA), floating(XB)
    if left.ndim != 2 or right.ndim != 2:
        raise ValueError(f"{'XA' if left.ndim != 2 else 'XB'} must be a 2-dimensional array.")
    if left.shape[1] != right.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    distance = _metric_of(metric, np.concatenate([left, right]), kwargs)
    return distance(left[:, None, :], right[None, :, :], **kwargs)


@covers(_MODULE, note="No metrics of truth values, no out=. Another function is called by pairs.")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distances between the rows of a matrix, those of i < j, row by row."""
    refuse(f"{_MODULE}.pdist", out=out)
    rows = floating(X)
    if rows.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    i, j = np.triu_indices(rows.shape[0], 1)
    distance = _metric_of(metric, rows, kwargs)
    return distance(rows[i], rows[j], **kwargs)


@covers(_MODULE)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the symmetric matrix of a vector of distances, or the vector of such a matrix."""
    x = array(X)
    if (force.lower() == "tomatrix" and x.ndim != 1) or (
        force.lower() == "tovector" and x.ndim != 2
    ):
        raise ValueError(f"Forcing {force!r} but input X has {x.ndim} dimensions.")
    if x.ndim == 2:
        _check_distances(x, checks=checks)
        return x[np.triu_indices(x.shape[0], 1)]
    if x.ndim != 1:
        raise ValueError("The first argument must be one or two dimensional array.")
    n = int(np.ceil(np.sqrt(x.shape[0] * 2)))
    if n * (n - 1) != 2 * x.shape[0]:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some "
            "integer n >= 2."
        )
    n = max(n, 1)
    places = np.zeros((n, n), np.intp)
    places[np.triu_indices(n, 1)] = np.arange(x.shape[0])
    places += places.T
    if not x.shape[0]:
        return np.zeros((1, 1), x.dtype)
    return np.where(np.eye(n, dtype=bool), 0, x[places])


def _check_distances(x: Any, *, checks: bool) -> None:
    if x.shape[0] != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and not is_lazy_array(x):
        if not np.all(x == x.T):
            raise ValueError("Distance matrix 'X' must be symmetric.")
        if np.any(np.diagonal(x) != 0):
            raise ValueError("Distance matrix 'X' diagonal must be zero.")


@covers(_MODULE, note="The indices are constants.")
def directed_hausdorff(u: Any, v: Any, rng: Any = 0, *, seed: Any = 0) -> Any:
    """Return the largest distance of a row of `u` to the nearest of `v`, and both their numbers."""
    table = cdist(u, v)
    nearest = np.min(table, axis=1)
    row = np.argmax(nearest)
    return np.max(nearest), row, np.argmin(table[row])
