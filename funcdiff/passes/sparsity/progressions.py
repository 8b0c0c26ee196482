"""Writes elements into an array by slices, where their places are arithmetic progressions.

Diagonals of a matrix are such places, and so are those of a stencil on a grid, but for its borders:
boxes of elements whose places grow evenly along each axis.  What is irregular is scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Final, NamedTuple

import numpy as np

from funcdiff.core.primitive import NONE
from funcdiff.core.tracer import Tracer
from funcdiff.ops.axes.indexing import scatter_add
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_p
from funcdiff.ops.structure.structural import reshape, reverse
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.parts import emit, held, progression_step, take
from funcdiff.space import add, add_p, splat, zeros

_MOST: Final = 8
"""Boxes, and lines of a box, up to which slices are written."""
_SMALL: Final = 1 << 12
"""Elements up to which an array is quickly copied."""


@dataclass(frozen=True)
class Box:
    """A box of elements whose places grow evenly along each axis.

    Attributes
    ----------
    slice
        Where the box is in the array of elements.
    first
        The place of its first element.
    steps
        How far places of neighbours are apart, by axis.
    """

    slice: Slice
    first: int
    steps: tuple[int, ...]

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Lengths and steps of axes that do not continue each other, the last one last."""
        found: list[tuple[int, int]] = []
        for length, step in zip(self.slice.lengths, self.steps, strict=True):
            if length == 1:
                continue
            if found and found[-1][1] == length * step:
                length *= found.pop()[0]
            found.append((length, step))
        return found or [(1, 1)]


def boxes(places: Array) -> list[Box] | None:
    """Return the boxes of an array of places, which are -1 where there is none.

    None if they are many.
    """
    if not places.size:
        return []
    cuts = [_cuts(places, axis) for axis in range(places.ndim)]
    if any(cut is None for cut in cuts) or prod(len(cut or ()) - 1 for cut in cuts) > _MOST:
        return None
    found = []
    for ends in product(*(pairwise(cut or ()) for cut in cuts)):
        cell = places[tuple(slice(*pair) for pair in ends)]
        if cell.max() < 0:
            continue
        steps = _steps(cell)
        if steps is None:
            return None
        starts, stops = zip(*ends, strict=True) if ends else ((), ())
        found.append(Box(Slice(starts, stops, (1,) * len(ends)), int(cell.flat[0]), steps))
    return found


def _steps(cell: Array) -> tuple[int, ...] | None:
    """Return how a cell grows along each axis, if it does so evenly and has no gap."""
    first, expected = cell.flat[0], cell.flat[0]
    steps = []
    for axis, n in enumerate(cell.shape):
        corner = (0,) * axis, (0,) * (cell.ndim - axis - 1)
        step = int(cell[(*corner[0], 1, *corner[1])] - first) if n > 1 else 0
        steps.append(step)
        expected = np.expand_dims(expected, -1) + step * np.arange(n)
    return tuple(steps) if cell.min() >= 0 and np.array_equal(cell, expected) else None


def _cuts(places: Array, axis: int) -> list[int] | None:
    """Return where places stop to grow evenly along an axis, both ends included."""
    n = places.shape[axis]
    rows = places.swapaxes(0, axis).reshape(n, -1)
    growth, inside = rows[1:] - rows[:-1], rows >= 0
    ends = (inside[1:] != inside[:-1]).any(1)  # beside a gap
    uneven = (growth[1:] != growth[:-1]).any(1) | ends[1:] | ends[:-1]
    changes = np.flatnonzero(uneven).tolist()
    if len(changes) > 2 * _MOST:
        return None
    cuts = [0]
    while cuts[-1] < n:
        start = cuts[-1]
        stop = next((k + 2 for k in changes if k >= start), n)
        is_pair = stop - start == 2
        cuts.append(start + 1 if is_pair and (stop < n or ends[start]) else stop)
    return cuts


class Line(NamedTuple):
    """Elements whose places are ``start, start + step, ...``."""

    start: int
    step: int
    vector: Tracer

    @property
    def slice(self) -> Slice:
        """The places."""
        stop = self.start + (self.vector.type.size - 1) * self.step + 1
        return Slice((self.start,), (stop,), (self.step,))


def write(flat: Tracer, elements: Sequence[tuple[Tracer, Array]]) -> Tracer:
    """Add elements to a vector.

    The elements are arrays of its dtype, each with an array of places in its shape, -1 for those
    that are left out.
    """
    lines: list[Line] = []
    for data, places in elements:
        found = _lines(data, places)
        if found is None:
            which = np.flatnonzero(places >= 0)
            vector = take(data, which)
            assert vector is not None
            flat = scatter_add(flat, vector, [held(places.ravel()[which])], (0,))
        else:
            lines += found
    for line in _fewer(lines, constants_first=flat.type.size <= _SMALL):
        if line.vector.type is flat.type and splat(flat) == 0:
            flat = line.vector
        else:
            flat = add_slice(flat, line.vector, line.slice)
    return flat


