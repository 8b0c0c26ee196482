"""Elementwise maximum and minimum: the derivative follows the operand that wins.

Equal operands share the derivative equally.  The rule selects between tangents instead of
multiplying them by 0 and 1, so that an infinite slope of the loser does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.primitive import Params
from funcdiff.ops.families import Elementwise, elementwise
from funcdiff.ops.logic import equal, greater, isnan, less, logical_not, logical_or
from funcdiff.ops.structural import select
from funcdiff.space import Maybe, mul, sum_tangents, zeros

Wins: TypeAlias = Callable[[Tracer, Tracer], Tracer]


def _extremum(name: str, ufunc: np.ufunc, wins: Wins) -> Elementwise:
    def forward(
        _p: Params, xs: Sequence[Tracer], ts: Sequence[Maybe]
    ) -> tuple[list[Tracer], list[Maybe]]:
        (x, y), (tx, ty), z = xs, ts, op(*xs)
        tie, winner = equal(x, y), wins(x, y)
        sides = [
            None if tx is None else select(logical_or(winner, tie), tx, zeros(z.type)),
            None if ty is None else select(logical_not(winner), ty, zeros(z.type)),
        ]
        share = select(tie, constant(0.5, z.type), constant(1, z.type))
        total = sum_tangents(sides)
        return [z], [None if total is None else mul(total, share)]

    op = elementwise(name, ufunc, None, None, jvp=forward)
    return op


maximum = _extremum("maximum", np.maximum, lambda x, y: logical_or(greater(x, y), isnan(x)))
minimum = _extremum("minimum", np.minimum, lambda x, y: logical_or(less(x, y), isnan(x)))
fmax = _extremum("fmax", np.fmax, lambda x, y: logical_or(greater(x, y), isnan(y)))
fmin = _extremum("fmin", np.fmin, lambda x, y: logical_or(less(x, y), isnan(y)))
