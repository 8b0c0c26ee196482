"""Elementwise maximum and minimum: the derivative follows the operand that wins.

Equal operands share the derivative equally.  The rule selects between tangents instead of
multiplying them by 0 and 1, so that an infinite slope of the loser does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.logic import (
    equal,
    greater,
    isnan,
    less,
    logical_not,
    logical_or,
    operations,
)
from funcdiff.ops.families import Elementwise, elementwise
from funcdiff.ops.structure.structural import select
from funcdiff.space import Maybe, mul, splat, sum_tangents, zeros

Compare: TypeAlias = Callable[[Tracer, Tracer], Tracer]


def _extremum(name: str, ufunc: np.ufunc, wins: Compare, holds: Compare) -> Elementwise:
    """Declare one by two predicates of its operands.

    ``wins(x, y)`` says where `x` alone decides; ``holds(x, y)`` where `x` decides or ties with a
    `y` that is a number and not NaN, by one comparison.
    """

    def tangent(xs: Tracers, ts: Tangents, z: Tracer) -> Maybe:
        (x, y), (tx, ty) = xs, ts
        tie, zero = equal(x, y), zeros(z.type)
        if ty is None and _is_number(y):
            sides = [select(holds(x, y), tx, zero) if tx is not None else None]
        elif tx is None and _is_number(x):
            sides = [select(holds(y, x), ty, zero) if ty is not None else None]
        else:
            winner = wins(x, y)
            sides = [
                None if tx is None else select(logical_or(winner, tie), tx, zero),
                None if ty is None else select(logical_not(winner), ty, zero),
            ]
        share = select(tie, constant(0.5, z.type), constant(1, z.type))
        total = sum_tangents(sides)
        return None if total is None else mul(total, share)

    return elementwise(name, ufunc, None, None, tangent=tangent)


def _is_number(y: Tracer) -> bool:
    value = splat(y)
    return value is not None and not np.isnan(value)


maximum = _extremum(
    "maximum",
    np.maximum,
    wins=lambda x, y: logical_or(greater(x, y), isnan(x)),
    holds=lambda x, y: logical_not(less(x, y)),
)
minimum = _extremum(
    "minimum",
    np.minimum,
    wins=lambda x, y: logical_or(less(x, y), isnan(x)),
    holds=lambda x, y: logical_not(greater(x, y)),
)
fmax = _extremum(
    "fmax",
    np.fmax,
    wins=lambda x, y: logical_or(greater(x, y), isnan(y)),
    holds=operations["greater_equal"],
)
fmin = _extremum(
    "fmin",
    np.fmin,
    wins=lambda x, y: logical_or(less(x, y), isnan(y)),
    holds=operations["less_equal"],
)
