"""Samples of control flow: both predicates, both directions, residuals of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.primitive import NONE
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.types import BOOL, INT
from funcdiff.ops.control.cond import cond
from funcdiff.ops.control.guard import Guard, guard, needed_p
from funcdiff.ops.control.loops import scan, while_loop
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.structure.structural import convert
from funcdiff.space import zeros
from tests.rules.sample import Sample, body, complex_, real, sample

ROW, SCALAR = real(3), real()


def _cond(*branches: Callable[..., Any]) -> Callable[..., Any]:
    def f(chosen: Any, *xs: Any) -> Sequence[Any]:
        like = [np.zeros(x.shape, x.dtype) for x in xs]
        return cond(convert(chosen, INT), tuple(body(b, *like) for b in branches), xs)

    return f


def _false(x: Any, y: Any) -> Any:
    return np.sin(x) * y, x * 2.0


def _true(x: Any, y: Any) -> Any:
    return x * y * y, np.exp(y) * 1.0


def _constant(x: Any, y: Any) -> Any:
    return x, zeros(y.type)


def _scan(step: Program, constants: int, carries: int, *, reverse: bool = False) -> Any:
    def f(*operands: Any) -> Sequence[Any]:
        rows = operands[constants + carries :]
        length = rows[0].shape[0] if rows else 2
        return scan(Scan(step, constants, carries, length, reverse), operands)

    return f


def _step(w: Any, c: Any, x: Any) -> Any:
    carry = np.sin(c) * w + x
    return carry, carry * c


def _linear(w: Any, c: Any, x: Any) -> Any:
    return c + x * w, c


def _counting(w: Any, n: Any, c: Any) -> Any:
    """Carry an integer, and use a residual that is the same in every iteration."""
    return n + 1, c * np.exp(w) + convert(n, c.dtype), c


def _while(test: Callable[..., Any], step: Callable[..., Any], constants: int) -> Any:
    def f(*operands: Any) -> Sequence[Any]:
        like = [np.zeros(x.shape, x.dtype) for x in operands]
        decide = body(lambda *xs: (convert(test(*xs), BOOL),), *like)
        p = While(decide, (body(step, *like),), constants, (len(operands) - constants,), (False,))
        return while_loop(p, operands)

    return f


def _few(_w: Any, n: Any, _c: Any) -> Any:
    return n < 3


def _turned(w: Any, n: Any, c: Any) -> Any:
    return n + 1, np.sin(c) * w + convert(n, c.dtype)


def _small(_w: Any, c: Any, _d: Any) -> Any:
    return np.sum(np.abs(c)) < 9.0


def _grown(w: Any, c: Any, d: Any) -> Any:
    """Carry two values, the second of which is active only from the second iteration on."""
    return c * np.exp(w) + np.cos(c), d[::-1] + c * c


def _two_sweeps(w: Any, c: Any, d: Any) -> Sequence[Any]:
    """Count and leave a row forward, then read it backward."""

    def forward(w: Any, c: Any) -> Any:
        return np.tanh(c * w) + 0.6, c * c * w

    def backward(w: Any, d: Any, row: Any) -> Any:
        return (np.sin(d) * row + w,)

    test = body(lambda w, c: (c < 1.2,), SCALAR, SCALAR)
    sweeps = (body(forward, SCALAR, SCALAR), body(backward, SCALAR, SCALAR, SCALAR))
    return while_loop(While(test, sweeps, 1, (1, 1), (False, True)), [w, c, d])


STEP = body(_step, SCALAR, ROW, ROW)
PAIR = body(lambda a, b, x: (a * x, b + np.cos(a), a * b), ROW, ROW, ROW)
LINEAR = body(_linear, ROW, ROW, ROW)
COUNTING = body(_counting, SCALAR, np.int64(0), SCALAR)
COMPLEX = body(_step, 1j, 1j, 1j)


def _guarded(outcome: int, decide: Callable[[Any], Any]) -> Callable[..., Any]:
    """Do something where a flag, or an integer, has an outcome, which it always has."""

    def f(x: Any) -> Any:
        guard(decide(x), Guard(outcome, 0), x)
        return np.sin(x) * 2.0

    return f


def _with_a_check(x: Any) -> Any:
    """Need a value that the result does not."""
    bind(needed_p, NONE, x, x * 3.0)
    return np.sin(x)


SAMPLES: dict[str, list[Sample]] = {
    "needed": [sample(_with_a_check, ROW), sample(_with_a_check, SCALAR)],
    "guard": [
        sample(_guarded(1, lambda x: np.all(np.isfinite(x))), ROW),
        sample(_guarded(0, np.isnan), SCALAR),
        sample(_guarded(3, lambda x: np.sum(np.isfinite(x))), ROW),
    ],
    "cond": [
        sample(_cond(_false, _true), np.bool_(False), ROW, real(3, start=5)),
        sample(_cond(_false, _true), np.bool_(True), ROW, real(3, start=5)),
        sample(_cond(_constant, _true), np.bool_(False), SCALAR, real(start=5)),
        sample(_cond(_constant, _true), np.bool_(True), SCALAR, real(start=5)),
        sample(_cond(_false, _true), np.bool_(True), complex_(2), complex_(2, start=5)),
        sample(_cond(_false, _true, _constant), np.int64(2), ROW, real(3, start=5)),
        sample(_cond(_false, _true, _constant), np.int64(-5), ROW, real(3, start=5), order=1),
    ],
    "scan": [
        sample(_scan(STEP, 1, 1), np.float64(0.8), ROW, real(2, 3, start=9)),
        sample(_scan(STEP, 1, 1, reverse=True), np.float64(0.8), ROW, real(2, 3, start=9)),
        sample(_scan(PAIR, 0, 2), ROW, real(3, start=4), real(4, 3, start=9)),
        sample(_scan(LINEAR, 1, 1, reverse=True), ROW, real(3, start=4), real(2, 3, start=9)),
        sample(_scan(COUNTING, 1, 2), np.float64(0.3), np.int64(1), np.float64(-0.4)),
        sample(_scan(COMPLEX, 1, 1), 0.8 - 0.2j, complex_(), complex_(2, start=5)),
        sample(_scan(STEP, 1, 1), np.float64(0.8), ROW, real(0, 3), order=1),
    ],
    "while_loop": [
        sample(_while(_few, _turned, 1), np.float64(0.8), np.int64(0), np.float64(-0.4)),
        sample(_while(_few, _turned, 1), real(3), np.int64(1), real(3, start=4)),
        sample(_while(_few, _turned, 1), 0.8 - 0.2j, np.int64(0), complex_(), order=1),
        sample(_while(_few, _turned, 1), np.float64(0.8), np.int64(5), np.float64(-0.4)),
        sample(_while(_small, _grown, 1), np.float64(0.5), real(3), real(3, start=4)),
        sample(_two_sweeps, np.float64(1.4), np.float64(0.3), np.float64(-0.7)),
    ],
}
