"""Slices that move from iteration to iteration, of all iterations at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.primitive import Primitive
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.indexing import gather, scatter, scatter_add
from funcdiff.ops.structure.slicing import Slice, add_slice_p, slice_along, take_slice
from funcdiff.ops.structure.structural import concatenate, iota, permute, reshape, reverse
from funcdiff.space import add, broadcast, kept_axes, mul, without

_WIDEST: Final = 8
"""Elements of a box along the axis on which it moves, at most."""


class Path(NamedTuple):
    """Boxes of one shape along a line."""

    box: Slice  # the first
    axis: int  # on which they move
    step: int  # by how much; negative if backwards
    length: int  # how many there are

    def at(self, start: int, stop: int, step: int) -> Slice:
        """Return a box that is elsewhere along the line."""
        ranges = self.box.ranges
        ranges[self.axis] = start, stop, step
        return Slice(*zip(*ranges, strict=True))

    def turn_around(self) -> Path:
        """Return the same boxes, the last one first."""
        start, stop, step = self.box.ranges[self.axis]
        moved = self.step * (self.length - 1)
        last = self.at(start + moved, stop + moved, step)
        return Path(last, self.axis, -self.step, self.length)

    def places(self, offset: int) -> Slice:
        """Return the slice of what is at an offset in each box, in the order of places."""
        first = self.box.starts[self.axis] + offset * self.box.steps[self.axis]
        last = first + self.step * (self.length - 1)
        return self.at(min(first, last), max(first, last) + 1, abs(self.step))


class Jumps(NamedTuple):
    """Boxes of one shape anywhere."""

    boxes: Sequence[Slice]
    step: int = 0

    def turn_around(self) -> Jumps:
        """Return the same boxes, the last one first."""
        return Jumps(self.boxes[::-1])

    def axes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the axes of an array of which boxes are a part."""
        parts = zip(self.boxes[0].lengths, shape, strict=True)
        return tuple([k for k, (part, whole) in enumerate(parts) if part != whole])

    def indices(self, axes: Sequence[int]) -> list[Tracer]:
        """Return the places along some axes: for each the axis of boxes, then those of a box."""
        first = self.boxes[0]
        shape = (len(self.boxes), *(first.lengths[axis] for axis in axes))
        found = []
        for k, axis in enumerate(axes, 1):
            starts = [constant(box.starts[axis], ArrayType((1,), INT)) for box in self.boxes]
            step = constant(first.steps[axis], ArrayType(shape, INT))
            begin = broadcast(concatenate(starts, 0), shape, (0,))
            found.append(add(begin, mul(iota(shape, k), step)))
        return found


Boxes: TypeAlias = Path | Jumps


def path(boxes: Sequence[Slice]) -> Boxes | None:
    """Return how boxes of one shape move, if they are small along the axes on which they do."""
    starts = np.array([box.starts for box in boxes])
    steps = starts[1] - starts[0]
    axes = np.flatnonzero(np.any(starts != starts[0], axis=0))
    if any(boxes[0].lengths[axis] > _WIDEST for axis in axes):
        return None
    is_even = np.all(starts == starts[0] + steps * np.arange(len(boxes))[:, None])
    if len(axes) != 1 or not is_even:
        return Jumps(boxes)
    return Path(boxes[0], int(axes[0]), int(steps[axes[0]]), len(boxes))


def take_boxes(x: Tracer, p: Boxes) -> Tracer:
    """Return the boxes of an array, stacked."""
    if isinstance(p, Jumps):
        axes = p.axes(x.shape)
        rows = gather(x, p.indices(axes), axes)
        return permute(rows, tuple(np.argsort([-1, *axes, *kept_axes(x.ndim, axes)]).tolist()))
    axis, pieces = p.axis, []
    shape = (*p.box.lengths[:axis], 1, *p.box.lengths[axis + 1 :])
    for offset in range(p.box.lengths[axis]):
        line = take_slice(x, p.places(offset))
        rows = permute(line, (axis, *kept_axes(x.ndim, (axis,))))
        pieces.append(reshape(rows, (p.length, *shape)))
    stacked = pieces[0] if len(pieces) == 1 else concatenate(pieces, axis + 1)
    return reverse(stacked, (0,)) if p.step < 0 else stacked


def are_disjoint(boxes: Iterable[Slice], shape: Sequence[int]) -> bool:
    """Whether no element of an array is in two boxes."""
    seen = np.zeros(shape, bool)
    for box in boxes:
        if seen[box.index].any():
            return False
        seen[box.index] = True
    return True


def write_boxes(x: Tracer, rows: Tracer, p: Boxes, write: Primitive[Slice]) -> Tracer:
    """Return an array with stacked boxes added, or put in the place of its own, which are apart."""
    if isinstance(p, Jumps):
        axes = p.axes(x.shape)
        order = (0, *(axis + 1 for axis in (*axes, *kept_axes(x.ndim, axes))))
        moved, indices = permute(rows, order), p.indices(axes)
        if write is add_slice_p:
            return scatter_add(x, moved, indices, axes)
        return scatter(x, moved, indices, axes, distinct=True)
    axis = p.axis
    if p.step < 0:
        rows = reverse(rows, (0,))
    for offset in range(p.box.lengths[axis]):
        line = slice_along(rows, axis + 1, offset, offset + 1)
        flat = reshape(line, without(line.shape, (axis + 1,)))
        order = (*range(1, axis + 1), 0, *range(axis + 1, flat.ndim))
        (x,) = bind(write, p.places(offset), x, permute(flat, order))
    return x
