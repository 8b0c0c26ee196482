"""Sorting along an axis: sorted values follow a permutation, positions have no derivative.

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
from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, Params, Primitive, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.indexing import take_along
from funcdiff.ops.families import constant_op, unary
from funcdiff.ops.structure.structural import Axis
from funcdiff.space import same_types

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


sort_p: Final = _values(
    "sort",
    Sorting,
    lambda p: lambda x: np.sort(x, axis=p.axis, kind=p.kind),
)
partition_p: Final = _values(
    "partition", Partition, lambda p: lambda x: np.partition(x, p.kth, axis=p.axis)
)
argsort_p: Final = _positions(
    "argsort",
    Sorting,
    _argsort_impl,
)
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
