"""Gather and scatter: reading, accumulating and writing at positions given by integer arrays.

``gather(x, i, j)`` with ``axes=(0, 2)`` is ``x[i, :, j]`` with the indices' axes in front.
Positions may repeat and, as in NumPy, be negative; out of bounds is an IndexError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.access import Access, Labels
from funcdiff.core.implementation import Implementation, Variant, add_at, axes_first, take_rows
from funcdiff.core.primitive import Facts, Params, Primitive, Tangents, Tracers, Types, shifted
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.ops.families import constant_op, linear, several, write
from funcdiff.ops.structure.structural import iota, permute, select
from funcdiff.space import align, broadcast, kept_axes, zeros


class Indexed(Params):
    """The axes that are indexed, ascending; one index array each."""

    axes: tuple[int, ...]


P = TypeVar("P", bound=Indexed)


def _abstract_gather(p: Indexed, x: ArrayType, *indices: ArrayType) -> Types:
    fits = (
        len(indices) == len(p.axes) > 0
        and sorted(set(p.axes)) == list(p.axes)
        and p.axes[-1] < x.ndim
        and all(i.dtype.kind in "iu" and i.shape == indices[0].shape for i in indices)
    )
    if not fits:
        raise TypeError(f"cannot index {x} along axes {p.axes} by {indices}")
    rest = tuple(x.shape[axis] for axis in kept_axes(x.ndim, p.axes))
    return (x.with_shape((*indices[0].shape, *rest)),)


def _gather_impl(p: Indexed) -> Any:
    if p.axes == (0,):
        return take_rows

    def function(x: Any, *indices: Any) -> Any:
        y = axes_first(x, p.axes)[indices]
        # NumPy's scalars, unlike its arrays, make a view
        return y if np.ndim(indices[0]) or not np.ndim(y) else y.copy()

    return function


def _scatter_into(p: Indexed) -> Any:
    def function(x: Any, updates: Any, *indices: Any) -> Any:
        add_at(x, p.axes, indices, updates)
        return x

    return function


def _gather_transpose(p: Indexed, types: Types, cts: Sequence[Any], xs: Sequence[Any]) -> Tangents:
    _, *indices = xs
    return [scatter_add(zeros(types[0]), cts[0], indices, p.axes), *(None for _ in indices)]


def _gather_batch(p: Indexed, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    x, *indices = xs
    if not any(batched[1:]):
        inner = indices[0].ndim
        y = gather(x, indices, tuple(axis + 1 for axis in p.axes))
        return [permute(y, (inner, *range(inner), *range(inner + 1, y.ndim)))]
    indices = align(size, indices, batched[1:])
    if not batched[0]:
        return [gather(x, indices, p.axes)]
    rows = iota(indices[0].shape, 0)
    return [gather(x, [rows, *indices], (0, *(axis + 1 for axis in p.axes)))]


def _labels(p: Indexed, types: Types, index: ArrayType) -> tuple[Labels, Labels, Labels]:
    """Return the labels of an array that is indexed, of its elements in order, and of positions."""
    whole = tuple([None if k in p.axes else k for k in range(types[0].ndim)])
    positions = tuple([types[0].ndim + k for k in range(index.ndim)])
    return whole, (*positions, *(k for k in whole if k is not None)), positions


def _access_gather(p: Indexed, types: Types) -> Access:
    whole, taken, positions = _labels(p, types, types[1])
    return Access((taken,), (whole, *(positions for _ in types[1:])))


gather_p: Final = linear(
    "gather",
    Indexed,
    abstract=_abstract_gather,
    impl=Implementation(_gather_impl, fresh=True),
    transpose=_gather_transpose,
    batch=_gather_batch,
    operands=slice(1),
    access=_access_gather,
    facts=Facts("summed"),
)


def gather(x: Tracer, indices: Tracers, axes: tuple[int, ...]) -> Tracer:
    """Read the elements at positions `indices` along `axes`; the indices' axes come first."""
    return bind(gather_p, Indexed(axes), x, *indices)[0]


