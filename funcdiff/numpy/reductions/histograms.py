"""Histograms: counts are piecewise constant, so derivatives pass through weights and bin edges.

The bin of every sample is found by the steps of NumPy's own code, in the order in which it adds.
"""

from __future__ import annotations

import warnings
from operator import index as as_int
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import array, common_dtype, fit, promote
from funcdiff.numpy.border.values import fact, value_of
from funcdiff.ops.axes.indexing import gather, scatter_add
from funcdiff.ops.structure.structural import convert, stop_gradient
from funcdiff.space import zeros

_BLOCK: Final = 65536
"""How many samples NumPy counts at a time."""


# ---- counting ----------------------------------------------------------------------------------


def _add_up(positions: Any, weights: Any, length: int) -> Any:
    """Add up weights, or ones, by position."""
    if weights is None:
        weights = fit(1, ArrayType(positions.shape, INT))
    start = zeros(weights.type.with_shape((length,)))
    return scatter_add(start, weights, [positions], (0,))


def _as_double(weights: Any) -> Any:
    """Convert weights as ``np.bincount`` does, which lets NumPy raise for what does not fit."""
    x = array(weights)
    np.bincount([0], np.zeros(1, x.dtype))
    return convert(x, FLOAT)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Count integers, or add up their weights; how many counts there are is taken as constant."""
    positions = array(x)
    if positions.type.differentiable:
        raise TypeError(
            f"Cannot cast array data from {positions.dtype!r} to {INT!r} according to the rule "
            "'safe'"
        )
    positions = convert(positions, INT)
    end = fact(positions, _end) if positions.type.size else 0
    # NumPy's own errors, also for numbers that are negative
    counts = np.bincount(np.full(positions.shape, end - 1 if end else 0), minlength=minlength)
    if not positions.type.size:  # NumPy's zeros are integers even so
        return counts
    amounts = None if weights is None else _as_double(weights)
    if amounts is not None and amounts.shape != positions.shape:
        raise ValueError("The weights and list don't have the same length")
    return _add_up(positions, amounts, len(counts))


def _end(positions: Any) -> Any:
    """Return by how much the largest position is beyond 0, and -1 if there are negative ones."""
    return np.where(np.min(positions) < 0, -1, np.max(positions) + 1)


# ---- edges -------------------------------------------------------------------------------------


def _flat(a: Any, weights: Any) -> tuple[Any, Any]:
    samples = array(a)
    if samples.dtype == bool:
        warnings.warn(
            f"Converting input from {samples.dtype} to {np.uint8} for compatibility.",
            RuntimeWarning,
            stacklevel=3,
        )
        samples = convert(samples, np.dtype(np.uint8))
    if weights is not None:
        weights = array(weights)
        if weights.shape != samples.shape:
            raise ValueError("weights should have the same shape as a")
        weights = np.ravel(weights)
    return np.ravel(samples), weights


def _outer_edges(samples: Any, limits: Any) -> tuple[Any, Any]:
    """Return the first and the last edge: the limits, or the extrema of the samples."""
    if limits is not None:
        first, last = limits
        error = ValueError("max must be larger than min in range parameter")
        first = refuse_where(first > last, error, first)
    elif samples.type.size == 0:
        first, last = 0, 1
    else:
        first, last = np.min(samples), np.max(samples)
        if not samples.type.differentiable:
            first, last = first.astype(FLOAT), last.astype(FLOAT)
    kind = "autodetected" if limits is None else "supplied"
    error = ValueError(f"{kind} range of [{first!r}, {last!r}] is not finite")
    is_finite = np.logical_and(np.isfinite(first), np.isfinite(last))
    first = refuse_where(np.logical_not(is_finite), error, first)
    same = first == last
    is_traced = isinstance(same, Tracer)
    if not is_traced:
        return (first - 0.5, last + 0.5) if same else (first, last)
    first, last = promote(first, last)
    return np.where(same, first - 0.5, first), np.where(same, last + 0.5, last)


def _edges(samples: Any, bins: Any, limits: Any, weights: Any) -> tuple[Any, Any]:
    """Return the bin edges, and first, last and number of bins if these are of one width."""
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        ends = None if limits is None else tuple(map(value_of, limits))
        bins = len(np.histogram_bin_edges(value_of(samples), bins, ends)) - 1
    if np.ndim(bins) == 1:
        edges: Any = array(bins)
        error = ValueError("`bins` must increase monotonically, when an array")
        return refuse_where(edges[:-1] > edges[1:], error, edges), None
    if np.ndim(bins) != 0:
        raise ValueError("`bins` must be 1d, when an array")
    count = as_int(bins)
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last = _outer_edges(samples, limits)
    dtype = common_dtype([first, last, samples])
    edges = array(np.linspace(first, last, count + 1, dtype=np.result_type(dtype, 1.0)))
    message = f"Too many bins for data range. Cannot create {count} finite-sized bins"
    edges = refuse_where(edges[:-1] >= edges[1:], ValueError(message), edges)
    return edges, (first, last, count)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of the bins, which depend on the smallest and the largest sample."""
    samples, weights = _flat(a, weights)
    return _edges(samples, bins, range, weights)[0]


