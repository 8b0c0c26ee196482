"""Jacobians at first sight: the image of one unit vector after the other, by a tape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import type_of
from funcdiff.api.calls.tracing import Trace
from funcdiff.api.derivatives.first_sight import MOST_VECTORS, fill_zeros, is_new, verify_results
from funcdiff.backend.tape.tape import Tape, attempt, check_finite
from funcdiff.core.memo import Memoised
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType


def jacobian(
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
        images = [fill_zeros(image(v)[: len(targets)], targets) for v in _unit_vectors(sources)]
        for values in images:
            check_finite(values)
        return [
            *_blocks(images, xs, ys, forward=forward),
            *(tape.outputs if wants_value else tape.outputs[results:]),
        ]

    def derive() -> tuple[Program, Sequence[Any]]:
        made: tuple[Program, Sequence[Any]] = program(
            trace.recording, count, results, wants_value=wants_value, **options
        )
        return made

    return verify_results(attempt(by_tape), derive, operands)


def _unit_vectors(types: Sequence[ArrayType]) -> Iterator[list[Any]]:
    """Yield the unit vectors of a space of several arrays; None is a zero."""
    for k, t in enumerate(types):
        for place in np.ndindex(t.shape):
            unit = np.zeros(t.shape, t.dtype)
            unit[place] = 1
            yield [unit[()] if j == k else None for j in range(len(types))]


def _blocks(
    images: Sequence[Sequence[Any]],
    xs: Sequence[ArrayType],
    ys: Sequence[ArrayType],
    *,
    forward: bool,
) -> list[Any]:
    """Return the blocks of shapes ``(*y.shape, *x.shape)``, row by row."""
    made = {}
    start = 0
    for j, source in enumerate(xs if forward else ys):
        taken = images[start : (start := start + source.size)]
        for k, target in enumerate(ys if forward else xs):
            parts = [image[k] for image in taken]
            y, x = (target, source) if forward else (source, target)
            place = (k, j) if forward else (j, k)
            stacked = np.stack(parts, -1 if forward else 0) if parts else np.zeros(0, target.dtype)
            made[place] = stacked.reshape((*y.shape, *x.shape))[()]
    return [made[k, j] for k in range(len(ys)) for j in range(len(xs))]
