"""Where in an array the elements of a view of it are, worked out from address and strides.

Both are arrays that nobody ever fills: memory that is not touched costs nothing, and NumPy itself
says what a view of a view is.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.axes.indexing import gather, scatter
from funcdiff.ops.elementwise.complex import imag, join, real
from funcdiff.ops.structure.slicing import Slice, replace_slice, take_slice
from funcdiff.ops.structure.structural import inverse, permute, reshape, reverse
from funcdiff.space import kept_axes

NDArray: TypeAlias = np.ndarray[Any, Any]


class Box(NamedTuple):
    """A view that is a slice with its axes reversed, permuted, dropped or inserted.

    Attributes
    ----------
    cut
        The slice.
    reversed_axes
        Axes of the slice along which the view runs backwards.
    axes
        For each axis of the view that is longer than 1, the axis of the slice.
    shape
        Shape of the view.
    """

    cut: Slice
    reversed_axes: tuple[int, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        part = reverse(take_slice(x, self.cut), self.reversed_axes)
        return reshape(permute(part, self._order), self.shape)

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        lengths = self.cut.lengths
        part = reshape(v, tuple(lengths[axis] for axis in self._order))
        part = reverse(permute(part, inverse(self._order)), self.reversed_axes)
        return replace_slice(x, part, self.cut)

    @property
    def _order(self) -> tuple[int, ...]:
        return (*self.axes, *kept_axes(len(self.cut.starts), self.axes))


class Flat(NamedTuple):
    """A view that is a box of the flattened array, in C order."""

    box: Box

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        return self.box.get(reshape(x, (x.type.size,)))

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        return reshape(self.box.replace(reshape(x, (x.type.size,)), v), x.shape)


class Scattered(NamedTuple):
    """Any other view: the index of each of its elements along each axis of the array."""

    places: tuple[NDArray, ...]

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        return gather(x, list(map(array, self.places)), tuple(range(x.ndim)))

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        return scatter(x, v, list(map(array, self.places)), tuple(range(x.ndim)), distinct=True)


def replace_elements(x: Tracer, whole: NDArray, view: NDArray, v: Tracer) -> Tracer:
    """Return `x` with `v` in place of the elements of a view.

    `whole` and `view` are arrays laid out like `x` and the view, which may be one of its real or
    imaginary part; `v` has the shape and dtype of the view.
    """
    if view.size == 0:
        return x
    offset = _address(view) - _address(whole)
    region = _region(whole, view, offset - offset % whole.itemsize)
    if view.itemsize == whole.itemsize:
        return region.replace(x, v)
    before = region.get(x)
    is_imaginary = offset % whole.itemsize > 0
    pair = (real(before), v) if is_imaginary else (v, imag(before))
    return region.replace(x, join(*pair))


def _address(a: NDArray) -> int:
    address: int = a.__array_interface__["data"][0]
    return address


def _region(whole: NDArray, view: NDArray, offset: int) -> Box | Flat | Scattered:
    box = _box(whole.shape, whole.strides, view, offset)
    if box is not None:
        return box
    if whole.flags.c_contiguous:
        box = _box((whole.size,), (whole.itemsize,), view, offset)
        if box is not None:
            return Flat(box)
    positions = np.full(view.shape, offset // whole.itemsize)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        along = tuple(n if k == axis else 1 for k in range(view.ndim))
        positions = positions + np.arange(n).reshape(along) * (stride // whole.itemsize)
    steps = [stride // whole.itemsize for stride in whole.strides]
    places = [np.zeros_like(positions) for _ in steps]
    for axis in sorted(range(whole.ndim), key=lambda axis: -steps[axis]):
        if whole.shape[axis] > 1:
            places[axis], positions = np.divmod(positions, steps[axis])
    return Scattered(tuple(places))


def _box(
    shape: tuple[int, ...], strides: tuple[int, ...], view: NDArray, offset: int
) -> Box | None:
    """Return the view as a box of an array of a given shape without gaps, None if it is none."""
    ends = [(n - 1) * stride for n, stride in zip(view.shape, view.strides, strict=True)]
    offset += sum(min(end, 0) for end in ends)
    long_axes = [axis for axis, n in enumerate(shape) if n > 1]
    long_axes.sort(key=lambda axis: -strides[axis])
    starts = [0] * len(shape)
    for axis in long_axes:
        starts[axis], offset = divmod(offset, strides[axis])
    stops, steps = [start + 1 for start in starts], [1] * len(shape)
    axes: list[int] = []
    backwards = []
    for n, stride in zip(view.shape, view.strides, strict=True):
        if n == 1:
            continue
        fitting = [k for k in long_axes if not stride % strides[k] and k not in axes]
        if not fitting or stride == 0:
            return None
        axis = fitting[0]
        steps[axis] = abs(stride) // strides[axis]
        stops[axis] += (n - 1) * steps[axis]
        if stops[axis] > shape[axis]:
            return None
        axes.append(axis)
        if stride < 0:
            backwards.append(axis)
    cut = Slice(tuple(starts), tuple(stops), tuple(steps))
    return Box(cut, tuple(sorted(backwards)), tuple(axes), view.shape)
