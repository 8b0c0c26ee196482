"""Order statistics: the entries along an axis that would stand at given positions if sorted.

The derivative of one is that of the entries equal to it, in equal shares, as for the maximum.
Neither takes longer than it has to: few are found by partitioning, in linear time, many by
sorting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along
from funcdiff.core.builder import bind
from funcdiff.core.primitive import Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.indexing import scatter_add, take_along
from funcdiff.ops.axes.reductions import mean_of_marked
from funcdiff.ops.axes.sorting import argsort, searchsorted
from funcdiff.ops.elementwise.logic import same
from funcdiff.ops.elementwise.mathematics import reciprocal, sub
from funcdiff.ops.structure.structural import Axis, convert, iota, permute
from funcdiff.space import broadcast, mul, zeros

_FEW: Final = 16
"""Positions up to which every entry is compared with every value rather than sorted."""


def _abstract(p: Axis, x: ArrayType, positions: ArrayType) -> Types:
    count = positions.shape[p.axis] if p.axis < positions.ndim else 0
    shape = (*x.shape[: p.axis], count, *x.shape[p.axis + 1 :])
    if positions.dtype.kind not in "iu" or positions.shape != shape:
        raise TypeError(f"cannot read {x}, sorted along axis {p.axis}, at {positions}")
    return (x.with_shape(shape),)


def _impl(p: Axis) -> Callable[..., Any]:
    def function(x: Any, positions: Any) -> Any:
        wanted = np.unique(positions)
        few = wanted.size < x.shape[p.axis].bit_length()
        ordered = _partition(x, wanted, p.axis) if few else np.sort(x, axis=p.axis)
        return np.take_along_axis(ordered, positions, p.axis)

    return function


def _partition(x: Any, positions: Any, axis: int) -> Any:
    """Put entries at ascending positions in their place, one after the other.

    NumPy is several times slower when it is asked for more than one.
    """
    y = np.array(x, order="C")
    rest, start = np.moveaxis(y, axis, 0), 0
    for position in positions:
        rest[start:].partition(position - start, axis=0)
        start = position + 1
    return y


def _jvp(p: Axis, xs: Tracers, ts: Tangents) -> Pushed:
    (x, positions), t = xs, ts[0]
    y = order_statistics(x, positions, p.axis)
    if t is None:
        return [y], [None]
    last = x.ndim - 1
    there = (*(k for k in range(x.ndim) if k != p.axis), p.axis)
    back = (*range(p.axis), last, *range(p.axis, last))
    share = _share_by_comparing if y.shape[p.axis] <= _FEW else _share_by_sorting
    return [y], [permute(share(*(permute(z, there) for z in (x, y, t))), back)]


def _share_by_comparing(x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """Return the mean of `t` where `x` is equal to each element of `y`, along the last axis."""
    last = x.ndim - 1
    shape = (*y.shape, x.shape[last])
    entries, tangents = (broadcast(z, shape, (*range(last), last + 1)) for z in (x, t))
    values = broadcast(y, shape, tuple(range(x.ndim)))
    return mean_of_marked(tangents, same(entries, values), (last + 1,))


def _share_by_sorting(x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """Return the same: sums over equal entries are kept where, in order, the first of them is."""
    last = x.ndim - 1
    order = argsort(x, last, "quicksort")
    ordered = take_along(x, order, last)
    first = searchsorted(ordered, ordered, "left")
    places = [first if k == last else iota(x.shape, k) for k in range(x.ndim)]
    tangents = take_along(t, order, last)
    sums = scatter_add(zeros(t.type), tangents, places, tuple(range(x.ndim)))
    start, stop = (searchsorted(ordered, y, side) for side in ("left", "right"))
    share = reciprocal(convert(sub(stop, start), t.dtype))
    return mul(take_along(sums, start, last), share)


order_statistics_p: Final = Primitive(
    "order_statistics",
    Axis,
    abstract=_abstract,
    impl=_impl,
    jvp=_jvp,
    access=along,
)


def order_statistics(x: Tracer, positions: Tracer, axis: int) -> Tracer:
    """Return the entries of `x` that stand at `positions` when it is sorted along an axis.

    The positions have the shape of the result: that of `x` but along the axis.
    """
    return bind(order_statistics_p, Axis(axis), x, positions)[0]
