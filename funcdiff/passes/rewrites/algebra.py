"""Rewrites arithmetic, logic and selections by identities that keep every bit, for all programs.

Not among them: ``x + 0.0 = x`` of floating numbers (wrong for -0.0), ``x·0 = 0`` (wrong for inf and
NaN), and any change in the order of additions.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Params
from funcdiff.core.recording.builder import constant
from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.ops.elementwise.complex import conj_p
from funcdiff.ops.elementwise.logic import equal, logical_and, logical_not, logical_or, operations
from funcdiff.ops.elementwise.mathematics import div, square, sub
from funcdiff.ops.structure.structural import select_p
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


# ---- logic and selections ------------------------------------------------------------------------

_isinf_p = operations["isinf"].primitive
_and_p, _or_p, _not_p = logical_and.primitive, logical_or.primitive, logical_not.primitive


def _and(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x ∧ true = x, x ∧ false = false, x ∧ x = x."""
    return _decide(x, y, neutral=True)


def _or(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x ∨ false = x, x ∨ true = true, x ∨ x = x."""
    return _decide(x, y, neutral=False)


def _decide(x: Tracer, y: Tracer, *, neutral: bool) -> Tracer | None:
    if x.dtype != BOOL or y.dtype != BOOL:
        return None
    for known, other in ((x, y), (y, x)):
        value = splat(known)
        if value is not None:
            return other if bool(value) == neutral else known
    return x if is_same(x, y) else None


def _infinite_number(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """isinf(x) ∧ (x = c) = false for a finite number c."""
    for first, second in ((x, y), (y, x)):
        infinite, equals = (made_by(first, _isinf_p), made_by(second, equal.primitive))
        if not (infinite and equals):
            continue
        for operand, number in (equals[1], equals[1][::-1]):
            value = splat(number)
            if is_same(operand, infinite[1][0]) and value is not None and np.isfinite(value):
                return constant(False, x.type)
    return None


def _select_same(_emit: Emit, _p: Params, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, x, x) = x; a constant mask chooses."""
    if is_same(x, y):
        return x
    chosen = splat(mask)
    return None if chosen is None else (x if chosen else y)


def _select_negated(emit: Emit, p: Params, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(¬m, x, y) = select(m, y, x)."""
    found = made_by(mask, _not_p)
    if not found or found[1][0].dtype != BOOL:
        return None
    return emit(select_p, p, found[1][0], y, x)


def _select_booleans(emit: Emit, _p: Params, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, true, false) = m, select(m, false, true) = ¬m."""
    sides = splat(x), splat(y)
    if x.dtype != BOOL or None in sides or sides[0] == sides[1]:
        return None
    return mask if sides[0] else emit(_not_p, NONE, mask)


def _join_masks(emit: Emit, p: Params, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, select(n, u, c), c) = select(m ∧ n, u, c) for a number c, and so on by ¬m."""
    outer = _choice(mask, x, y)
    inner = outer and made_by(outer[0], select_p)
    found = inner and _choice(*inner[1])
    if not (outer and inner and found) or not is_same(outer[1], found[1]):
        return None
    other: Tracer = inner[1][0]
    if mask.type is not other.type:
        return None
    (_, number, swapped), (value, _, is_other_swapped) = outer, found
    if swapped != is_other_swapped:
        other = emit(_not_p, NONE, other)
    joined = emit(_or_p if swapped else _and_p, NONE, mask, other)
    return emit(select_p, p, joined, *((number, value) if swapped else (value, number)))


def _choice(_mask: Tracer, x: Tracer, y: Tracer) -> tuple[Tracer, Tracer, bool] | None:
    """Return what is selected, the number elsewhere, and whether the number comes first."""
    if splat(y) is not None:
        return x, y, False
    return (y, x, True) if splat(x) is not None else None


masks: Final[Rules] = {(select_p, select_p): (_join_masks,)}
"""Selections within selections of a number have one mask: else they pile up in derivatives."""

rules: Final[Rules] = {
    add_p: (_add_nothing,),
    mul_p: (_scale_by_one, _square),
    sub.primitive: (_subtract_nothing,),
    div.primitive: (_divide_by_power_of_two,),
    (neg_p, neg_p): (involution_rule(neg_p),),
    (conj_p, conj_p): (involution_rule(conj_p),),
    _and_p: (_and,),
    _or_p: (_or,),
    operations["bitwise_and"].primitive: (_and,),
    operations["bitwise_or"].primitive: (_or,),
    (_and_p, _isinf_p): (_infinite_number,),
    (_not_p, _not_p): (involution_rule(_not_p),),
    select_p: (_select_same, _select_booleans),
    (select_p, _not_p): (_select_negated,),
}
