"""Sorting along an axis, and the order statistics that do not need all of it.

The values are NumPy's own, also where an unstable algorithm leaves equal elements in an order of
its own (-0.0 and 0.0, NaNs).  The derivative takes the stable permutation: of equal elements the
one that comes first in the operand comes first in the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.access import Access, along
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.indexing import scatter_add, take_along
from funcdiff.ops.axes.reductions import mean_of_marked
from funcdiff.ops.elementwise.logic import same
from funcdiff.ops.elementwise.mathematics import reciprocal, sub
from funcdiff.ops.families import constant_op, unary
from funcdiff.ops.structure.structural import Axis, convert, iota, permute
from funcdiff.space import broadcast, mul, same_types, zeros

Kind: TypeAlias = Literal["quicksort", "heapsort", "stable"]
Side: TypeAlias = Literal["left", "right"]


class Sorting(Params):
    """The axis that is put in order, and NumPy's name of the algorithm."""

    axis: int
    kind: Kind


class Partition(Params):
    """The axis that is partitioned, and the positions that get their element of full order."""

    axis: int
    kth: tuple[int, ...]


P = TypeVar("P", Sorting, Partition)


def _abstract_values(p: Sorting | Partition, x: ArrayType) -> Types:
    if not 0 <= p.axis < x.ndim:
        raise TypeError(f"cannot order {x} along axis {p.axis}")
    return (x,)


def _abstract_positions(p: Sorting | Partition, x: ArrayType) -> Types:
    return (_abstract_values(p, x)[0].with_dtype(INT),)


def _values(name: str, params: type[P], impl: Callable[[P], Callable[..., Any]]) -> Primitive[P]:
    """Declare an operation that moves elements along an axis according to their order."""
    return unary(
        name,
        params,
        abstract=_abstract_values,
        impl=impl,
        tangent=lambda p, x, y, t: take_along(t, _origins(x, y, p), p.axis),
        access=along,
    )


def _positions(name: str, params: type[P], impl: Callable[[P], Callable[..., Any]]) -> Primitive[P]:
    """Declare an operation that says where the elements in order are; int64."""
    primitive: Primitive[P] = constant_op(
        name, params, abstract=_abstract_positions, impl=impl, access=along
    )
    return primitive


def _origins(x: Tracer, y: Tracer, p: Sorting | Partition) -> Tracer:
    """Return the stable permutation that carries `x` to its rearrangement `y`."""
    if isinstance(p, Sorting):
        return argsort(x, p.axis)
    return origins(x, y, p.axis)


def _stably_sorted(x: Any, axis: int) -> Any:
    """Return the stable permutation that sorts; without equal elements there is only one.

    NumPy finds that faster by its unstable algorithm.
    """
    if x.dtype.kind == "f":
        order = np.argsort(x, axis=axis)
        y = np.moveaxis(np.take_along_axis(x, order, axis), axis, 0)
        tied = np.any(y[1:] == y[:-1]) or np.any(np.isnan(y[-2:]).all(axis=0))
        if not tied:
            return order
    return np.argsort(x, axis=axis, kind="stable")


def _argsort_impl(p: Sorting) -> Callable[..., Any]:
    if p.kind == "stable":
        return partial(_stably_sorted, axis=p.axis)
    return lambda x: np.argsort(x, axis=p.axis, kind=p.kind)


def _origins_impl(p: Axis) -> Callable[..., Any]:
    """Match elements of equal rank: that of rank r stands at ``argsort(x)[r]``, and in y alike.

    Hashing the elements, which takes linear time, is no faster up to millions of them.
    """

    def function(x: Any, y: Any) -> Any:
        origins = np.empty(x.shape, INT)
        ranked, sources = (_stably_sorted(z, p.axis) for z in (y, x))
        np.put_along_axis(origins, ranked, sources, p.axis)
        return origins

    return function


