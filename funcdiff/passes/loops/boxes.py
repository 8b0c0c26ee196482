"""Slices that move on by the same step from iteration to iteration, of all iterations at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_along, take_slice
from funcdiff.ops.structure.structural import concatenate, permute, reshape, reverse
from funcdiff.space import kept_axes, without

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


def path(boxes: Sequence[Slice]) -> Path | None:
    """Return boxes of one shape as a path; None if they are no such."""
    starts = np.array([box.starts for box in boxes])
    steps = starts[1] - starts[0]
    axes = np.flatnonzero(steps)
    if len(axes) != 1 or boxes[0].lengths[axes[0]] > _WIDEST:
        return None
    if np.any(starts != starts[0] + steps * np.arange(len(boxes))[:, None]):
        return None
    return Path(boxes[0], int(axes[0]), int(steps[axes[0]]), len(boxes))


def take_boxes(x: Tracer, p: Path) -> Tracer:
    """Return the boxes of an array, stacked."""
    axis, pieces = p.axis, []
    shape = (*p.box.lengths[:axis], 1, *p.box.lengths[axis + 1 :])
    for offset in range(p.box.lengths[axis]):
        line = take_slice(x, p.places(offset))
        rows = permute(line, (axis, *kept_axes(x.ndim, (axis,))))
        pieces.append(reshape(rows, (p.length, *shape)))
    stacked = pieces[0] if len(pieces) == 1 else concatenate(pieces, axis + 1)
    return reverse(stacked, (0,)) if p.step < 0 else stacked


def add_boxes(x: Tracer, rows: Tracer, p: Path) -> Tracer:
    """Return an array with stacked boxes added."""
    axis = p.axis
    if p.step < 0:
        rows = reverse(rows, (0,))
    for offset in range(p.box.lengths[axis]):
        line = slice_along(rows, axis + 1, offset, offset + 1)
        flat = reshape(line, without(line.shape, (axis + 1,)))
        order = (*range(1, axis + 1), 0, *range(axis + 1, flat.ndim))
        x = add_slice(x, permute(flat, order), p.places(offset))
    return x
