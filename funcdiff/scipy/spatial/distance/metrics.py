"""Metrics of vectors along the last axis, which broadcast: one formula for pairs and for tables.

At distance 0, where a metric has a kink, its derivative is 0: the mean of those on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.special import rel_entr

Metric = Callable[..., Any]


def floating(x: Any) -> Any:
    """Return an array in double precision, as most of SciPy's distances are."""
    x = array(x)
    return x.astype(np.result_type(x.dtype, np.float64))


def root(squares: Any, power: Any = 0.5) -> Any:
    """Return a root of a sum of powers, with the derivative 0 where that is 0."""
    is_zero = squares <= 0
    return np.where(is_zero, 0, np.where(is_zero, 1, squares) ** power)


def _weights(w: Any) -> Any:
    weights = floating(w)
    if is_known_to_hold(lambda: np.any(weights < 0)):
        raise ValueError("Input weights should be all non-negative")
    return weights


def _sum(x: Any, w: Any = None) -> Any:
    return np.sum(x if w is None else _weights(w) * x, axis=-1)


def minkowski(x: Any, y: Any, p: Any = 2, w: Any = None) -> Any:
    """Return (Σ w|x - y|ᵖ)^(1/p)."""
    p = refuse_where(np.less_equal(p, 0), ValueError("p must be greater than 0"), p)
    if w is None:
        return np.linalg.norm(x - y, ord=p, axis=-1)
    if is_known_to_hold(lambda: p == np.inf):
        return chebyshev(x, y, w)
    gaps = np.abs(x - y)
    powers = np.where(gaps == 0, 0, np.where(gaps == 0, 1, gaps) ** p)
    return root(_sum(powers, w), 1 / p)


def euclidean(x: Any, y: Any, w: Any = None) -> Any:
    """Return √Σ w(x - y)²."""
    return np.linalg.norm(x - y, axis=-1) if w is None else root(sqeuclidean(x, y, w))


def sqeuclidean(x: Any, y: Any, w: Any = None) -> Any:
    """Return Σ w(x - y)²."""
    return _sum((x - y) ** 2, w)


def cityblock(x: Any, y: Any, w: Any = None) -> Any:
    """Return Σ w|x - y|."""
    return _sum(np.abs(x - y), w)


def chebyshev(x: Any, y: Any, w: Any = None) -> Any:
    """Return max |x - y| where the weight is not 0."""
    gaps = np.abs(x - y)
    return np.max(gaps if w is None else np.where(_weights(w) > 0, gaps, 0), axis=-1)


def seuclidean(x: Any, y: Any, V: Any) -> Any:
    """Return √Σ (x - y)²/V."""
    return root(_sum((x - y) ** 2 / floating(V)))


def mahalanobis(x: Any, y: Any, VI: Any) -> Any:
    """Return √(x - y)ᵀ·VI·(x - y)."""
    gaps = x - y
    return root(_sum((gaps @ VI) * gaps))


def cosine(x: Any, y: Any, w: Any = None) -> Any:
    """Return 1 - ⟨x, y⟩/(|x||y|)."""
    return correlation(x, y, w, centered=False)


def correlation(x: Any, y: Any, w: Any = None, centered: bool = True) -> Any:
    """Return the same of vectors less their mean."""
    if w is not None:
        w = _weights(w) / np.sum(w)
    if centered:
        n = 1 if w is not None else x.shape[-1]
        x, y = (z - (_sum(z, w) / n)[..., None] for z in (x, y))
    similarity = _sum(x * y, w) / np.sqrt(_sum(x * x, w) * _sum(y * y, w))
    return np.where(np.abs(similarity) > 1, 1 - np.sign(similarity), 1 - similarity)


def canberra(x: Any, y: Any, w: Any = None) -> Any:
    """Return Σ w|x - y|/(|x| + |y|), without terms 0/0."""
    sizes = np.abs(x) + np.abs(y)
    terms = np.abs(x - y) / np.where(sizes == 0, 1, sizes)
    return _sum(np.where(sizes == 0, 0, terms), w)


def braycurtis(x: Any, y: Any, w: Any = None) -> Any:
    """Return Σ w|x - y|/Σ w|x + y|."""
    return _sum(np.abs(x - y), w) / _sum(np.abs(x + y), w)


def jensenshannon(x: Any, y: Any, base: Any = None) -> Any:
    """Return √(D(x|m) + D(y|m))/2 with m the mean of x and y, which are normalised before."""
    x, y = (z / np.sum(z, axis=-1, keepdims=True) for z in (x, y))
    m = (x + y) / 2
    divergence = _sum(rel_entr(x, m)) + _sum(rel_entr(y, m))
    nats: Any = 1 if base is None else np.log(base)
    # SciPy divides in place, which of arrays keeps their dtype
    nats = nats if base is None or not divergence.ndim else array(nats).astype(divergence.dtype)
    return root(divergence / nats / 2)


METRICS: Final[dict[str, Metric]] = {
    function.__name__: function
    for function in (
        braycurtis, canberra, chebyshev, cityblock, correlation, cosine, euclidean, jensenshannon,
        mahalanobis, minkowski, seuclidean, sqeuclidean,
    )
}  # fmt: skip

_NAMES: Final = {
    "chebyshev": "chebychev cheby cheb ch",
    "cityblock": "cblock cb c",
    "correlation": "co",
    "cosine": "cos",
    "euclidean": "euclid eu e",
    "jensenshannon": "js",
    "mahalanobis": "mahal mah",
    "minkowski": "mi m pnorm",
    "seuclidean": "se s",
    "sqeuclidean": "sqe sqeuclid",
}
ALIASES: Final = {alias: name for name, aliases in _NAMES.items() for alias in aliases.split()}
"""Other names by which SciPy's tables of distances know these metrics."""
