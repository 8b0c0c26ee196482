"""Represents an array that depends linearly on inputs by its elements: multiples of inputs.

An element is a sum of multiples of elements of the inputs, which are numbered through.  A part of
such a sum has at most one of them for each element, or a list of any of them.  Coefficients are
recorded arrays; where only the pattern is asked for, there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.recording.builder import bind, constant, current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.indexing import gather, scatter_add
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_p
from funcdiff.ops.structure.structural import Axis, concatenate_p, reshape
from funcdiff.passes.rewrites import algebra, numbers, rearranging
from funcdiff.passes.rewrites.rewriter import Rewriter
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.links import Moves, Sums, spans
from funcdiff.space import add_p, mul, splat

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


def hold(array: Array) -> Tracer:
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
        return gather(flat, [hold(indices)], (0,))
    box = Slice((int(indices[0]),), (int(indices[-1]) + 1,), (step,))
    return flat if box.lengths == flat.shape else emit(slice_p, box, flat)


def emit(primitive: Primitive[Any], params: Params, *operands: Tracer) -> Tracer:
    """Record an equation of coefficients, or what is simpler; return its result."""
    return _REWRITER.emit(primitive, params, *operands)[0]


_REWRITER: Final = Rewriter(
    algebra.rules,
    rearranging.rules,
    numbers.rules,
    numbers.coefficients,
    numbers.signs,
)


# ---- one part ------------------------------------------------------------------------------------


def entries(part: Part) -> Entries:
    """Return a part as a list."""
    if isinstance(part, Entries):
        return part
    flat = part.columns.ravel()
    rows = np.flatnonzero(flat >= 0)
    return Entries(rows, flat[rows], take(part.data, rows))


def link(part: Part, links: Sums, factor: Data) -> Entries:
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


def move(part: Part, moves: Moves, apply: Callable[[Tracer], Tracer]) -> Part:
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
    return link(part, Sums(rows, flat[rows]), None)


def count_links(part: Part, sources: Array) -> int:
    """Return how many entries `linked` makes at most of these sources."""
    if isinstance(part, Term):
        return len(sources)
    counts = np.bincount(part.rows, minlength=int(sources.max(initial=0)) + 1)
    return int(counts[sources].sum())


# ---- sums of parts -------------------------------------------------------------------------------


def add_parts(parts: Sequence[Part]) -> list[Part]:
    """Return a sum with fewer parts: of equal patterns, and a list if there are many."""
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
    kept = sorted(found.values(), key=lambda part: isinstance(part, Entries))
    return kept if len(kept) <= _MOST_PARTS else [merge(kept)]


_MOST_PARTS = 48
"""Parts up to which they are kept apart."""


def merge(parts: Sequence[Part]) -> Entries:
    """Return a sum as one list; of patterns, without repetitions."""
    lists = [entries(part) for part in parts]
    found = [part.data for part in lists]
    if any(data is None for data in found):
        return Entries(*distinct(*places(lists)), None)
    return Entries(*places(lists), join_vectors([data for data in found if data is not None]))


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


def join_vectors(vectors: Sequence[Tracer]) -> Tracer:
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


# ---- elements in an array ------------------------------------------------------------------------


def write(flat: Tracer, elements: Sequence[tuple[Tracer, Array]]) -> Tracer:
    """Add elements to a vector, by slices where their places grow evenly, as on diagonals.

    The elements are arrays of its dtype, each with an array of places in its shape, -1 for those
    that are left out.
    """
    for data, places in elements:
        which = np.flatnonzero(places >= 0)
        taken, vector = places.ravel()[which], take(data, which)
        step = progression_step(taken)
        assert vector is not None
        if step is not None:
            box = Slice((int(taken[0]),), (int(taken[-1]) + 1,), (step,))
            alone = vector.type is flat.type and splat(flat) == 0
            flat = vector if alone else add_slice(flat, vector, box)
        elif len(taken):
            flat = scatter_add(flat, vector, [hold(taken)], (0,))
    return flat
