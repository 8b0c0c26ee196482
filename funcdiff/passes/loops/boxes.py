"""Slices that move on by the same step from iteration to iteration, of all iterations at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.structure.slicing import Slice, add_slice, take_slice
from funcdiff.ops.structure.structural import concatenate, permute, reshape, reverse

_WIDEST: Final = 8
"""Elements of a box along the axis on which it moves, at most."""


class Path(NamedTuple):
    """Boxes of one shape along a line."""

    box: Slice  # the first
    axis: int  # on which they move
    step: int  # by how much; negative if backwards
    length: int  # how many there are

    def turn_around(self) -> Path:
        """Return the same boxes, the last one first."""
        start = self.box.starts[self.axis] + self.step * (self.length - 1)
        span = self.box.stops[self.axis] - self.box.starts[self.axis]
        last = Slice(
            _with_value(self.box.starts, self.axis, start),
            _with_value(self.box.stops, self.axis, start + span),
            self.box.steps,
        )
        return Path(last, self.axis, -self.step, self.length)

    def places(self, offset: int) -> Slice:
        """Return the slice of what is at an offset in each box, in the order of places."""
        box, axis = self.box, self.axis
        first = box.starts[axis] + offset * box.steps[axis]
        last = first + self.step * (self.length - 1)
        low, high = min(first, last), max(first, last)
        return Slice(
            _with_value(box.starts, axis, low),
            _with_value(box.stops, axis, high + 1),
            _with_value(box.steps, axis, abs(self.step)),
        )


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
    for offset in range(p.box.lengths[axis]):
        line = take_slice(x, p.places(offset))
        order = (axis, *(k for k in range(x.ndim) if k != axis))
        rows = permute(line, order)
        shape = _with_value(p.box.lengths, axis, 1)
        pieces.append(reshape(rows, (p.length, *shape)))
    stacked = pieces[0] if len(pieces) == 1 else concatenate(pieces, axis + 1)
    return reverse(stacked, (0,)) if p.step < 0 else stacked


def add_boxes(x: Tracer, rows: Tracer, p: Path) -> Tracer:
    """Return an array with stacked boxes added."""
    axis = p.axis
    if p.step < 0:
        rows = reverse(rows, (0,))
    for offset in range(p.box.lengths[axis]):
        every = Slice((0,) * rows.ndim, rows.shape, (1,) * rows.ndim)
        one = replace(
            every,
            starts=_with_value(every.starts, axis + 1, offset),
            stops=_with_value(every.stops, axis + 1, offset + 1),
        )
        line = take_slice(rows, one)
        others = [n for k, n in enumerate(p.box.lengths) if k != axis]
        flat = reshape(line, (p.length, *others))
        order = [k + 1 for k in range(len(others))]
        order.insert(axis, 0)
        x = add_slice(x, permute(flat, tuple(order)), p.places(offset))
    return x


def _with_value(values: Sequence[int], axis: int, value: int) -> tuple[int, ...]:
    changed = list(values)
    changed[axis] = value
    return tuple(changed)
