"""Order statistics: median, quantile and percentile, and the forms that leave NaN out.

All read the sorted array at positions between which they interpolate linearly, and are
differentiable in the entries (equal ones share) and in `q`.  The positions follow Hyndman and
Fan, *Sample Quantiles in Statistical Packages*, The American Statistician 50 (1996) 361-365.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.types import FLOAT
from funcdiff.errors import user_location
from funcdiff.numpy.dispatch import default, implements
from funcdiff.numpy.masks import holds
from funcdiff.numpy.nans import nanmean
from funcdiff.numpy.promotion import array
from funcdiff.numpy.reductions import given, stored, with_kept
from funcdiff.numpy.shape import normalized_axes
from funcdiff.numpy.statistics import mean
from funcdiff.ops import sorting
from funcdiff.ops.attained import attained
from funcdiff.ops.indexing import take_along
from funcdiff.ops.reductions import reduce_any
from funcdiff.ops.logic import isnan
from funcdiff.ops.structural import convert, permute, reshape, stop_gradient
from funcdiff.space import broadcast, kept_axes, reduce_sum


class Sample(NamedTuple):
    """Entries along axis 0: as given and sorted, how many are numbers, where NaN decides."""

    entries: Tracer
    ordered: Tracer
    count: Any
    undefined: Tracer | None


def _sample(x: Tracer, axes: tuple[int, ...], skips_nan: bool) -> Sample:
    """Merge the axes into a first one and sort."""
    kept = kept_axes(x.ndim, axes)
    size = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    entries = reshape(permute(x, (*axes, *kept)), (size, *(x.shape[axis] for axis in kept)))
    ordered = sorting.sort(stop_gradient(entries), 0, "quicksort")
    if not x.type.differentiable:
        return Sample(entries, ordered, size, None)
    nan = isnan(entries)
    if not skips_nan:
        return Sample(entries, ordered, size, reduce_any(nan, (0,)))
    missing = reduce_sum(convert(nan, np.dtype(np.int64)), (0,))
    count: Any = np.subtract(size, missing)  # type: ignore[call-overload]
    return Sample(entries, ordered, count, array(count == 0))


def _read(sample: Sample, positions: Any) -> Any:
    """Return the order statistics at positions of shape ``(m,)`` or ``(m, *kept)``."""
    x, ordered = sample.entries, sample.ordered
    kept = x.shape[1:]
    index = np.reshape(positions, (-1, *(1,) * len(kept))) if np.ndim(positions) == 1 else positions
    index = array(np.broadcast_to(index, (np.shape(index)[0], *kept)))
    values = take_along(ordered, index, 0)
    shape = (x.shape[0], *values.shape)
    repeated = broadcast(x, shape, (0, *range(2, len(shape)))) if x.shape[0] else x
    return attained(repeated, values, 0)


def _decided(value: Any, undefined: Tracer | None) -> Tracer:
    return array(value if undefined is None else np.where(undefined, np.nan, value))


# ---- median ------------------------------------------------------------------------------------


def _median(name: str, a: Any, axis: Any, out: Any, keepdims: Any, skips_nan: bool) -> Tracer:
    x = array(a)
    axes = normalized_axes(axis, x.ndim)
    if x.type.size == 0:
        return nanmean(x, axis, None, out, keepdims) if skips_nan else mean(x, axis, None, out, keepdims)
    sample = _sample(x, axes, skips_nan)
    count = np.maximum(sample.count, 1)
    middle = np.stack([(count - 1) // 2, count // 2]) if isinstance(count, Tracer) else np.array(
        [(count - 1) // 2, count // 2] if count % 2 == 0 else [count // 2]
    )
    low_high = _read(sample, middle)
    value = mean(low_high, 0)
    if isinstance(count, Tracer):
        value = array(np.where(count % 2 == 1, low_high[0], value))
    value = _decided(value, sample.undefined)
    return stored(name, with_kept(value, x, axes, keepdims), out)
