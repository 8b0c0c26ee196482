"""Sorting, searching and sets: sorted values have derivatives, positions have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.dispatch import implements, refuse
from funcdiff.numpy.border.masks import true_places
from funcdiff.numpy.border.promotion import array, promote
from funcdiff.numpy.border.values import fact, value_of
from funcdiff.numpy.shapes.shape import as_ints, normalize_axis, ravel
from funcdiff.ops.axes import sorting as ops
from funcdiff.ops.axes.indexing import gather, take_along
from funcdiff.ops.structure.structural import reshape, reverse, stop_gradient


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


# ---- distinct elements -------------------------------------------------------------------------


# --------------------------------------------------------------------------------------------------
# Arrays as sets.  How many elements a set has depends on the values, which count as constant.
#
# Of equal elements, the derivative belongs to the one that NumPy returns: the first one, and that
# of the first array where there are two.


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: Any = True,
) -> Any:
    """Return the distinct elements; ``sorted=False`` leaves them in NumPy's order."""
    x: Any = array(ar)
    flags = (return_index, return_inverse, return_counts)
    try:
        value = np.reshape(value_of(ar), x.shape)
    except ConcreteValueError:
        if axis is not None or not sorted or x.type.size == 0:
            raise
        _, index, inverse, counts = _unique_of_traced(x, equal_nan=equal_nan)
    else:
        if not (sorted or any(flags) or axis is not None):
            found = np.unique(value, equal_nan=equal_nan, sorted=sorted)
            return _in_order_of(x, value, found, equal_nan=equal_nan)
        _, index, inverse, counts = np.unique(value, True, True, True, axis, equal_nan=equal_nan)
    place = 0 if axis is None else normalize_axis(axis, x.ndim)
    elements: Any = ravel(x) if axis is None else x
    parts = [elements[(*(slice(None),) * place, index)]]
    parts += [part for flag, part in zip(flags, (index, inverse, counts), strict=True) if flag]
    return tuple(parts) if len(parts) > 1 else parts[0]


def _unique_of_traced(x: Any, *, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    """Return what `numpy.unique` does, where it is decided how many distinct elements there are."""
    flat: Any = stop_gradient(ravel(x))
    order: Any = np.argsort(flat, kind="stable")
    found = flat[order]
    differs = found[1:] != found[:-1]
    if equal_nan and x.dtype.kind in "fc":
        differs = differs & ~(np.isnan(found[1:]) & np.isnan(found[:-1]))
    begins: Any = np.concatenate([np.ones(1, BOOL), differs])
    starts: Any = true_places(begins)[0]
    inverse = np.zeros_like(order)
    inverse[order] = np.cumsum(begins) - 1
    counts = np.diff(np.concatenate([starts, np.array([order.size])]))
    return found[starts], order[starts], np.reshape(inverse, x.shape), counts


def _in_order_of(x: Tracer, value: Any, found: Any, *, equal_nan: bool) -> Any:
    """Return the distinct elements of an array in the order in which NumPy found them."""
    _, index = np.unique(value, True, equal_nan=equal_nan)
    places = np.empty_like(index)
    places[np.argsort(found, kind="stable")] = index
    elements: Any = ravel(x)
    return elements[places]


# ---- two sets ----------------------------------------------------------------------------------


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Return which elements are among the test elements, found by binary search.

    That arrays are unique, and `kind`, make NumPy faster and change nothing.
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'")
    x, tests = promote(element, test_elements)
    if kind == "table" and x.type.differentiable:
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays, "
            f"at {user_location()}. Leave kind out."
        )
    if tests.type.size == 0:
        return np.full(x.shape, invert)
    points: Any = stop_gradient(x)
    ordered: Any = sort(ravel(stop_gradient(tests)))
    places = np.minimum(np.searchsorted(ordered, points), tests.type.size - 1)
    return ordered[places] != points if invert else ordered[places] == points
