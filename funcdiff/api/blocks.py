"""The programs of Jacobians: all unit vectors pushed or pulled as one batch, or in chunks.

A pass takes unit vectors of the inputs (forward) or outputs (reverse) to their images; the images
of all of them, stacked, are cut into one block for each output and input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from funcdiff.api.programs import pullback, split_results
from funcdiff.api.tracing import Trace, run
from funcdiff.core.builder import Builder, Tracer, constant
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.types import INT, ArrayType
from funcdiff.core.walk import inline
from funcdiff.ops.logic import equal
from funcdiff.ops.slicing import slice_along
from funcdiff.ops.structural import convert, iota, permute, reshape
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.space import add, broadcast, zeros
from funcdiff.transforms.vmap import vmap

Mode: TypeAlias = Literal["forward", "reverse"] | None

_NUMBER: Final = ArrayType((), INT)


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


@memoised
def jacobian_passes(
    recording: Recording, count: int, results: int, mode: Mode, chunk_size: int | None
) -> Passes:
    """Derive the pieces of the Jacobian of the first `results` outputs by `count` inputs."""
    program = simplify(program_of(*recording))
    xs, ys = program.input_types[:count], program.output_types[:results]
    split = split_results(program, count, results, complete=True)
    residuals = split.linear.input_types[count:]
    forward = _is_forward(xs, ys, mode)
    sources = xs if forward else ys
    *_, size = _starts(sources)
    chunk = size if chunk_size is None else min(chunk_size, size)
    known = (False,) * len(residuals)
    if forward:
        linear = simplify_linear(split.linear, (*_every(xs), *known))
        batched, _ = vmap(linear, chunk, (*_every(xs), *known), _every(ys))
    else:
        pulled = pullback(split, count, _every(ys))
        batched, _ = vmap(pulled, chunk, (*known, *_every(ys)), _every(xs))
    with Builder("jacobian", closed=True, shares=True) as builder:
        start, *given = [builder.input(t) for t in (_NUMBER, *residuals)]
        vectors = _unit_vectors(sources, start, chunk)
        operands = [*vectors, *given] if forward else [*given, *vectors]
        images = simplify(builder.program(inline(batched, operands)))
    cut = _cut(xs, ys, size, forward=forward)
    return Passes(simplify(split.primal), images, cut, size, chunk, len(program.outputs))


@memoised
def jacobian_program(
    recording: Recording, count: int, results: int, mode: Mode, *, wants_value: bool
) -> Program:
    """Derive the Jacobian in one pass: its blocks, the results if wanted, auxiliary outputs."""
    passes = jacobian_passes(recording, count, results, mode, None)
    with Builder("jacobian", closed=True, shares=True) as builder:
        operands = [builder.input(t) for t in passes.primal.input_types]
        values = inline(passes.primal, operands)
        outputs, residuals = values[: passes.outputs], values[passes.outputs :]
        images = inline(passes.images, [constant(0, _NUMBER), *residuals])
        blocks = inline(passes.cut, images)
        kept = outputs if wants_value else outputs[results:]
        return simplify(builder.program([*blocks, *kept]))


def run_in_chunks(
    passes: Passes, operands: Sequence[Any], results: int, trace: Trace, *, wants_value: bool
) -> list[Any]:
    """Return what `jacobian_program` computes, with the memory of one chunk at a time."""
    values = run(passes.primal, operands, trace)
    outputs, residuals = values[: passes.outputs], values[passes.outputs :]
    chunks = []
    for start in range(0, passes.size, passes.chunk):
        first = min(start, passes.size - passes.chunk)  # the last one may overlap
        images = run(passes.images, [np.int64(first), *residuals], trace)
        chunks.append([image[start - first :] for image in images])
    stacked = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    return [*run(passes.cut, stacked, trace), *(outputs if wants_value else outputs[results:])]


def _is_forward(xs: Sequence[ArrayType], ys: Sequence[ArrayType], mode: Mode) -> bool:
    if any(y.dtype.kind == "c" for y in ys) and all(x.dtype.kind == "f" for x in xs):
        return True  # rows of real and imaginary parts would be two pulls; columns are one push
    if mode is None:
        return sum(x.size for x in xs) <= sum(y.size for y in ys)
    return mode == "forward"


def _cut(xs: Sequence[ArrayType], ys: Sequence[ArrayType], size: int, *, forward: bool) -> Program:
    """Return the program that cuts stacked images into blocks of shape ``(*y.shape, *x.shape)``."""
    with Builder("jacobian", closed=True, shares=True) as builder:
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
