"""Whether operations raise: `fails`, by which a program takes the branches of a ``try``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, bind
from funcdiff.core.evaluate import executable
from funcdiff.core.policy import CLOSED
from funcdiff.core.primitive import Operation, Params, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import constant_op
from funcdiff.ops.user.looped_batch import Batches, batched_types, map_batches

KINDS: Final = (np.linalg.LinAlgError, ValueError)
"""Exceptions that have an outcome, from 1 on; it is 0 where nothing is raised."""

_OUTCOME: Final = ArrayType((), np.dtype(np.int8))


class Fails(Params):
    """What may raise, as a program, and the batch axes of its operands."""

    program: Program
    batches: Batches


def _impl(p: Fails) -> Callable[..., Any]:
    def outcome(xs: Sequence[Any]) -> Sequence[Any]:
        try:
            executable(p.program)(*xs)
        except KINDS as error:
            return [np.int8(1 + next(k for k, kind in enumerate(KINDS) if isinstance(error, kind)))]
        return [np.int8(0)]

    return lambda *xs: map_batches(outcome, (_OUTCOME,), p.batches, xs)[0]


def _abstract(p: Fails, *_types: ArrayType) -> Types:
    return batched_types((_OUTCOME,), p.batches)


def _batch(p: Fails, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    wider = Fails(p.program, ((size, tuple(batched)), *p.batches))
    return bind(fails_p, wider, *xs)


fails_p: Final = constant_op("fails", Fails, abstract=_abstract, impl=_impl, batch=_batch)


@lru_cache(maxsize=256)
def program_of_operation(op: Operation) -> Program:
    """Return the program that applies an operation to its inputs."""
    with Builder("fails", CLOSED) as builder:
        xs = [builder.input(t) for t in op.operands]
        return builder.program(builder.record(op, [x.atom for x in xs]))
