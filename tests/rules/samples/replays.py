"""Samples of programs that are known only when they run: one more step where a number is larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.replay import Plan, Replay, entered, replay
from tests.rules.sample import Sample, body, real, sample

A, X = np.float64(0.7), real(2, start=3)


def _once(fixed: Any, a: Any, x: Any) -> Any:
    return x[::-1] * a + np.sin(fixed * x), a * a * x[0]


def _twice(fixed: Any, a: Any, x: Any) -> Any:
    y, z = _once(fixed, a, x)
    return y * y + a * x, z * x[1]


PROGRAMS = [body(f, np.float64(1.0), A, X) for f in (_once, _twice)]


class _Maker:
    def results(self, operands: Sequence[Any]) -> Sequence[Any]:
        program, fixed = self.plan(operands)
        found: Sequence[Any] = executable(program)(*fixed, *operands)
        return found

    def plan(self, operands: Sequence[Any]) -> Plan:
        program: Program = PROGRAMS[int(operands[0] > 0)]
        return Plan(program, [np.float64(1.3)])


MAKER = entered.enter("sample_steps", _Maker())
FLOAT = np.dtype(float)
TYPES = (ArrayType((2,), FLOAT), ArrayType((), FLOAT))


def _replay(*xs: Any) -> Any:
    return replay(Replay(MAKER, 2, 0, TYPES, (), ()), xs)


def _replays(*xs: Any) -> Any:
    return replay(Replay(MAKER, 2, 0, TYPES, (), ((3, (True, False)),)), xs)


SAMPLES: dict[str, list[Sample]] = {
    "replay": [
        sample(_replay, A, X),
        sample(_replay, -A, X),
        sample(_replays, np.array([0.3, -0.8, 1.2]), X, order=1),
    ]
}
