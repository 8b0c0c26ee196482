"""Where in memory elements of arrays and views are, worked out from address and strides.

An equation is evaluated by NumPy itself, which lays the result out as it does in the user's code.
But an identity in our programs may be a copy in another order there, or written over an array that
has a layout: of these a note is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import count
from math import isqrt
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.primitive import Primitive
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.running.walk import maker
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.axes.indexing import gather, gather_p, scatter, scatter_add_p, scatter_p
from funcdiff.ops.elementwise.complex import imag, join, real
from funcdiff.ops.products.contract import contract_p
from funcdiff.ops.structure.slicing import Slice, replace_slice, take_slice
from funcdiff.ops.structure.structural import (
    concatenate_p,
    inverse,
    permute,
    permute_p,
    reshape,
    reshape_p,
    reverse,
    reverse_p,
    select_p,
)
from funcdiff.space import kept_axes

# ---- Where in an array the elements of a view of it are, worked out from address and strides -----
#
# Both are arrays that nobody ever fills: memory that is not touched costs nothing, and NumPy itself
# says what a view of a view is.


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
    backwards = tuple(axis for axis, stride in enumerate(whole.strides) if stride < 0)
    if backwards:
        turned = replace_elements(reverse(x, backwards), np.flip(whole, backwards), view, v)
        return reverse(turned, backwards)
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


def layout_like(a: NDArray, dtype: Any) -> NDArray | None:
    """Return an array without content, with the gaps and reversed axes of another.

    A gap is rounded up to whole elements.  None if elements of the other overlap.
    """
    if a.size < 2:
        return np.empty(a.shape, dtype)
    steps = [
        -(-abs(stride) // a.itemsize) if n > 1 else 0
        for stride, n in zip(a.strides, a.shape, strict=True)
    ]
    end = 1  # how far elements reach along the axes so far
    for step, n in sorted(zip(steps, a.shape, strict=True)):
        if n > 1 and step < end:
            return None
        end += (n - 1) * step
    size = np.dtype(dtype).itemsize
    strides = [
        -step * size if stride < 0 else step * size
        for step, stride in zip(steps, a.strides, strict=True)
    ]
    first = sum((n - 1) * -min(s, 0) for s, n in zip(strides, a.shape, strict=True))
    return np.ndarray(a.shape, dtype, np.empty(end, dtype).data, first, strides)


def with_gaps(type_: ArrayType) -> NDArray:
    """Return an array without content whose views are views whatever the layout.

    The strides of two axes have a prime number above the length as their ratio: however slices are
    taken of it, no two axes can be made one, and no axis is contiguous.
    """
    spread = np.empty([*map(_prime_above, type_.shape), 2], type_.dtype)[..., 0]
    whole: NDArray = spread[tuple(map(slice, type_.shape))]
    return whole


def _prime_above(n: int) -> int:
    return next(p for p in count(n + 1) if all(p % d for d in range(2, isqrt(p) + 1)))


Noted: TypeAlias = Callable[[Any, ArrayType], "NDArray | None"]
"""Returns an array laid out as a note has it, None if that is not known."""


def note_layout(x: Tracer, note: Any) -> None:
    """Note that NumPy's array has that layout from now on, whatever that of our value."""
    builder = x.builder or current_builder()  # a literal is of no builder
    if builder is not None:
        builder.layouts.append((x.atom, len(builder.entries), note))


_LAID_OUT_OTHERWISE: Final[tuple[Primitive[Any], ...]] = (
    gather_p, scatter_add_p, scatter_p, concatenate_p, select_p, contract_p, permute_p, reverse_p,
    reshape_p,
)  # fmt: skip
"""Operations of which NumPy functions are made that may lay their result out in another way."""


def layout_of_value(x: Tracer, noted: Noted) -> NDArray | None:
    """Return an array laid out as the value, None if NumPy's may lie in another way.

    `noted` gives the layouts of which there is a note (see `note_layout`).
    """
    if x.type.size < 2:  # which lies in memory in one way
        return np.empty(x.shape, x.dtype)
    if x.builder is None:
        return None if _literals_differ(noted) else np.empty(x.shape, x.dtype)
    head = maker(x)
    if head is not None and head.primitive in _LAID_OUT_OTHERWISE:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.empty_like(x.builder.value(x.atom))
            if value.shape != x.shape:  # that of a whole batch
                return None
            return value if _lies_as_numpys(x.builder, x.atom, noted) else None
    except ConcreteValueError:
        return None


def _literals_differ(noted: Noted) -> bool:
    """Whether any constant array may lie otherwise than in C order: it may have become another."""
    builder = current_builder()
    return builder is not None and any(
        _differs(np.empty(atom.type.shape, atom.type.dtype), note, noted)
        for atom, _, note in builder.layouts
        if isinstance(atom, Literal)
    )


def _lies_as_numpys(builder: Recorder, atom: Ref, noted: Noted) -> bool:
    """Return whether our values of all that an array is computed from lie in memory as NumPy's.

    Of a copy in another order, and of what is written over an array, they do not.
    """
    pending: list[tuple[Recorder, Ref]] = [(builder, atom)]
    seen = set(pending)
    notes: dict[Recorder, dict[Ref, list[tuple[int, Any]]]] = {}
    while pending:
        here, number = pending.pop()
        for there, operand in _operands(here, number):
            now = number if there is here and isinstance(number, int) else len(there.entries)
            if there not in notes:
                notes[there] = defaultdict(list)
                for noted_atom, time, note in there.layouts:
                    notes[there][noted_atom].append((time, note))
            known = [note for time, note in notes[there].get(operand, ()) if time <= now]
            if any(_differs(there.value(operand), note, noted) for note in known):
                return False
            if (there, operand) not in seen:
                seen.add((there, operand))
                pending.append((there, operand))
    return True


def _operands(builder: Recorder, number: Ref) -> list[tuple[Recorder, Ref]]:
    """Return what a variable is computed from, or stands for, with the builder of each."""
    if isinstance(number, Literal):
        return []
    origin = builder.origin(number)
    if origin is not None:
        return [(builder, ref) for ref in origin[1]]
    x = builder.capture_of(number)
    return [(x.builder or builder, x.atom)] if isinstance(x, Tracer) else []


def _differs(value: NDArray, note: Any, noted: Noted) -> bool:
    """Whether a value lies otherwise in memory than NumPy's array, or that is not known."""
    model = noted(note, ArrayType(value.shape, value.dtype))
    if model is None or model.shape != value.shape:
        return True
    # Of gaps and reversed axes nothing is left in what NumPy computes of an array.
    ours, numpys = np.empty_like(value), np.empty_like(model)
    pairs = zip(value.shape, ours.strides, numpys.strides, strict=True)
    return value.size > 0 and any(n > 1 and here != there for n, here, there in pairs)