def _abstract_write(p: Indexed, x: ArrayType, u: ArrayType, *indices: ArrayType) -> Types:
    if _abstract_gather(p, x, *indices) != (u,):
        raise TypeError(f"cannot put {u} into {x} along axes {p.axes} at {indices}")
    return (x,)


def _access_write(p: Indexed, types: Types) -> Access:
    """Say that all positions may be one."""
    whole, _, positions = _labels(p, types, types[2])
    mixed = tuple([None for _ in positions])
    kept = tuple([k for k in whole if k is not None])
    return Access((whole,), (whole, (*mixed, *kept), *(mixed for _ in types[2:])))


def _scatter_transpose(
    p: Indexed, _types: Types, cts: Sequence[Any], xs: Sequence[Any]
) -> Tangents:
    (ct,), (x, u, *indices) = cts, xs
    return [
        ct if x is None else None,
        gather(ct, indices, p.axes) if u is None else None,
        *(None for _ in indices),
    ]


def _write(
    name: str,
    params: type[P],
    into: Variant,
    transpose: Callable[..., Tangents],
    *,
    adds: bool = False,
) -> Primitive[P]:
    """Declare what writes at positions."""

    def batch(p: P, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
        axes = shifted(p.axes)
        x, u = align(size, xs[:2], batched[:2])
        indices = xs[2:]
        if adds or any(batched[2:]):  # sums are faster row by row
            indices = align(size, indices, batched[2:])
            indices, axes = [iota(indices[0].shape, 0), *indices], (0, *axes)
        else:
            inner = indices[0].ndim
            u = permute(u, (*range(1, inner + 1), 0, *range(inner + 1, u.ndim)))
        return bind(primitive, replace(p, axes=axes), x, u, *indices)

    primitive = write(
        name,
        params,
        abstract=_abstract_write,
        into=into,
        transpose=transpose,
        batch=batch,
        access=_access_write,
        adds=adds,
    )
    return primitive


scatter_add_p: Final = _write("scatter_add", Indexed, _scatter_into, _scatter_transpose, adds=True)


def scatter_add(x: Tracer, updates: Tracer, indices: Tracers, axes: tuple[int, ...]) -> Tracer:
    """Return `x` with `updates` added at positions `indices`, repeated ones accumulating."""
    return bind(scatter_add_p, Indexed(axes), x, updates, *indices)[0]


# ---- writing -------------------------------------------------------------------------------------


class Written(Indexed):
    """Also whether no position repeats."""

    distinct: bool


def _write_into(p: Written) -> Any:
    def function(x: Any, v: Any, *indices: Any) -> Any:
        if not p.distinct:  # NumPy visits the positions in the order in which they lie in memory
            v, indices = np.array(v, order="C"), tuple(np.array(i, order="C") for i in indices)
        axes_first(x, p.axes)[indices] = v
        return x

    return function


def _scatter_set_transpose(
    p: Written, types: Types, cts: Sequence[Any], xs: Sequence[Any]
) -> Tangents:
    (ct,), (x, v, *indices) = cts, xs
    ct_x = ct_v = None
    if v is None:
        ct_v = gather(ct, indices, p.axes)
        if not p.distinct:  # what was written over has no influence
            kept = last_writes(indices, tuple(types[0].shape[axis] for axis in p.axes))
            mask = broadcast(kept, ct_v.shape, tuple(range(kept.ndim)))
            ct_v = select(mask, ct_v, zeros(ct_v.type))
    if x is None:  # last: then `ct` may be overwritten
        ct_x = scatter(ct, zeros(types[1]), indices, p.axes, distinct=True)
    return [ct_x, ct_v, *(None for _ in indices)]


scatter_p: Final = _write("scatter", Written, _write_into, _scatter_set_transpose)


def scatter(
    x: Tracer, v: Tracer, indices: Tracers, axes: tuple[int, ...], *, distinct: bool
) -> Tracer:
    """Return `x` with `v` put at positions `indices`; of one that repeats, the last wins."""
    return bind(scatter_p, Written(axes, distinct), x, v, *indices)[0]


class Lengths(Params):
    """The lengths of the axes that are indexed."""

    lengths: tuple[int, ...]


def _last_writes_impl(p: Lengths) -> Any:
    def function(*indices: Any) -> Any:
        wide = [np.asarray(i, np.intp) for i in indices]
        wrapped = [np.where(i < 0, i + n, i) for i, n in zip(wide, p.lengths, strict=True)]
        flat = np.ravel(np.ravel_multi_index(wrapped, p.lengths))
        mask = np.zeros(flat.size, np.bool_)
        mask[flat.size - 1 - np.unique(flat[::-1], return_index=True)[1]] = True
        return mask.reshape(np.shape(indices[0]))[()]

    return function


def _last_writes_batch(p: Lengths, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    indices = align(size, xs, batched)
    return [last_writes([iota(indices[0].shape, 0), *indices], (size, *p.lengths))]


last_writes_p: Final = constant_op(
    "last_writes",
    Lengths,
    abstract=lambda p, *indices: (indices[0].with_dtype(BOOL),),
    impl=_last_writes_impl,
    batch=_last_writes_batch,
)


def last_writes(indices: Tracers, lengths: tuple[int, ...]) -> Tracer:
    """Return for each position whether it does not come again later, in C order."""
    return bind(last_writes_p, Lengths(lengths), *indices)[0]


# ---- along an axis -------------------------------------------------------------------------------


def take_along(x: Tracer, positions: Tracer, axis: int) -> Tracer:
    """Read ``x`` at `positions` (of the shape of the result) along one axis."""
    shape = positions.shape
    indices = [positions if k == axis else iota(shape, k) for k in range(x.ndim)]
    return gather(x, indices, tuple(range(x.ndim)))


def spread(x: Tracer, axis: int, size: int) -> Tracer:
    """Insert an axis of the given length, repeating `x`."""
    shape = (*x.shape[:axis], size, *x.shape[axis:])
    return broadcast(x, shape, tuple(k for k in range(len(shape)) if k != axis))


# ---- where booleans are true -----------------------------------------------------------------


class Count(Params):
    """How many elements are true, in each part of the leading axes."""

    count: int
    leading: int = 0

    def with_batch_axis(self, size: int) -> Count:  # noqa: ARG002
        """Return the same for parts along one more axis."""
        return replace(self, leading=self.leading + 1)


def _abstract_places(p: Count, mask: ArrayType) -> Types:
    lead, rest = mask.shape[: p.leading], mask.shape[p.leading :]
    if mask.dtype != BOOL or not rest or not 0 <= p.count <= prod(rest):
        raise TypeError(f"cannot find {p.count} true elements in {mask}")
    return (ArrayType((*lead, p.count), INT),) * len(rest)


def _places(p: Count) -> Callable[..., Any]:
    def places(mask: np.ndarray[Any, Any]) -> list[Any]:
        lead = mask.shape[: p.leading]
        counts = np.count_nonzero(mask, axis=tuple(range(p.leading, mask.ndim)))
        if np.any(counts != p.count):
            raise ValueError(f"{counts} elements of a mask are true where {p.count} were expected")
        return [x.reshape(*lead, p.count) for x in np.nonzero(mask)[p.leading :]]

    return several(places)


places_p: Final = constant_op("places", Count, abstract=_abstract_places, impl=_places)
"""Where a mask is true, which it is as often as the parameter says: positions along each axis."""


def places(mask: Tracer, count: int) -> Tracers:
    """Return the positions of the true elements along each axis, of which there are `count`."""
    return bind(places_p, Count(count), mask)
