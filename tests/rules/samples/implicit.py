"""Samples of equations: two unknowns of different shapes, maps that are not symmetric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.evaluate import executable
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.solved_equations import (
    LinearSolve,
    Named,
    Root,
    entered,
    linear_solve,
    named_solve_p,
    root,
)
from tests.rules.sample import Sample, body, complex_, real, sample

A, B = real(2, start=3), np.float64(0.7)
"""What the equations contain."""

X, Y = np.array([0.3, -0.2]), np.float64(0.1)
"""Where solvers start, or right-hand sides."""


def _newton(_name: str, program: Program, given: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """Solve for a vector and a number with a Jacobian of differences."""
    x = np.append(*start)

    def value(x: Any) -> Any:
        return np.append(*executable(program)(*given, x[:-1], x[-1]))

    for _ in range(9):
        steps = 1e-6 * np.eye(x.size)
        slope = np.stack([(value(x + h) - value(x - h)) / 2e-6 for h in steps], axis=1)
        x = x - np.linalg.solve(slope, value(x))
    return [x[:-1], x[-1]]


def _repeat(_name: str, program: Program, given: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """Apply a map until it stays, and count."""
    xs = list(start)
    for _ in range(60):
        xs = executable(program)(*given, *xs)
    return [*xs, np.int64(60)]


def _by_columns(
    _name: str, program: Program, given: Sequence[Any], right: Sequence[Any]
) -> list[Any]:
    """Solve a linear equation for a vector and a number."""
    columns = [
        np.append(*executable(program)(*given, e[:-1], e[-1])) for e in np.eye(right[0].size + 1)
    ]
    x = np.linalg.solve(np.stack(columns, axis=1), np.append(*right))
    return [x[:-1], x[-1]]


NEWTON = entered.enter("newton", _newton)
REPEAT = entered.enter("repeat", _repeat)
COLUMNS = entered.enter("by_columns", _by_columns)
ROWS = entered.enter("by_rows", _by_columns)


def _equation(a: Any, b: Any, x: Any, y: Any) -> Any:
    return x + 0.2 * x[::-1] * a - np.sin(b + y), y * np.exp(0.3 * b) - 0.5 * x[0] + a[1]


def _map(a: Any, b: Any, x: Any, y: Any) -> Any:
    return 0.3 * np.tanh(x[::-1] + a * y), 0.2 * x[0] * y + b


def _matvec(a: Any, b: Any, x: Any, y: Any) -> Any:
    return x * (3.0 + a) + x[::-1] * b * b + y * a, 2.0 * y + x[0] * b


EQUATION = body(_equation, A, B, X, Y)
MAP = body(_map, A, B, X, Y)
MATVEC = body(_matvec, A, B, X, Y)
BATCH = ((3, (True, False, True, True)),)
COUNT = (ArrayType((), np.dtype(np.int64)),)


def _root(p: Root) -> Any:
    return lambda *xs: root(p, xs)


def _linear(p: LinearSolve) -> Any:
    return lambda *xs: linear_solve(p, xs)


def _named(a: Any, b: Any) -> Any:
    return bind(named_solve_p, Named("f"), a, b)


SQUARE = real(3, 3) + 2 * np.eye(3)

SAMPLES: dict[str, list[Sample]] = {
    "root": [
        sample(_root(Root("f", EQUATION, 2, NEWTON, (), (), False, "")), A, B, X, Y),
        sample(_root(Root("f", EQUATION, 2, NEWTON, (), (), False, COLUMNS)), A, B, X, Y),
        sample(_root(Root("f", MAP, 2, REPEAT, COUNT, (), True, "")), A, B, X, Y),
    ],
    "linear_solve": [
        sample(_linear(LinearSolve("f", MATVEC, 2, COLUMNS, (), (), ROWS)), A, B, X, Y),
        sample(
            _linear(LinearSolve("f", MATVEC, 2, COLUMNS, (), BATCH, ROWS)),
            real(3, 2, start=5), B, real(3, 2), real(3),
            order=1,
        ),
    ],
    "named_solve": [
        sample(_named, SQUARE, real(3, 2)),
        sample(_named, complex_(2, 2) + 2 * np.eye(2), complex_(2, 1)),
    ],
}  # fmt: skip