def _fewer(lines: Sequence[Line], *, constants_first: bool) -> list[Line]:
    """Return lines with those that lie within another one added to that, long ones first.

    Constants that come first are hoisted, and copied in every call.
    """
    widest = max((line.step for line in lines), default=1)
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.vector.type.size):
        if line.vector.type.size == 1:
            line = line._replace(step=widest)
        k = next((k for k, other in enumerate(found) if _is_within(line, other)), None)
        if k is None:
            found.append(line)
        else:
            found[k] = _sum_of(found[k], line)
    return sorted(found, key=lambda line: (splat(line.vector) is None) == constants_first)


def _is_within(line: Line, other: Line) -> bool:
    (start,), (stop,) = line.slice.starts, line.slice.stops
    (first,), (end,) = other.slice.starts, other.slice.stops
    same = line.step == other.step and (start - first) % line.step == 0
    return same and first <= start and stop <= end


def _sum_of(line: Line, inner: Line) -> Line:
    """Return a line with another one added that lies within it; of a constant, all is hoisted."""
    first = (inner.start - line.start) // line.step
    box = Slice((first,), (first + inner.vector.type.size,), (1,))
    if box.lengths == line.vector.shape:
        return line._replace(vector=emit(add_p, NONE, line.vector, inner.vector))
    if splat(inner.vector) is None:
        return line._replace(vector=add_slice(line.vector, inner.vector, box))
    padded = add_slice(zeros(line.vector.type), inner.vector, box)
    return line._replace(vector=add(line.vector, padded))


def _fold(places: Array) -> Array:
    """Return places in a vector, with gaps at equal distances, as those in a matrix."""
    if places.ndim == 1 and places.min(initial=0) < 0:
        starts = np.flatnonzero(np.diff(places >= 0, prepend=False) & (places >= 0))
        if len(starts) > 1 and not len(places) % (period := int(starts[1] - starts[0])):
            return places.reshape(-1, period)
    return places


def _lines(data: Tracer, places: Array) -> list[Line] | None:
    """Return elements as lines; None if they are many."""
    which = np.flatnonzero(places >= 0)
    if not len(which):
        return []
    stride = progression_step(which) if places.ndim < 2 or len(which) == places.size else None
    if stride is not None:
        taken = places.ravel()[which]
        step = progression_step(taken)
        if step is not None:
            box = Slice((int(which[0]),), (int(which[-1]) + 1,), (stride,))
            return [Line(int(taken[0]), step, cut(_ravel(data), box))]
    places = _fold(places)
    data = reshape(data, places.shape)
    found = boxes(places)
    lines = None if found is None else [_lines_of(data, box) for box in found]
    if lines is None or any(some is None for some in lines):
        return None
    return [line for some in lines for line in some or ()]


def _line(start: int, step: int, vector: Tracer) -> Line:
    if step > 0:
        return Line(start, step, vector)
    return Line(start + (vector.type.size - 1) * step, -step, reverse(vector, (0,)))


def _lines_of(data: Tracer, box: Box) -> list[Line] | None:
    """Return the elements of a box, those that continue each other as one line.

    None if these are many, or elements share a place.
    """
    *outer, (length, step) = box.lines
    if not all(each for _, each in box.lines):
        return None
    if not outer:
        return [_line(box.first, step, _ravel(cut(data, box.slice)))]
    spread = _spread(data, box)
    if spread is not None:
        return [spread]
    count = prod(n for n, _ in outer)
    if count > _MOST:
        return None
    flat = _ravel(cut(data, box.slice))
    firsts = [
        box.first + sum(k * s for k, (_, s) in zip(at, outer, strict=True))
        for at in product(*(range(n) for n, _ in outer))
    ]
    slices = [Slice((k * length,), ((k + 1) * length,), (1,)) for k in range(count)]
    return [_line(first, step, cut(flat, p)) for first, p in zip(firsts, slices, strict=True)]


def _spread(data: Tracer, box: Box) -> Line | None:
    """Return a box with zeros in its gaps, if places grow as the numbers of its elements do."""
    shape = data.type.shape
    numbers = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    p = box.slice
    axes = [axis for axis, n in enumerate(p.lengths) if n > 1]
    step = box.steps[axes[-1]] // numbers[axes[-1]]
    if step < 1 or any(box.steps[axis] != step * numbers[axis] for axis in axes):
        return None
    first, last = (
        sum(k * n for k, n in zip(corner, numbers, strict=True))
        for corner in (p.starts, [stop - 1 for stop in p.stops])
    )
    padded = add_slice(zeros(data.type), cut(data, p), p)
    return Line(box.first, step, cut(_ravel(padded), Slice((first,), (last + 1,), (1,))))


def _ravel(x: Tracer) -> Tracer:
    return reshape(x, (x.type.size,))


def cut(x: Tracer, p: Slice) -> Tracer:
    """Return a slice of an array."""
    return x if p.lengths == x.type.shape else emit(slice_p, p, x)