# ---- histograms --------------------------------------------------------------------------------


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Count samples, or add up their weights, by bin; return also the edges of the bins."""
    samples, weights = _flat(a, weights)
    edges, uniform = _edges(samples, bins, range, weights)
    simple = weights is None or np.can_cast(weights.dtype, complex)
    if uniform is not None and simple:
        counts = _uniform_counts(samples, weights, edges, *uniform)
    else:
        counts = _count_by_sorting(samples, weights, edges)
    if not density:
        return counts, edges
    widths = convert(array(np.diff(edges)), FLOAT)
    return counts / widths / counts.sum(), edges


def _blocks(size: int) -> list[slice]:
    return [slice(k, min(k + _BLOCK, size)) for k in range(0, size, _BLOCK)]


def _uniform_counts(
    samples: Any, weights: Any, edges: Any, first: Any, last: Any, count: int
) -> Any:
    """Compute the bins of samples; those outside get a bin of their own, which is cut off."""
    dtype = INT if weights is None else weights.dtype
    if weights is not None:
        weights = convert(weights, np.result_type(dtype, FLOAT))
    keep = np.logical_and(samples >= first, samples <= last)
    inside: Any = np.where(keep, fit(samples, edges.type.with_shape(samples.shape)), first)
    inside = stop_gradient(fit(inside, edges.type.with_shape(samples.shape)))
    span = np.subtract(last, first, dtype=np.result_type(common_dtype([first, last]), 1.0))
    bins = (((inside - first) / span) * count).astype(INT)
    bins = np.where(bins == count, count - 1, bins)
    bins = np.where(inside < edges[bins], bins - 1, bins)
    too_far = np.logical_and(inside >= edges[bins + 1], bins != count - 1)
    bins = array(np.where(keep, np.where(too_far, bins + 1, bins), count))
    total = zeros(edges.type.with_shape((count,)).with_dtype(dtype))
    for block in _blocks(samples.shape[0]):
        amounts = None if weights is None else weights[block]
        total = total + _add_up(bins[block], amounts, count + 1)[:count].astype(dtype)
    return total


def _count_by_sorting(samples: Any, weights: Any, edges: Any) -> Any:
    """Take differences of cumulative counts, or of cumulative weights, of sorted samples."""
    dtype = INT if weights is None else weights.dtype
    total: Any = zeros(edges.type.with_dtype(dtype))
    for block in _blocks(samples.shape[0]):
        part = samples[block]
        if weights is None:
            total = total + _places(np.sort(part), edges)
            continue
        order = np.argsort(part)
        sums = np.concatenate((np.zeros(1, dtype), np.cumsum(weights[block][order])))
        left: Any = gather(array(sums), [_places(part[order], edges)], (0,))
        total = total + left.astype(dtype)
    return np.diff(total)


def _places(ordered: Any, edges: Any) -> Any:
    """Return how many samples are left of each edge; the last edge belongs to its bin."""
    left = np.searchsorted(ordered, edges[:-1], "left")
    return array(np.concatenate((left, np.searchsorted(ordered, edges[-1:], "right"))))


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """Count points, or add up their weights, by bins along every dimension."""
    if isinstance(sample, list | tuple):
        columns = promote(*sample)
    else:
        points = np.transpose(np.atleast_2d(array(sample)))
        columns = [points[k] for k in np.arange(points.shape[0])]
        if np.ndim(sample) != 2:
            columns = [np.ravel(array(sample))]
    n = len(columns)
    if not np.iterable(bins):
        bins = [bins] * n
    if len(bins) != n:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x")
    limits = [None] * n if range is None else list(range)
    if len(limits) != n:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges_along(x, b, r) for x, b, r in zip(columns, bins, limits, strict=True)]
    sizes = [len(e) + 1 for e in edges]
    position: Any = 0
    for x, e, size in zip(columns, edges, sizes, strict=True):
        place = np.searchsorted(e, x, side="right")
        position = position * size + np.where(x == e[-1], place - 1, place)
    amounts = None if weights is None else _as_double(weights)
    counts: Any = _add_up(array(position), amounts, int(np.prod(sizes)))
    counts = np.reshape(counts.astype(FLOAT), sizes)[(slice(1, -1),) * n]
    if density:
        total = counts.sum()
        for k, e in enumerate(edges):
            widths = np.diff(e)
            counts = counts / np.reshape(widths, [-1 if j == k else 1 for j in np.arange(n)])
        counts = counts / total
    return counts, edges


def _edges_along(x: Any, bins: Any, limits: Any) -> Any:
    """Return the edges of bins along one dimension, given as a number or as edges."""
    if np.ndim(bins) == 0 and not isinstance(bins, str):
        first, last = _outer_edges(x, limits)
        count = as_int(bins)
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        return array(np.linspace(first, last, count + 1))
    if isinstance(bins, str) or np.ndim(bins) != 1:
        raise ValueError("`bins` must be an integer or a 1d array")
    return _edges(x, bins, limits, None)[0]
