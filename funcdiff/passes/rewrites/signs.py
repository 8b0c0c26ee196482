"""Moves negations towards the outputs of linear programs, where they cancel or are absorbed.

They stop at masks, within which they go, so that the zeros of a mask are positive.
As `funcdiff.passes.rewrites.numbers`, the identities hold but for the sign of a zero or a NaN.

Without it Gaussian mixtures take 1.2 to 1.6 times as long, a digits network 1.1 times.
"""

from __future__ import annotations

from typing import Any, Final

from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.recording.builder import constant
from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.products.contract import contract_p
from funcdiff.ops.structure.slicing import slice_p
from funcdiff.ops.structure.structural import permute_p, reshape_p, select_p
from funcdiff.passes.rewrites.rewriting import Emit, Rule, Rules
from funcdiff.space import add_p, mul_p, neg_p, reduce_sum_p, splat

_sub_p: Final = sub.primitive


def _negate_last_rule(primitive: Primitive[Any]) -> Rule:
    def negate_last(emit: Emit, p: Params, *xs: Tracer) -> Tracer | None:
        """f(-x) = -f(x) for f linear in each operand, if there is not more to negate."""
        for k, x in enumerate(xs):
            found = made_by(x, neg_p)
            if found:
                y = emit(primitive, p, *xs[:k], found[1][0], *xs[k + 1 :])
                return emit(neg_p, NONE, y) if y.type.size <= x.type.size else None
        return None

    return negate_last


def _negate_masked(emit: Emit, _p: Params, x: Tracer) -> Tracer | None:
    """-select(m, x, 0) = select(m, -x, 0), and the same on the other side."""
    found = made_by(x, select_p)
    if not found:
        return None
    mask, *sides = found[1]
    for k, side in enumerate(sides):
        if splat(sides[1 - k]) == 0:
            sides[k] = emit(neg_p, NONE, side)
            return emit(select_p, NONE, mask, *sides)
    return None


def _negate_number(emit: Emit, _p: Params, x: Tracer) -> Tracer | None:
    """-(x · c) = x · (-c) for a number c."""
    found = made_by(x, mul_p)
    if not found or x.dtype.kind not in "fc":
        return None
    for k, number in enumerate(map(splat, found[1])):
        if number is not None:
            found[1][k] = constant(-number, x.type)
            return emit(mul_p, NONE, *found[1])
    return None


def _add_negated(emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x + (-y) = x - y."""
    found = made_by(y, neg_p)
    if found:
        return emit(_sub_p, NONE, x, found[1][0])
    found = made_by(x, neg_p)
    return emit(_sub_p, NONE, y, found[1][0]) if found else None


def _subtract_negated(emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """x - (-y) = x + y, and (-x) - y = -(x + y)."""
    found = made_by(y, neg_p)
    if found:
        return emit(add_p, NONE, x, found[1][0])
    found = made_by(x, neg_p)
    return emit(neg_p, NONE, emit(add_p, NONE, found[1][0], y)) if found else None


_LINEAR: Final[tuple[Primitive[Any], ...]] = (
    mul_p, reduce_sum_p, contract_p, reshape_p, permute_p, slice_p,
)  # fmt: skip

rules: Final[Rules] = {
    **{(primitive, neg_p): (_negate_last_rule(primitive),) for primitive in _LINEAR},
    (neg_p, select_p): (_negate_masked,),
    (neg_p, mul_p): (_negate_number,),
    (add_p, neg_p): (_add_negated,),
    (_sub_p, neg_p): (_subtract_negated,),
}