sort_p: Final = _values("sort", Sorting, lambda p: lambda x: np.sort(x, axis=p.axis, kind=p.kind))
partition_p: Final = _values(
    "partition", Partition, lambda p: lambda x: np.partition(x, p.kth, axis=p.axis)
)
argsort_p: Final = _positions("argsort", Sorting, _argsort_impl)
argpartition_p: Final = _positions(
    "argpartition", Partition, lambda p: lambda x: np.argpartition(x, p.kth, axis=p.axis)
)


origins_p: Final = constant_op(
    "origins",
    Axis,
    abstract=lambda _p, x, y: (same_types(NONE, x, y)[0].with_dtype(INT),),
    impl=_origins_impl,
    access=along,
)


def sort(x: Tracer, axis: int, kind: Kind = "stable") -> Tracer:
    """Put the elements in ascending order along an axis; NaNs come last."""
    return bind(sort_p, Sorting(axis, kind), x)[0]


def argsort(x: Tracer, axis: int, kind: Kind = "stable") -> Tracer:
    """Return the positions of the elements in ascending order along an axis, int64."""
    return bind(argsort_p, Sorting(axis, kind), x)[0]


def partition(x: Tracer, axis: int, kth: tuple[int, ...]) -> Tracer:
    """Put the elements at positions `kth` in their place, smaller ones before, larger behind."""
    return bind(partition_p, Partition(axis, kth), x)[0]


def argpartition(x: Tracer, axis: int, kth: tuple[int, ...]) -> Tracer:
    """Return the positions of the elements of NumPy's partition along an axis, int64."""
    return bind(argpartition_p, Partition(axis, kth), x)[0]


def origins(x: Tracer, y: Tracer, axis: int) -> Tracer:
    """Return where in `x` the elements of its rearrangement `y` come from, int64.

    Equal elements keep their order.
    """
    return bind(origins_p, Axis(axis), x, y)[0]


# ---- positions in a sorted array -------------------------------------------------------------


class Search(Params):
    """Whether a value equal to elements goes before them (``"left"``) or behind (``"right"``)."""

    side: Side


def _abstract_search(p: Search, a: ArrayType, v: ArrayType) -> Types:
    depth = a.ndim - 1
    if depth < 0 or a.dtype != v.dtype or a.shape[:depth] != v.shape[:depth]:
        raise TypeError(f"cannot search {a} for {v}")
    return (v.with_dtype(INT),)


def _search_impl(p: Search) -> Callable[..., Any]:
    def function(a: Any, v: Any) -> Any:
        if a.ndim == 1:
            return np.searchsorted(a, v, side=p.side)
        found = np.empty(v.shape, INT)
        for row in np.ndindex(a.shape[:-1]):
            found[row] = np.searchsorted(a[row], v[row], side=p.side)
        return found

    return function


searchsorted_p: Final[Primitive[Search]] = constant_op(
    "searchsorted",
    Search,
    abstract=_abstract_search,
    impl=_search_impl,
    access=lambda _p, types: Access(
        (tuple(range(types[1].ndim)),),
        ((*range(types[0].ndim - 1), None), tuple(range(types[1].ndim))),
    ),
)


def searchsorted(a: Tracer, v: Tracer, side: Side) -> Tracer:
    """Return where in `a`, ascending along its last axis, values belong, int64.

    All axes of `a` but the last are batch axes, which `v` has in front, too.
    """
    return bind(searchsorted_p, Search(side), a, v)[0]


# --------------------------------------------------------------------------------------------------
# Order statistics: the entries along an axis that would stand at given positions if sorted.
#
# The derivative of one is that of the entries equal to it, in equal shares, as for the maximum.
# Neither takes longer than it has to: few are found by partitioning, in linear time, many by
# sorting.


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
    "order_statistics", Axis, abstract=_abstract, impl=_impl, jvp=_jvp, access=along
)


def order_statistics(x: Tracer, positions: Tracer, axis: int) -> Tracer:
    """Return the entries of `x` that stand at `positions` when it is sorted along an axis.

    The positions have the shape of the result: that of `x` but along the axis.
    """
    return bind(order_statistics_p, Axis(axis), x, positions)[0]
