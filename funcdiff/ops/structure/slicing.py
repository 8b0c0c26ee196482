"""Slices and windows along axes: taking them, and adding into them, which is the transpose.

Of zeros, `add_slice` pads.  A chain of additions and replacements works in place in one buffer.
Where zeros are cut off by their values, `trimmed` has no derivative by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from funcdiff.core.access import Access, Cut, Label, Labels, pointwise
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, result_type
from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import linear, stand_in, symmetric, write
from funcdiff.space import add, broadcast, kept_axes, reduce_sum, zeros


class Slice(Params):
    """``start:stop:step`` along each axis; 0 <= start <= stop <= length, step >= 1."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def index(self) -> tuple[slice, ...]:
        """The slices as NumPy takes them."""
        return tuple(map(slice, self.starts, self.stops, self.steps))

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many elements are taken along each axis."""
        return tuple([len(r) for r in map(range, self.starts, self.stops, self.steps)])

    @property
    def model(self) -> Slice:
        """The box of the same lengths in the corner."""
        return Slice((0,) * len(self.starts), self.lengths, (1,) * len(self.starts))

    def labels(self, shape: Sequence[int]) -> tuple[Label, ...]:
        """Return the axes of the elements that are taken of an array, with its axes as labels."""
        cuts = zip(shape, self.lengths, self.starts, self.steps, strict=True)
        return tuple([k if n == m else Cut(k, a, s) for k, (n, m, a, s) in enumerate(cuts)])

    def is_apart_from(self, other: Slice) -> bool:
        """Whether no element is surely in both: along an axis, places or remainders differ."""
        for (a, b, step), (c, d, its) in zip(self.ranges, other.ranges, strict=True):
            if b <= c or d <= a or (step == its and (a - c) % step):
                return True
        return False

    @property
    def ranges(self) -> list[tuple[int, int, int]]:
        """Start, stop and step along each axis."""
        return list(zip(self.starts, self.stops, self.steps, strict=True))

    def with_rows(self, count: int) -> Slice:
        """Return the same box of so many rows."""
        return Slice(self.starts, (count, *self.stops[1:]), self.steps)

    def with_batch_axis(self, size: int) -> Slice:
        """Return the same with all of a further axis in front."""
        return Slice((0, *self.starts), (size, *self.stops), (1, *self.steps))


def _abstract_slice(p: Slice, x: ArrayType) -> Types:
    bounds = zip(p.starts, p.stops, p.steps, x.shape, strict=True)
    if not all(0 <= a <= b <= n and step >= 1 for a, b, step, n in bounds):
        raise TypeError(f"slice {p.index} does not fit {x}")
    return (x.with_shape(p.lengths),)


slice_p: Final = linear(
    "slice",
    Slice,
    abstract=_abstract_slice,
    impl=Implementation(lambda p: itemgetter(p.index), view=True),
    transpose=lambda p, types, cts, _xs: [add_slice(zeros(types[0]), cts[0], p)],
    access=lambda p, types: Access((p.labels(types[0].shape),), (tuple(range(types[0].ndim)),)),
    facts=Facts("moved", model=lambda p: p.model),
)


def take_slice(x: Tracer, p: Slice) -> Tracer:
    """Take a box of elements."""
    if p.lengths == x.shape:
        assert result_type(slice_p, p, x) is x.type
        return x
    return bind(slice_p, p, x)[0]


def slice_along(x: Tracer, axis: int, start: int, stop: int, step: int = 1) -> Tracer:
    """Take ``start:stop:step`` along one axis."""
    return take_slice(x, along(x.shape, axis, start, stop, step))


def along(shape: Sequence[int], axis: int, start: int, stop: int, step: int = 1) -> Slice:
    """Return the box of ``start:stop:step`` along one axis, and all along the others."""
    starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], steps[axis] = start, max(start, stop), step
    return Slice(tuple(starts), tuple(stops), tuple(steps))


def _abstract_write(p: Slice, x: ArrayType, u: ArrayType) -> Types:
    if _abstract_slice(p, x) != (u,):
        raise TypeError(f"cannot put {u} into slice {p.index} of {x}")
    return (x,)


def _access_write(p: Slice, types: Types) -> Access:
    whole = tuple(range(types[0].ndim))
    return Access((whole,), (whole, p.labels(types[0].shape)))


def _add_slice_into(p: Slice) -> Callable[..., Any]:
    index = p.index

    def function(x: Any, u: Any) -> Any:
        x[index] += u
        return x

    return function


def _transpose_add_slice(p: Slice, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (x, u) = cts, xs
    return [ct if x is None else None, take_slice(ct, p) if u is None else None]


add_slice_p: Final = write(
    "add_slice",
    Slice,
    abstract=_abstract_write,
    into=_add_slice_into,
    transpose=_transpose_add_slice,
    access=_access_write,
    adds=True,
)


def add_slice(x: Tracer, u: Tracer, p: Slice) -> Tracer:
    """Return `x` with `u` added to a box of its elements; of zeros, this pads `u` with zeros."""
    return bind(add_slice_p, p, x, u)[0]


def _replace_slice_into(p: Slice) -> Callable[..., Any]:
    index = p.index

    def function(x: Any, v: Any) -> Any:
        x[index] = v
        return x

    return function


def _transpose_replace_slice(p: Slice, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (x, v) = cts, xs
    ct_v = take_slice(ct, p) if v is None else None  # read first: then `ct` may be overwritten
    return [replace_slice(ct, zeros(types[1]), p) if x is None else None, ct_v]


replace_slice_p: Final = write(
    "replace_slice",
    Slice,
    abstract=_abstract_write,
    into=_replace_slice_into,
    transpose=_transpose_replace_slice,
    access=_access_write,
)


def replace_slice(x: Tracer, v: Tracer, p: Slice) -> Tracer:
    """Return `x` with a box of its elements replaced by those of `v`."""
    if v.shape == x.shape:
        assert result_type(replace_slice_p, p, x, v) is x.type
        return v
    return bind(replace_slice_p, p, x, v)[0]


# --------------------------------------------------------------------------------------------------
# Windows that slide along an axis, which are views of it, and their sum, which is the transpose.
#
# y[i, …, k] = x[i + k, …]        and        x[j, …] = Σₖ y[j - k, …, k]
#
# Adding up costs as many operations as the windows have elements (overlap-add, as in A. V.
# Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing", section 8.7).


class Window(Params):
    """The axis that windows slide along, and their length; that of a window is the last axis."""

    axis: int
    length: int


def _abstract_windows(p: Window, x: ArrayType) -> Types:
    if not 0 <= p.axis < x.ndim or not 0 <= p.length <= x.shape[p.axis]:
        raise TypeError(f"no window of {p.length} elements slides along axis {p.axis} of {x}")
    places = x.shape[p.axis] - p.length + 1
    return (x.with_shape((*x.shape[: p.axis], places, *x.shape[p.axis + 1 :], p.length)),)


def _abstract_sum(p: Window, y: ArrayType) -> Types:
    if not 0 <= p.axis < y.ndim - 1 or y.shape[-1] != p.length or not y.shape[p.axis]:
        raise TypeError(f"{y} is not made of windows of {p.length} elements along axis {p.axis}")
    *shape, length = y.shape
    shape[p.axis] += length - 1
    return (y.with_shape(tuple(shape)),)


def _labels(p: Window, ndim: int) -> tuple[tuple[Labels], tuple[Labels]]:
    """Return the labels of windows, and of what they slide over."""
    labels = tuple(None if k == p.axis else k for k in range(ndim))
    return ((*labels, None),), (labels,)


def _overlap_add_impl(p: Window) -> Callable[..., Any]:
    def function(y: Any) -> Any:
        shape = [n + p.length - 1 if k == p.axis else n for k, n in enumerate(y.shape[:-1])]
        total = np.zeros(shape, y.dtype)
        windows, x = np.moveaxis(y, p.axis, 0), np.moveaxis(total, p.axis, 0)
        places = len(windows)
        if p.length <= places:
            for k in range(p.length):
                x[k : k + places] += windows[..., k]
        else:
            for k in range(places):
                x[k : k + p.length] += np.moveaxis(windows[k], -1, 0)
        return total

    return function


sliding_windows_p: Final = linear(
    "sliding_windows",
    Window,
    abstract=_abstract_windows,
    impl=Implementation(lambda p: lambda x: sliding_window_view(x, p.length, p.axis), view=True),
    transpose=lambda p, _types, cts, _xs: [overlap_add(cts[0], p.axis)],
    access=lambda p, types: Access(*_labels(p, types[0].ndim)),
    facts=Facts("summed"),
)
overlap_add_p: Final = linear(
    "overlap_add",
    Window,
    abstract=_abstract_sum,
    impl=Implementation(_overlap_add_impl, fresh=True),
    transpose=lambda p, _types, cts, _xs: [sliding_windows(cts[0], p.axis, p.length)],
    access=lambda p, types: Access(*_labels(p, types[0].ndim - 1)[::-1]),
    facts=Facts("summed"),
)


def sliding_windows(x: Tracer, axis: int, length: int) -> Tracer:
    """Return the windows of so many elements along an axis, with their elements along a new one.

    The new axis is the last one; along `axis`, the windows follow each other.
    """
    return bind(sliding_windows_p, Window(axis, length), x)[0]


def overlap_add(y: Tracer, axis: int) -> Tracer:
    """Return the sum of windows that follow each other along an axis, each at its place."""
    return bind(overlap_add_p, Window(axis, y.shape[-1]), y)[0]


# ---- undefined derivatives: the value is zero, and the derivative is nan -------------------------


def _nan_unless_zero(x: Any) -> Any:
    return np.where(x == 0, x, np.asarray(np.nan, x.dtype))[()]


unknown_p: Final = symmetric(
    "unknown",
    Params,
    impl=Implementation(lambda _p: _nan_unless_zero, fresh=True),
    access=pointwise,
)


def unknown(x: Tracer) -> Tracer:
    """Return 0 where `x` is 0, and nan elsewhere."""
    return bind(unknown_p, NONE, x)[0]


# ---- zeros that are cut off ----------------------------------------------------------------------


def _jvp_trimmed(p: Slice, xs: Tracers, ts: Tangents) -> Pushed:
    (x,), (t,) = xs, ts
    assert t is not None
    y, kept = trimmed(x, p), take_slice(t, p)
    cut = tuple(k for k in range(x.ndim) if y.shape[k] < x.shape[k])
    lost = reduce_sum(unknown(replace_slice(t, zeros(kept.type), p)), cut)
    return [y], [add(kept, broadcast(lost, kept.shape, kept_axes(x.ndim, cut)))]


trimmed_p: Final = Primitive(
    "trimmed",
    Slice,
    abstract=slice_p.abstract,
    impl=lambda p: lambda x: x[p.index].copy(),
    jvp=_jvp_trimmed,
)


def trimmed(x: Tracer, p: Slice) -> Tracer:
    """Return a part of an array that is zero elsewhere: its derivative by these zeros is nan."""
    return bind(trimmed_p, p, x)[0]


shortened_p: Final = stand_in(
    "shortened", Params, lambda _p, x, _whole: (x,), lambda _p: lambda x, _whole: x
)


def shortened(x: Tracer, whole: Tracer) -> Tracer:
    """Return `x`, and remember what it would be if nothing had been cut off."""
    return bind(shortened_p, NONE, x, whole)[0]


def slice_of(x: Tracer) -> Slice | None:
    """Return the slice that an array is of another, None if it is made in another way."""
    found = made_by(x, slice_p)
    return found[0] if found else None


def whole_of(x: Tracer) -> Tracer:
    """Return a vector with the zeros in front that were cut off."""
    while True:
        cut, short = made_by(x, trimmed_p), made_by(x, shortened_p)
        if short:
            x = short[1][1]
        elif cut and cut[0].stops == cut[1][0].shape:
            x = cut[1][0]
        else:
            return x
