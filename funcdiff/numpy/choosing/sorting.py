"""Sorting and searching: sorted values have derivatives, positions have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements, refuse
from funcdiff.numpy.border.promotion import array, promote
from funcdiff.numpy.border.values import fact
from funcdiff.numpy.shapes.shape import as_ints, normalize_axis
from funcdiff.ops.axes import sorting as ops
from funcdiff.ops.axes.indexing import gather, take_along
from funcdiff.ops.structure.structural import reshape, reverse


def _array_and_axis(a: Any, axis: Any) -> tuple[Tracer, int]:
    """Return an array and the axis to be ordered: the only one of the flattened array for None."""
    x = array(a)
    if axis is None:
        return reshape(x, (x.type.size,)), 0
    return x, normalize_axis(axis, x.ndim)


def _at_least_row(a: Any) -> Tracer:
    """Return an array, one of no axes as one of a single element: NumPy's rule for positions."""
    x = array(a)
    return x if x.ndim else reshape(x, (1,))


def _algorithm(kind: Any, stable: Any) -> ops.Kind:
    """Return NumPy's algorithm; NumPy itself raises for those that it does not know."""
    np.sort(np.zeros(0), kind=kind, stable=stable)
    if stable or (kind is not None and kind[0] in "mMsS"):
        return "stable"
    return "heapsort" if kind is not None and kind[0] in "hH" else "quicksort"


@implements(np.sort)
def sort(
    a: Tracer, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Tracer:
    """Return a sorted copy; the derivative follows the stable permutation."""
    refuse("np.sort", order=order)
    x, place = _array_and_axis(a, axis)
    return ops.sort(x, place, _algorithm(kind, stable))


@implements(np.argsort)
def argsort(
    a: Tracer, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Tracer:
    """Return the positions that sort."""
    refuse("np.argsort", order=order)
    x, place = _array_and_axis(_at_least_row(a), axis)
    return ops.argsort(x, place, _algorithm(kind, stable))


def _ranks(kth: Any, length: int, kind: str) -> tuple[int, ...]:
    """Return the positions to be put in order; NumPy itself raises for those out of bounds."""
    np.partition(np.zeros(length), kth, kind=kind)  # type: ignore[call-overload]
    return as_ints(kth)


@implements(np.partition)
def partition(
    a: Tracer, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Tracer:
    """Return a partitioned copy; the derivative follows the stable permutation."""
    refuse("np.partition", order=order)
    x, place = _array_and_axis(a, axis)
    return ops.partition(x, place, _ranks(kth, x.shape[place], kind))


@implements(np.argpartition)
def argpartition(
    a: Tracer, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Tracer:
    """Return the positions that partition."""
    refuse("np.argpartition", order=order)
    x, place = _array_and_axis(_at_least_row(a), axis)
    return ops.argpartition(x, place, _ranks(kth, x.shape[place], kind))


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Tracer:
    """Return the positions that sort by several keys, the last one being the first to count."""
    parts = [array(key) for key in keys]
    if not parts:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    place = normalize_axis(axis, parts[0].ndim)
    positions = ops.argsort(parts[0], place)
    for key in parts[1:]:
        refined = ops.argsort(take_along(key, positions, place), place)
        positions = take_along(positions, refined, place)
    return positions


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: ops.Side = "left", sorter: Any = None) -> Tracer:
    """Return the positions at which values belong in a sorted array."""
    np.searchsorted(np.zeros(0), 0, side=side)
    row = array(a)
    if row.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if sorter is not None:
        order = np.zeros(sorter.shape, sorter.dtype) if isinstance(sorter, Tracer) else sorter
        np.searchsorted(np.zeros(row.shape), 0, sorter=order)  # NumPy's own errors
        row = gather(row, [array(sorter)], (0,))
    # a Python number is strong here, unlike in ufuncs
    row, values = promote(row, array(v) if isinstance(v, Tracer) else np.asarray(v))
    return ops.searchsorted(row, values, side)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin of each value; the bins ascend or descend."""
    values, edges = array(x), array(bins)
    if values.dtype.kind == "c":
        raise TypeError("x may not be complex")
    way = fact(bins, _way) if edges.ndim == 1 and edges.type.size > 1 else 1
    # raises NumPy's error for bins that are not monotonic
    np.digitize(0, np.zeros(edges.shape) if way else [0, 1, 0])
    side: ops.Side = "left" if right else "right"
    if way < 0:
        upwards = reverse(edges, (0,))
        return edges.shape[0] - searchsorted(upwards, values, side)
    return searchsorted(edges, values, side)


def _way(bins: Any) -> Any:
    """Return 1 of bins that ascend, -1 of those that descend, and 0 of others, as NumPy does.

    It tells by the first two that are not equal, as those with NaN are not.
    """
    lower, upper = bins[:-1], bins[1:]
    differ = lower != upper
    first = np.argmax(differ)
    ascends = np.where(np.any(lower > upper), 0, 1)
    descends = np.where(np.any(lower < upper), 0, -1)
    found = np.where(lower[first] < upper[first], ascends, descends)
    return np.where(np.any(differ), found, 1)
