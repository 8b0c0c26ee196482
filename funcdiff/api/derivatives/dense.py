"""The programs of Jacobians: all unit vectors pushed or pulled as one batch, or in chunks.

A pass takes unit vectors of the inputs (forward) or outputs (reverse) to their images; the images
of all of them, stacked, are cut into one block for each output and input.  In one pass, only those
of their elements are computed that may differ from zero: `funcdiff.passes.sparsity.unit_images`.
At first sight, a tape takes one unit vector after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.inputs import type_of
from funcdiff.api.calls.tracing import Trace
from funcdiff.api.derivatives.first_sight import MOST_VECTORS, fill_zeros, is_new, verify_results
from funcdiff.api.derivatives.programs import pullback, refuse_choices, split_results
from funcdiff.api.signatures.variables import Mode
from funcdiff.backend.tape.tape import Tape, attempt, check_finite
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.recording.entries import Recording
from funcdiff.core.running.memo import Memoised, memoised
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.structure.structural import convert, iota, reshape
from funcdiff.passes.recorded import recorded
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.passes.sparsity.unit_images import Stacks
from funcdiff.space import add, broadcast, zeros
from funcdiff.transforms.linearize import Linearized
from funcdiff.transforms.vmap import batch_outputs

_NUMBER: Final = ArrayType((), INT)

_CHUNKS: Final = 32
"""How many chunks there are where a progress is to be seen and no size of theirs was given."""


class Passes(NamedTuple):
    """A Jacobian computed by chunks of unit vectors."""

    primal: Program  # from the inputs to outputs, auxiliary outputs and residuals
    images: Program  # from the number of a chunk's first unit vector, then residuals
    size: int  # how many unit vectors there are
    chunk: int  # how many of them go in one pass
    outputs: int  # how many come before the residuals
    forward: bool  # whether unit vectors are of the inputs


class Dense(NamedTuple):
    """The program of a Jacobian in one pass."""

    # From inputs and constants to the blocks, the results if wanted, and auxiliary outputs.
    program: Program
    constants: list[Any]  # arrays of indices


class _Derivative(NamedTuple):
    """A derivative as a linear program."""

    split: Linearized  # the program of values and residuals, and the linear one
    xs: Sequence[ArrayType]  # types of the inputs
    ys: Sequence[ArrayType]  # types of the outputs
    forward: bool  # whether tangents are pushed, or cotangents pulled
    linear: Program  # from vectors and residuals (the other way round if pulled) to images

    @property
    def sources(self) -> Sequence[ArrayType]:
        """Types of the vectors."""
        return self.xs if self.forward else self.ys

    def operands(self, vectors: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        """Return the operands of the linear program in order."""
        return [*vectors, *residuals] if self.forward else [*residuals, *vectors]


def _derivative(program: Program, count: int, results: int, mode: Mode) -> _Derivative:
    """Derive the linear program of which the Jacobian is the matrix."""
    xs, ys = program.input_types[:count], program.output_types[:results]
    forward = is_forward(xs, ys, mode)
    if forward:
        program = refuse_choices(program, count, results)
    split = split_results(program, count, results, complete=True)
    if forward:
        linear = simplify_linear(split.linear, (*_every(xs), *((False,) * split.residuals)))
    else:
        linear = pullback(split, count, _every(ys))
    return _Derivative(split, xs, ys, forward, linear)


@memoised
def jacobian_passes(
    recording: Recording, count: int, results: int, mode: Mode, chunk_size: int | None
) -> Passes:
    """Derive the pieces of the Jacobian of the first `results` outputs by `count` inputs."""
    program = recorded(recording)
    derivative = _derivative(program, count, results, mode)
    sources = derivative.sources
    *_, size = starts(sources)
    chunk = min(-(-size // _CHUNKS) if chunk_size is None else chunk_size, size)
    types = derivative.split.linear.input_types[count:]
    batched = derivative.operands(_every(sources), (False,) * len(types))
    stacked = batch_outputs(derivative.linear, chunk, batched)
    with Builder("jacobian", SHARED) as builder:
        start, *residuals = [builder.input(t) for t in (_NUMBER, *types)]
        vectors = _unit_vectors(sources, start, chunk)
        outputs = inline(stacked, derivative.operands(vectors, residuals))
        images = simplify(builder.program(outputs))
    primal = simplify(derivative.split.primal)
    return Passes(primal, images, size, chunk, len(program.outputs), derivative.forward)


@memoised
def jacobian_program(
    recording: Recording, count: int, results: int, mode: Mode, *, wants_value: bool
) -> Dense:
    """Derive the Jacobian in one pass."""
    program = recorded(recording)
    derivative = _derivative(program, count, results, mode)
    with Builder("jacobian", SHARED) as builder:
        operands = [builder.input(t) for t in program.input_types]
        values = inline(derivative.split.primal, operands)
        outputs, residuals = values[: len(program.outputs)], values[len(program.outputs) :]
        vectors = [None] * len(derivative.sources)
        stacks = Stacks(derivative.linear, derivative.operands(vectors, residuals))
        blocks = _blocks(stacks, derivative)
        kept = outputs if wants_value else outputs[results:]
        exact = (*(False for _ in blocks), *(True for _ in kept))
        made = simplify(builder.program([*blocks, *kept]), exact)
        return Dense(made, builder.captures)


def _blocks(stacks: Stacks, derivative: _Derivative) -> list[Tracer]:
    """Return the blocks of shape ``(*y.shape, *x.shape)``, row by row."""
    firsts = starts(derivative.sources)
    places = [(k, j) for k in range(len(derivative.ys)) for j in range(len(derivative.xs))]
    if derivative.forward:
        return [stacks.block(k, firsts[j], derivative.xs[j], by_rows=True) for k, j in places]
    return [stacks.block(j, firsts[k], derivative.ys[k], by_rows=False) for k, j in places]


def is_forward(xs: Sequence[ArrayType], ys: Sequence[ArrayType], mode: Mode) -> bool:
    """Whether columns are pushed: as `mode` says, and where it says nothing if they are fewer."""
    if any(y.dtype.kind == "c" for y in ys) and all(x.dtype.kind == "f" for x in xs):
        return True  # rows of real and imaginary parts would be two pulls; columns are one push
    if mode is None:
        return sum(x.size for x in xs) <= sum(y.size for y in ys)
    return mode == "forward"


def _every(types: Sequence[ArrayType]) -> tuple[bool, ...]:
    return (True,) * len(types)


def starts(types: Sequence[ArrayType]) -> list[int]:
    """Return where each of several arrays begins in their vector, and where the last one ends."""
    return list(accumulate((t.size for t in types), initial=0))


def _unit_vectors(types: Sequence[ArrayType], first: Tracer, chunk: int) -> list[Tracer]:
    """Return unit vectors of a space of several arrays from number `first` on, by array."""
    vectors = []
    for start, t in zip(starts(types)[:-1], types, strict=True):
        shape = (chunk, t.size)
        rows = add(iota(shape, 0), broadcast(first, shape, ()))
        columns = add(iota(shape, 1), constant(start, ArrayType(shape, INT)))
        unit = (
            convert(equal(rows, columns), t.dtype) if t.size else zeros(ArrayType(shape, t.dtype))
        )
        vectors.append(reshape(unit, (chunk, *t.shape)))
    return vectors


def jacobian_by_tape(
    program: Memoised[..., Any],
    trace: Trace,
    count: int,
    operands: Sequence[Any],
    *,
    forward: bool,
    wants_value: bool,
    **options: Any,
) -> list[Any] | None:
    """Return what the program of a Jacobian computes: blocks, results, auxiliary outputs.

    None if it is to be derived: of a trace that comes back, or of many unit vectors.
    """
    results = sum(trace.numeric)
    xs = [type_of(x) for x in operands[:count]]
    ys = [y.type for y in trace.outputs[:results]]
    sources, targets = (xs, ys) if forward else (ys, xs)
    if not 0 < sum([t.size for t in sources]) <= MOST_VECTORS:
        return None
    if not is_new(program, trace, operands, count, results, forward, wants_value):
        return None

    def by_tape() -> list[Any]:
        tape = Tape(trace.recording, count, operands)
        image = tape.push if forward else tape.pull
        images = [fill_zeros(image(v)[: len(targets)], targets) for v in _each_unit_vector(sources)]
        for values in images:
            check_finite(values)
        stacks = [np.stack(column) for column in zip(*images, strict=True)]
        return [
            *blocks_of(stacks, xs, ys, forward=forward),
            *(tape.outputs if wants_value else tape.outputs[results:]),
        ]

    def derive() -> tuple[Program, Sequence[Any]]:
        made: tuple[Program, Sequence[Any]] = program(
            trace.recording, count, results, wants_value=wants_value, **options
        )
        return made

    return verify_results(attempt(by_tape), derive, operands)


def _each_unit_vector(types: Sequence[ArrayType]) -> Iterator[list[Any]]:
    """Yield the unit vectors of a space of several arrays; None is a zero."""
    for k, t in enumerate(types):
        for place in np.ndindex(t.shape):
            unit = np.zeros(t.shape, t.dtype)
            unit[place] = 1
            yield [unit[()] if j == k else None for j in range(len(types))]


def blocks_of(
    images: Sequence[Any], xs: Sequence[ArrayType], ys: Sequence[ArrayType], *, forward: bool
) -> list[Any]:
    """Return the blocks of shapes ``(*y.shape, *x.shape)``, row by row.

    `images` are those of all unit vectors, stacked: one array for each output if tangents are
    pushed, for each input otherwise.
    """
    found = {}
    for j, (start, stop) in enumerate(pairwise(starts(xs if forward else ys))):
        for k, stack in enumerate(images):
            part = stack[start:stop]
            y, x = (k, j) if forward else (j, k)
            turned = np.moveaxis(part, 0, -1) if forward else part
            found[y, x] = np.reshape(turned, (*ys[y].shape, *xs[x].shape))[()]
    return [found[k, j] for k in range(len(ys)) for j in range(len(xs))]
