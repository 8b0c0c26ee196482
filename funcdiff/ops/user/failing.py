"""Whether operations raise: `fails`, by which a program takes the branches of a ``try``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Operation, Params, Tracers, Types, operation
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.evaluate import executable
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import constant_op
from funcdiff.ops.user.python_call import Batches, add_batch_axes, map_batches

KINDS: Final = (np.linalg.LinAlgError, ValueError, FloatingPointError, ZeroDivisionError)
"""Exceptions that have an outcome, from 1 on; it is 0 where nothing is raised."""

_OUTCOME: Final = ArrayType((), np.dtype(np.int8))


class Fails(Params):
    """What may raise, as a program, and the batch axes of its operands.

    At the floating-point errors named NumPy raises.  If it `keeps` them, the results of the
    program follow the outcome, zeros if there are none: only where nothing is derived any more.
    """

    program: Program
    batches: Batches
    errors: tuple[str, ...] = ()
    keeps: bool = False


def _impl(p: Fails) -> Callable[..., Any]:
    state: Any = {"all": "ignore", **dict.fromkeys(p.errors, "raise")}
    types = _types(p)

    def outcome(xs: Sequence[Any]) -> Sequence[Any]:
        try:
            with np.errstate(**state):
                results = executable(p.program)(*xs)
        except KINDS as error:
            kind = next(k for k, kind in enumerate(KINDS, 1) if isinstance(error, kind))
            _latest(p.program)[kind] = error.args
            return [np.int8(kind), *(np.zeros(t.shape, t.dtype)[()] for t in types[1:])]
        return [np.int8(0), *(results if p.keeps else ())]

    if p.keeps:
        return lambda *xs: outcome(xs)
    return lambda *xs: map_batches(outcome, types, p.batches, xs)[0]


@lru_cache(maxsize=256)
def _latest(_program: Program) -> dict[int, tuple[Any, ...]]:
    """Return what the last exceptions of a program said, by outcome."""
    return {}


def error_of(program: Program, outcome: int) -> Exception:
    """Return the exception of an outcome that is not 0, as the program raised it at last."""
    return KINDS[outcome - 1](*_latest(program).get(outcome, ()))


def _types(p: Fails) -> Types:
    return (_OUTCOME, *(p.program.output_types if p.keeps else ()))


def _abstract(p: Fails, *_types_of_operands: ArrayType) -> Types:
    return add_batch_axes(_types(p), p.batches)


def _batch(p: Fails, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    return bind(fails_p, replace(p, batches=((size, tuple(batched)), *p.batches)), *xs)


fails_p: Final = constant_op("fails", Fails, abstract=_abstract, impl=_impl, batch=_batch)


def sharing_results(op: Operation) -> tuple[Operation, Operation] | None:
    """Return, of a `fails`, that which keeps the results, and the operation whose they are."""
    p = op.params
    if not isinstance(p, Fails) or p.batches or p.errors or len(p.program.equations) != 1:
        return None
    (eq,) = p.program.equations
    if eq.operands != p.program.inputs or eq.results != p.program.outputs:
        return None
    return operation(fails_p, replace(p, keeps=True), op.operands), eq.operation
