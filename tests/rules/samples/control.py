"""Samples of `cond` and `scan`: both predicates, both directions, residuals of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.core.types import INT
from funcdiff.ops.cond import cond
from funcdiff.ops.scan import Scan, scan
from funcdiff.ops.structural import convert
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


def _pair(a: Any, b: Any, x: Any) -> Any:
    """Carry two values, the second of which is active only from the second iteration on."""
    return a * x, b + np.cos(a), a * b


def _linear(w: Any, c: Any, x: Any) -> Any:
    return c + x * w, c


def _counting(w: Any, n: Any, c: Any) -> Any:
    """Carry an integer, and use a residual that is the same in every iteration."""
    return n + 1, c * np.exp(w) + convert(n, c.dtype), c


STEP = body(_step, SCALAR, ROW, ROW)
PAIR = body(_pair, ROW, ROW, ROW)
LINEAR = body(_linear, ROW, ROW, ROW)
COUNTING = body(_counting, SCALAR, np.int64(0), SCALAR)
COMPLEX = body(_step, 1j, 1j, 1j)

SAMPLES: dict[str, list[Sample]] = {
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
}
