"""Represents an array that depends linearly on inputs by its elements: multiples of inputs.

An element is a sum of multiples of elements of the inputs, which are numbered through.  A part of
such a sum has at most one of them for each element, or a list of any of them.  Coefficients are
recorded arrays; where only the pattern is asked for, there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.builder import bind, constant, current_builder
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.indexing import gather, scatter_add
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_p
from funcdiff.ops.structure.structural import Axis, concatenate_p, reshape, reverse
from funcdiff.passes.rewrites import algebra, logic, numbers, signs, structure
from funcdiff.passes.rewrites.rewriting import Rewriter
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.links import Moves, Sums, spans
from funcdiff.space import add, add_p, mul, splat, zeros

Data: TypeAlias = Tracer | None
"""Coefficients; None where only the pattern is asked for."""


@dataclass(frozen=True, eq=False)
class Term:
    """At most one input for each element."""

    columns: Array  # in the shape of the array: number of the input, -1 for none
    data: Data  # coefficients of the inputs, in the same shape


@dataclass(frozen=True, eq=False)
class Entries:
    """A list of elements and inputs."""

    rows: Array  # numbers of elements of the array
    columns: Array  # numbers of inputs, in the same order
    data: Data  # coefficients of the inputs: a vector


Part: TypeAlias = Term | Entries


def is_count(indices: Array, size: int) -> bool:
    """Whether indices are 0, 1, 2, ... up to a size."""
    return len(indices) == size and np.array_equal(indices, np.arange(size))


def progression_step(numbers: Array) -> int | None:
    """Return how far numbers are apart, if they grow evenly; None if not, or if there are none."""
    steps = numbers[1:] - numbers[:-1]
    if not len(numbers) or (len(steps) and (steps[0] < 1 or (steps != steps[0]).any())):
        return None
    return int(steps[0]) if len(steps) else 1


def are_distinct(numbers: Array, size: int) -> bool:
    """Whether no number below a size occurs twice."""
    return bool(np.bincount(numbers, minlength=size).max(initial=0) <= 1)


def held(array: Array) -> Tracer:
    """Return a constant array as an operand: an input of the program in the making."""
    builder = current_builder()
    assert builder is not None
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    number = builder.capture_private(array, type_ := ArrayType(array.shape, array.dtype))
    return builder.handle(builder, number, type_)


def take(data: Data, indices: Array) -> Data:
    """Return elements of an array, counted in C order, as a vector."""
    if data is None:
        return None
    number = splat(data)
    if number is not None:
        return constant(number, data.type.with_shape(indices.shape))
    flat = reshape(data, (data.type.size,))
    step = progression_step(indices)
    if step is None:
        return gather(flat, [held(indices)], (0,))
    box = Slice((int(indices[0]),), (int(indices[-1]) + 1,), (step,))
    return flat if box.lengths == flat.shape else emit(slice_p, box, flat)


def emit(primitive: Primitive[Any], params: Params, *operands: Tracer) -> Tracer:
    """Record an equation of coefficients, or what is simpler; return its result."""
    return _REWRITER.emit(primitive, params, *operands)[0]


_REWRITER: Final = Rewriter(
    algebra.rules, structure.rules, logic.rules, numbers.rules, numbers.coefficients, signs.rules
)


# ---- one part ------------------------------------------------------------------------------------


def entries(part: Part) -> Entries:
    """Return a part as a list."""
    if isinstance(part, Entries):
        return part
    flat = part.columns.ravel()
    rows = np.flatnonzero(flat >= 0)
    return Entries(rows, flat[rows], take(part.data, rows))


def linked(part: Part, links: Sums, factor: Data) -> Entries:
    """Return what a part becomes where elements of the result are sums of its elements."""
    sources = links.sources
    if isinstance(part, Term):
        found = part.columns.ravel()[sources]
        which = np.flatnonzero(found >= 0)
        columns, places = found[which], sources[which]
    else:
        order = np.argsort(part.rows, kind="stable")
        of_row = np.bincount(part.rows, minlength=int(sources.max(initial=0)) + 1)
        first, counts = (np.cumsum(of_row) - of_row)[sources], of_row[sources]
        which = np.repeat(np.arange(len(sources)), counts)
        places = order[spans(first, counts)]
        columns = part.columns[places]
    data = take(part.data, places)
    if data is not None and links.factors is not None:
        assert factor is not None
        other = take(factor, links.factors[which])
        assert other is not None
        data = mul(data, other)
    return Entries(links.rows[which], columns, data)


def moved(part: Part, moves: Moves, apply: Callable[[Tracer], Tracer]) -> Part:
    """Return what a part becomes where elements move; `apply` moves the elements of an array.

    Where few elements are left, a list is made of them.
    """
    sources = moves.sources
    if isinstance(part, Term) and part.columns.size:
        columns = np.where(sources >= 0, part.columns.ravel()[sources], -1)
        if 4 * np.count_nonzero(columns >= 0) > columns.size:
            number = None if part.data is None else splat(part.data)
            if part.data is None:
                return Term(columns, None)
            if number is not None:
                return Term(columns, constant(number, part.data.type.with_shape(columns.shape)))
            return Term(columns, apply(part.data))
    flat = sources.ravel()
    rows = np.flatnonzero(flat >= 0)
    return linked(part, Sums(rows, flat[rows]), None)


def linked_count(part: Part, sources: Array) -> int:
    """Return how many entries `linked` makes at most of these sources."""
    if isinstance(part, Term):
        return len(sources)
    counts = np.bincount(part.rows, minlength=int(sources.max(initial=0)) + 1)
    return int(counts[sources].sum())


# ---- sums of parts -------------------------------------------------------------------------------


def added(parts: Sequence[Part]) -> list[Part]:
    """Return a sum with fewer parts: those of equal patterns are added."""
    if len(parts) == 1:
        return list(parts)
    found: dict[tuple[bytes, bytes], Part] = {}
    for part in parts:
        rows = part.rows.tobytes() if isinstance(part, Entries) else b""
        if isinstance(part, Entries) and not rows:  # nothing is dropped, lest it doubles
            continue
        other = found.get(key := (part.columns.tobytes(), rows))
        if other is not None and other.data is not None:
            assert part.data is not None
            part = replace(part, data=emit(add_p, NONE, other.data, part.data))
        found[key] = part
    return sorted(found.values(), key=lambda part: isinstance(part, Entries))


def combined(parts: Sequence[Part]) -> list[Part]:
    """Return a sum with fewer parts: equal patterns are added, and gaps filled."""
    filled: list[Part] = []
    for part in added(parts):
        place = next((k for k, other in enumerate(filled) if _fits(other, part)), None)
        if place is None:
            filled.append(part)
        else:
            filled[place] = _filled(filled[place], part)
    return filled if len(filled) <= _MOST_PARTS else [merged(filled)]


_MOST_PARTS = 48
"""Parts up to which they are kept apart."""


def _fits(term: Part, part: Part) -> bool:
    """Whether a part has the same coefficient as a term, and elements that it has not."""
    if not isinstance(term, Term) or not _same_number(term.data, part.data):
        return False
    if isinstance(part, Term):
        return not np.any((term.columns >= 0) & (part.columns >= 0))
    rows = part.rows
    return bool(np.all(term.columns.ravel()[rows] < 0)) and are_distinct(rows, term.columns.size)


def _same_number(x: Data, y: Data) -> bool:
    if x is None or y is None:
        return x is y
    return splat(x) is not None and bool(splat(x) == splat(y))


def _filled(term: Part, part: Part) -> Term:
    assert isinstance(term, Term)
    if isinstance(part, Term):
        return Term(np.where(part.columns >= 0, part.columns, term.columns), term.data)
    columns = term.columns.copy()
    columns.reshape(-1)[part.rows] = part.columns
    return Term(columns, term.data)


def merged(parts: Sequence[Part]) -> Entries:
    """Return a sum as one list; of patterns, without repetitions."""
    lists = [entries(part) for part in parts]
    found = [part.data for part in lists]
    if any(data is None for data in found):
        return Entries(*distinct(*places(lists)), None)
    return Entries(*places(lists), joined([data for data in found if data is not None]))


def places(parts: Sequence[Part]) -> tuple[Array, Array]:
    """Return the rows and columns of a sum, those that occur more than once as often."""
    lists = [entries(replace(part, data=None)) for part in parts]
    nothing = np.empty(0, int)
    rows = np.concatenate([nothing, *(part.rows for part in lists)])
    return rows, np.concatenate([nothing, *(part.columns for part in lists)])


def repetition(parts: Sequence[Part], size: int) -> float:
    """Estimate in how many ways elements of an array depend on an input, from some of them."""
    if len(parts) <= 2 and all(isinstance(part, Term) for part in parts):
        return 1.0  # equal ones were added
    step = 1 + 2 * (size >> _SAMPLED)
    looked_at, chosen = np.arange(0, size, step), np.zeros(size, bool)
    chosen[looked_at] = True
    some: list[Part] = []
    for part in parts:
        if isinstance(part, Term):
            columns = part.columns.ravel()[::step]
            some.append(Entries(looked_at[columns >= 0], columns[columns >= 0], None))
        else:
            kept = chosen[part.rows]
            some.append(Entries(part.rows[kept], part.columns[kept], None))
    rows, columns = places(some)
    return len(rows) / max(1, len(distinct(rows, columns)[0]))


_SAMPLED: Final = 10
"""Binary digits of the number of elements that are looked at."""


def joined(vectors: Sequence[Tracer]) -> Tracer:
    """Concatenate vectors, of which there is at least one."""
    if len(vectors) == 1:
        return vectors[0]
    return bind(concatenate_p, Axis(0), *vectors)[0]


def distinct(rows: Array, columns: Array) -> tuple[Array, Array]:
    """Return pairs of numbers in order, each once."""
    width = int(columns.max(initial=0)) + 1
    keys = np.sort(rows * width + columns, kind="stable")
    keys = keys[np.diff(keys, prepend=-1) != 0]
    return keys // width, keys % width


# ---- Writes elements into an array by slices, where their places are arithmetic progressions -----
#
# Diagonals of a matrix are such places, and so are those of a stencil on a grid, but for its
# borders: boxes of elements whose places grow evenly along each axis. What is irregular is
# scattered.


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
