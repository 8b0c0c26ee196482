"""Rewrites arithmetic by identities that keep every bit, so that they hold in every program.

Not among them: ``x + 0.0 = x`` of floating numbers (wrong for -0.0), ``x·0 = 0`` (wrong for inf and
NaN), and any change in the order of additions.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Params
from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.complex import conj_p
from funcdiff.ops.elementwise.mathematics import div, square, sub
from funcdiff.passes.rewrites.rewriter import Emit, Rules, involution_rule, is_same
from funcdiff.space import add_p, mul_p, neg_p, splat


def _scale_by_one(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x · 1 = 1 · x = x, for x that is not complex."""
    if x.dtype.kind == "c":
        return None
    if splat(y) == 1:
        return x
    return y if splat(x) == 1 else None


def _add_nothing(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x + 0 = 0 + x = x, for integers x; for real ones if the 0 is -0.0."""
    if x.dtype.kind not in "fiu":
        return None
    if _is_nothing(y):
        return x
    return y if _is_nothing(x) else None


def _is_nothing(x: Tracer) -> bool:
    number = splat(x)
    return number == 0 and (x.dtype.kind != "f" or bool(np.signbit(number)))


def _subtract_nothing(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x - 0 = x, for a 0 that is positive."""
    number = splat(y)
    return x if number == 0 and not np.signbit(np.real(number)) and x.dtype.kind in "fiu" else None


def _square(emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x · x = x², for real x: of the square, the derivative is one product."""
    if x.dtype.kind != "f" or not is_same(x, y):
        return None
    return emit(square.primitive, NONE, x)


def _divide_by_power_of_two(emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x / 2ᵏ = x · 2⁻ᵏ."""
    number = splat(y)
    if number is None or y.dtype.kind != "f" or not is_power_of_two(number):
        return None
    return emit(mul_p, NONE, x, constant(1 / number, y.type))


def is_power_of_two(number: Any) -> bool:
    """Whether a real number is ±2ᵏ, of which the reciprocal is exact, too."""
    mantissa, exponent = math.frexp(number)
    return abs(mantissa) == 0.5 and abs(exponent) < 14


rules: Final[Rules] = {
    add_p: (_add_nothing,),
    mul_p: (_scale_by_one, _square),
    sub.primitive: (_subtract_nothing,),
    div.primitive: (_divide_by_power_of_two,),
    (neg_p, neg_p): (involution_rule(neg_p),),
    (conj_p, conj_p): (involution_rule(conj_p),),
}
