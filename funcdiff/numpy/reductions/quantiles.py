"""Order statistics: median, quantile and percentile, and the forms that leave NaN out.

All read order statistics at positions between which they interpolate linearly, and are
differentiable in the entries (equal ones share) and in `q`.  The positions follow Hyndman and
Fan, *Sample Quantiles in Statistical Packages*, The American Statistician 50 (1996) 361-365.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy.border.dispatch import default
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import Traced, array, broadcast_to, is_weak
from funcdiff.numpy.reductions.averages import weights_along
from funcdiff.numpy.reductions.sums_and_extrema import Member, family, merge_axes, store_reduction
from funcdiff.numpy.shapes.shape import normalize_axes
from funcdiff.ops.axes import sorting
from funcdiff.ops.axes.indexing import take_along
from funcdiff.ops.axes.reductions import reduce_all, reduce_any
from funcdiff.ops.axes.sorting import order_statistics
from funcdiff.ops.elementwise.logic import isnan, logical_not
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.structure.structural import convert, reshape, stop_gradient
from funcdiff.space import reduce_sum


class Sample(NamedTuple):
    """Entries along axis 0, how many of them count, and where the result is NaN."""

    entries: Tracer
    count: Any
    undefined: Traced | None


def _sample(x: Tracer, axes: tuple[int, ...], *, skips_nan: bool) -> Sample:
    entries = merge_axes(x, axes)
    count = entries.shape[0]
    if not x.type.differentiable:
        return Sample(entries, count, None)
    nan = isnan(entries)
    if not skips_nan:
        return Sample(entries, count, reduce_any(nan, (0,)))
    numbers = reduce_sum(convert(logical_not(nan), INT), (0,))
    return Sample(entries, numbers, reduce_all(nan, (0,)))


def _order_statistics(sample: Sample, positions: Any) -> Traced:
    """Return order statistics, stacked along a new first axis like the positions."""
    entries, kept = sample.entries, sample.entries.shape[1:]
    index = array(positions)
    if index.ndim == 1:
        index = reshape(index, (index.type.size, *(1,) * len(kept)))
    index = broadcast_to(index, (index.shape[0], *kept))
    return order_statistics(entries, convert(index, INT), 0)


def _finish(
    of: Member, value: Any, sample: Sample, x: Tracer, axes: tuple[int, ...], q_shape: Any,
    out: Any, keepdims: Any,
) -> Traced:  # fmt: skip
    """Put NaN where NaN decides, and the axes where NumPy has them: those of `q` in front."""
    if sample.undefined is not None:
        value = np.where(sample.undefined, np.nan, value)
    kept = sample.entries.shape[1:]
    if keepdims is not default and keepdims:
        kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return store_reduction(of.name, reshape(array(value), (*q_shape, *kept)), out)


# ---- median ------------------------------------------------------------------------------------


@family(Member("median", "Return the median over axes{}: the mean of the one or two middle ones."))
def _median(
    of: Member, a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    keepdims: Any = default,
) -> Traced:  # fmt: skip
    x: Traced = array(a)
    if x.type.size == 0:
        mean = np.nanmean if of.skips_nan else np.mean
        return mean(x, axis, None, out, keepdims)
    axes = normalize_axes(axis, x.ndim)
    sample = _sample(x, axes, skips_nan=of.skips_nan)
    return _finish(of, _middle(sample), sample, x, axes, (), out, keepdims)


def _middle(sample: Sample) -> Traced:
    count = sample.count
    if not isinstance(count, Tracer):
        places = [count // 2] if count % 2 else [count // 2 - 1, count // 2]
        return np.mean(_order_statistics(sample, np.array(places)), 0)
    n: Any = np.maximum(sample.count, 1)
    middle = _order_statistics(sample, np.stack([(n - 1) // 2, n // 2]))
    return np.where(n % 2 == 1, middle[0], np.mean(middle, 0))


# ---- positions of quantiles -------------------------------------------------------------------

_CONTINUOUS: Final = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
"""Plotting positions: the constants alpha and beta of Hyndman and Fan."""


def _boundary(index: Any, goes_down: Callable[[Any], Any]) -> Any:
    """Return the integer below or above a position, by what its fractional part says."""
    below = np.floor(index)
    return np.maximum(np.where(goes_down(index - below), below, below + 1), 0)


_DISCRETE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "inverted_cdf": lambda n, q: _boundary(n * q - 1, lambda part: part == 0),
    "closest_observation": lambda n, q: _boundary(
        n * q - 1 - 0.5, lambda part: np.logical_and(part == 0, np.floor(n * q - 1 - 0.5) % 2 == 1)
    ),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
}
"""Methods that read a single order statistic."""

_INTERPOLATED: Final = ("linear", "midpoint", "averaged_inverted_cdf", *_CONTINUOUS)


def _virtual_position(method: str, n: Any, q: Any) -> Any:
    """Return the position, with a fraction, at which the sorted array is read."""
    if method == "linear":
        return (n - 1) * q
    if method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    if method == "averaged_inverted_cdf":
        return n * q - 1
    alpha, beta = _CONTINUOUS[method]
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _fraction(method: str, part: Any, position: Any) -> Any:
    """Return the weight of the upper neighbour."""
    if method == "midpoint":
        return np.where(position % 1 == 0, 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        return np.where(part == 0, 0.5, 1.0)
    return part


# ---- quantile and percentile ---------------------------------------------------------------------


def _interpolate(sample: Sample, q: Any, method: str, *, weak: bool) -> Traced:
    """Return the interpolated order statistics; `weak` fractions take the dtype of the entries."""
    x = sample.entries
    n = np.maximum(sample.count, 1)
    if q.dtype.kind == "f":  # for NumPy the number of entries is a Python one, which is weak
        n = n.astype(q.dtype)
    position = _virtual_position(method, n, q)
    last = n - 1
    below = np.where(position >= last, last, np.maximum(np.floor(position), 0))
    above = np.where(position < 0, 0, np.minimum(below + 1, last))
    part = _fraction(method, position - below, position)
    places = np.concatenate((below, above))
    if q.dtype == np.float16:  # which does not count beyond 65,504: NaN there, as NumPy has it
        places = np.where(np.isfinite(places), places, 0)
    both = _order_statistics(sample, places.astype(np.int64))
    low, high = both[: len(below)], both[len(below) :]
    if np.ndim(part) == 1:
        part = np.reshape(part, (-1, *(1,) * (x.ndim - 1)))
    strong = position.dtype if position.dtype.kind == "f" else FLOAT
    dtype = x.dtype if weak and x.type.differentiable else strong
    weight, rest = (z.astype(dtype) for z in (part, 1 - part))
    span: Any = sub(high, low)
    return np.where(part >= 0.5, high - span * rest, low + span * weight)


def _discrete(sample: Sample, position: Any) -> Traced:
    last = np.maximum(sample.count, 1) - 1
    return _order_statistics(sample, np.minimum(position, last).astype(np.int64))


def _weighted_quantile(sample: Sample, q: Any, weights: Traced) -> Traced:
    """Return the smallest entries at which the share of the weights reaches `q`."""
    entries = sample.entries
    order = sorting.argsort(stop_gradient(entries), 0, "quicksort")
    if sample.undefined is not None:
        nan: Traced = isnan(entries)
        weights = np.where(nan, 0, weights)
    ordered: Traced = take_along(weights, order, 0)
    share = np.cumsum(ordered, 0, np.float64)
    share = share / share[-1:]
    lost = np.isnan(share[-1])
    if sample.undefined is not None:
        lost = np.logical_and(lost, np.logical_not(sample.undefined))
    error = ValueError("Weights included NaN, inf or were all zero")
    share = refuse_where(lost, error, share)
    share = np.where(share == 0, -1, share)
    before = share[None] < np.reshape(q, (-1, *(1,) * entries.ndim))
    return _discrete(sample, np.sum(before, 1))


def _check_weights(
    x: Tracer, weights: Any, axis: Any, axes: tuple[int, ...], method: str
) -> Traced:
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    w = broadcast_to(weights_along(x, weights, axis), x.shape)
    w = refuse_where(np.less(w, 0), ValueError("Weights must be non-negative"), w)
    return merge_axes(w, axes)


@family(
    Member("quantile", "Return quantiles over axes{}.", operation=1),
    Member("percentile", "Return percentiles over axes{}.", operation=100),
)
def _quantile(
    of: Member, a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = default, *, weights: Any = None,
) -> Traced:  # fmt: skip
    x: Traced = array(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    weak = is_weak(q)
    q = q if isinstance(q, Tracer) else np.asarray(q)
    scale = of.operation
    q = q if scale == 1 else np.true_divide(q, scale)
    unit = "Quantiles" if scale == 1 else "Percentiles"
    error = ValueError(f"{unit} must be in the range [0, {scale}]")
    q = refuse_where(np.logical_not(np.logical_and(q >= 0, q <= 1)), error, q)
    if np.ndim(q) > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in _DISCRETE and method not in _INTERPOLATED:
        known = ", ".join([*_DISCRETE, *_INTERPOLATED])
        raise ValueError(f"{method!r} is not a valid method. Use one of: {known}")
    if of.skips_nan and x.type.size == 0:
        return np.nanmean(x, axis, None, out, keepdims)
    axes = normalize_axes(axis, x.ndim)
    if any(x.shape[axis] == 0 for axis in axes):
        raise IndexError(f"{of.name} of an axis of size 0")
    sample = _sample(x, axes, skips_nan=of.skips_nan)
    row = np.reshape(q, -1)
    spread = np.reshape(q, (-1, *(1,) * (sample.entries.ndim - 1))) if of.skips_nan else row
    if weights is not None:
        w = _check_weights(x, weights, axis, axes, method)
        value = _weighted_quantile(sample, row, w)
    elif method in _DISCRETE:
        value = _discrete(sample, _DISCRETE[method](sample.count, spread))
    elif method == "linear" and q.dtype.kind in "biu":
        value = _discrete(sample, (sample.count - 1) * spread)
    else:
        value = _interpolate(sample, spread, method, weak=weak)
    return _finish(of, value, sample, x, axes, np.shape(q), out, keepdims)
