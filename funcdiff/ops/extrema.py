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
from funcdiff.ops.logic import equal, greater, isnan, less, logical_or
from funcdiff.ops.structural import select
from funcdiff.space import Maybe, add, instantiate, mul

Wins: TypeAlias = Callable[[Tracer, Tracer], Tracer]


def _extremum(name: str, ufunc: np.ufunc, wins: Wins) -> Elementwise:
    def forward(
        _p: Params, xs: Sequence[Tracer], ts: Sequence[Maybe]
    ) -> tuple[list[Tracer], list[Maybe]]:
        (x, y), z = xs, op(*xs)
        tx, ty = (instantiate(t, z.type) for t in ts)
        shared = mul(add(tx, ty), constant(0.5, z.type))
        return [z], [select(equal(x, y), shared, select(wins(x, y), tx, ty))]

    op = elementwise(name, ufunc, None, None, jvp=forward)
    return op


maximum = _extremum("maximum", np.maximum, lambda x, y: logical_or(greater(x, y), isnan(x)))
minimum = _extremum("minimum", np.minimum, lambda x, y: logical_or(less(x, y), isnan(x)))
fmax = _extremum("fmax", np.fmax, lambda x, y: logical_or(greater(x, y), isnan(y)))
fmin = _extremum("fmin", np.fmin, lambda x, y: logical_or(less(x, y), isnan(y)))
