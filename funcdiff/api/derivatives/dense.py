"""The programs of Jacobians: all unit vectors pushed or pulled as one batch, or in chunks.

A pass takes unit vectors of the inputs (forward) or outputs (reverse) to their images; the images
of all of them, stacked, are cut into one block for each output and input.  In one pass, what stays
diagonal is kept by its diagonals (see `funcdiff.passes.bands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

from funcdiff.api.derivatives.programs import pullback, split_results
from funcdiff.api.signatures.variables import Mode
from funcdiff.core.builder import Builder, constant
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.core.walk import inline
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import convert, iota, permute, reshape
from funcdiff.passes import bands
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.space import add, broadcast, zeros
from funcdiff.transforms.linearize import Linearized
from funcdiff.transforms.vmap import vmap

_NUMBER: Final = ArrayType((), INT)

_CHUNKS: Final = 32
"""How many chunks there are where a progress is to be seen and no size of theirs was given."""


class Passes(NamedTuple):
    """The pieces of a Jacobian.

    Attributes
    ----------
    primal
        Of the inputs, to outputs, auxiliary outputs and residuals.
    images
        Of the number of the first unit vector of a chunk, then the residuals, to the images.
    cut
        Of the images of all unit vectors, to the blocks, row by row.
    size, chunk
        How many unit vectors there are, in all and in a chunk.
    outputs
        How many outputs come before the residuals.
    """

    primal: Program
    images: Program
    cut: Program
    size: int
    chunk: int
    outputs: int


class _Derivative(NamedTuple):
    """A derivative as a linear program of stacked vectors.

    Attributes
    ----------
    split
        The program of values and residuals, and the linear one.
    sources
        Types of the vectors: of the inputs, in forward mode, or of the outputs.
    stacked
        Of stacked vectors and residuals (in reverse mode the other way round), to their images.
    cut
        Of the images of all unit vectors, to the blocks of the Jacobian.
    """

    split: Linearized
    sources: Sequence[ArrayType]
    forward: bool
    stacked: Program
    cut: Program

    def operands(self, vectors: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        """Return the operands of the stacked program in order."""
        return [*vectors, *residuals] if self.forward else [*residuals, *vectors]


def _derivative(
    program: Program, count: int, results: int, mode: Mode, chunk_size: int | None
) -> _Derivative:
    """Derive the images of as many vectors at a time; of all unit vectors by default."""
    xs, ys = program.input_types[:count], program.output_types[:results]
    split = split_results(program, count, results, complete=True)
    forward = is_forward(xs, ys, mode)
    sources = xs if forward else ys
    *_, size = _starts(sources)
    chunk = size if chunk_size is None else min(chunk_size, size)
    known = (False,) * split.residuals
    if forward:
        linear = simplify_linear(split.linear, (*_every(xs), *known))
        stacked, _ = vmap(linear, chunk, (*_every(xs), *known), _every(ys))
    else:
        pulled = pullback(split, count, _every(ys))
        stacked, _ = vmap(pulled, chunk, (*known, *_every(ys)), _every(xs))
    return _Derivative(split, sources, forward, stacked, _cut(xs, ys, size, forward=forward))


@memoised
def jacobian_passes(
    recording: Recording, count: int, results: int, mode: Mode, chunk_size: int | None
) -> Passes:
    """Derive the pieces of the Jacobian of the first `results` outputs by `count` inputs."""
    program = simplify(program_of(*recording))
    xs, ys = program.input_types[:count], program.output_types[:results]
    *_, size = _starts(xs if is_forward(xs, ys, mode) else ys)
    chunk = min(-(-size // _CHUNKS) if chunk_size is None else chunk_size, size)
    derivative = _derivative(program, count, results, mode, chunk)
    types = derivative.split.linear.input_types[count:]
    with Builder("jacobian", SHARED) as builder:
        start, *residuals = [builder.input(t) for t in (_NUMBER, *types)]
        vectors = _unit_vectors(derivative.sources, start, chunk)
        outputs = inline(derivative.stacked, derivative.operands(vectors, residuals))
        images = simplify(builder.program(outputs))
    primal = simplify(derivative.split.primal)
    return Passes(primal, images, derivative.cut, size, chunk, len(program.outputs))


@memoised
def jacobian_program(
    recording: Recording, count: int, results: int, mode: Mode, *, wants_value: bool
) -> Program:
    """Derive the Jacobian in one pass: its blocks, the results if wanted, auxiliary outputs."""
    program = simplify(program_of(*recording))
    derivative = _derivative(program, count, results, mode, None)
    with Builder("jacobian", SHARED) as builder:
        operands = [builder.input(t) for t in program.input_types]
        values = inline(derivative.split.primal, operands)
        outputs, residuals = values[: len(program.outputs)], values[len(program.outputs) :]
        vectors = bands.unit_vectors(derivative.sources)
        images = bands.images(derivative.stacked, derivative.operands(vectors, residuals))
        blocks = inline(derivative.cut, images)
        kept = outputs if wants_value else outputs[results:]
        return simplify(builder.program([*blocks, *kept]))


def is_forward(xs: Sequence[ArrayType], ys: Sequence[ArrayType], mode: Mode) -> bool:
    """Whether columns are pushed: as `mode` says, and where it says nothing if they are fewer."""
    if any(y.dtype.kind == "c" for y in ys) and all(x.dtype.kind == "f" for x in xs):
        return True  # rows of real and imaginary parts would be two pulls; columns are one push
    if mode is None:
        return sum(x.size for x in xs) <= sum(y.size for y in ys)
    return mode == "forward"


def _cut(xs: Sequence[ArrayType], ys: Sequence[ArrayType], size: int, *, forward: bool) -> Program:
    """Return the program that cuts stacked images into blocks of shape ``(*y.shape, *x.shape)``."""
    with Builder("jacobian", SHARED) as builder:
        targets = ys if forward else xs
        images = [builder.input(t.with_shape((size, *t.shape))) for t in targets]
        if forward:
            return builder.program(
                [
                    _last(part, y, x)
                    for column, y in zip(images, ys, strict=True)
                    for part, x in zip(_parts(column, xs), xs, strict=True)
                ]
            )
        rows = [_parts(row, ys) for row in images]
        return builder.program(
            [
                reshape(rows[j][k], (*y.shape, *x.shape))
                for k, y in enumerate(ys)
                for j, x in enumerate(xs)
            ]
        )


def _every(types: Sequence[ArrayType]) -> tuple[bool, ...]:
    return (True,) * len(types)


def _starts(types: Sequence[ArrayType]) -> list[int]:
    return list(accumulate((t.size for t in types), initial=0))


def _unit_vectors(types: Sequence[ArrayType], first: Tracer, chunk: int) -> list[Tracer]:
    """Return unit vectors of a space of several arrays from number `first` on, by array."""
    vectors = []
    for start, t in zip(_starts(types)[:-1], types, strict=True):
        shape = (chunk, t.size)
        rows = add(iota(shape, 0), broadcast(first, shape, ()))
        columns = add(iota(shape, 1), constant(start, ArrayType(shape, INT)))
        unit = (
            convert(equal(rows, columns), t.dtype) if t.size else zeros(ArrayType(shape, t.dtype))
        )
        vectors.append(reshape(unit, (chunk, *t.shape)))
    return vectors


def _parts(x: Tracer, types: Sequence[ArrayType]) -> list[Tracer]:
    """Split the leading axis of `x`, which counts unit vectors, by array."""
    return [slice_along(x, 0, a, b) for a, b in pairwise(_starts(types))]


def _last(part: Tracer, y: ArrayType, x: ArrayType) -> Tracer:
    """Move the axis of the unit vectors behind and give it the shape of `x`."""
    return reshape(permute(part, (*range(1, part.ndim), 0)), (*y.shape, *x.shape))
