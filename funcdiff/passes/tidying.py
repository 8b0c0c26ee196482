"""Rewrites programs before they are compiled, where a bit may differ: scales and paddings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from funcdiff.core.builder import Builder, constant
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE, Params
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.core.walk import made_by, map_nested, walk
from funcdiff.ops.elementwise.logic import not_equal
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.structure.slicing import Slice, add_slice_p, slice_p
from funcdiff.ops.structure.structural import convert_p, select_p, stop_gradient_p
from funcdiff.passes.rewrites import algebra, logic, numbers, signs, structure
from funcdiff.passes.rewrites.rewriting import Emit, Rewriter, Rules, is_same
from funcdiff.space import add_p, mul_p, neg_p, splat


def _slice_of_padded(_emit: Emit, p: Slice, x: Tracer) -> Tracer | None:
    """slice(add_slice(0, u)) = u for the same box."""
    found = made_by(x, add_slice_p)
    if found is None or found[0] != p:
        return None
    zero, u = found[1]
    return u if splat(zero) == 0 else None


def _as_multiple(x: Tracer, y: Tracer) -> tuple[float, Tracer] | None:
    """Return a number and an array of which x and y are in either order; None if they are not."""
    for number, other in ((x, y), (y, x)):
        value = splat(number)
        if value is not None and splat(other) is None and x.dtype.kind == "f":
            return value, other
    return None


def _scale_of_negative(emit: Emit, p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """c·(-x) = (-c)·x."""
    found = _as_multiple(x, y)
    inner = found and made_by(found[1], neg_p)
    if not found or not inner:
        return None
    return emit(mul_p, p, constant(-found[0], x.type), inner[1][0])


def _scale_of_scaled(emit: Emit, p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """c·(d·x) = (c·d)·x, if one of the numbers is a power of two, whose products are exact."""
    outer = _as_multiple(x, y)
    found = outer and made_by(outer[1], mul_p)
    inner = found and _as_multiple(*found[1])
    if not outer or not inner:
        return None
    number = outer[0] * inner[0]
    if not (_is_power_of_two(outer[0]) or _is_power_of_two(inner[0])) or not math.isfinite(number):
        return None
    return emit(mul_p, p, constant(number, x.type), inner[1])


def _as_it_is(_emit: Emit, _p: Params, x: Tracer) -> Tracer:
    """stop_gradient(x) = x, where nothing is differentiated any more."""
    return x


def _is_truth(_emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """number(m) ≠ 0 = m, for a boolean m."""
    found = made_by(x, convert_p)
    return found[1][0] if found and found[1][0].dtype == BOOL and splat(y) == 0 else None


def _add_selected(emit: Emit, p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, x, 0) + select(m, y, 0) = select(m, x + y, 0), and so on the other side."""
    found = made_by(x, select_p), made_by(y, select_p)
    if not (found[0] and found[1]):
        return None
    (mask, *ones), (other, *twos) = found[0][1], found[1][1]
    for k in range(2):
        if is_same(mask, other) and is_same(ones[k], twos[k]) and splat(ones[k]) == 0:
            total = emit(add_p, p, ones[1 - k], twos[1 - k])
            return emit(select_p, NONE, mask, *((ones[k], total) if k == 0 else (total, ones[k])))
    return None


def _is_power_of_two(x: float) -> bool:
    return math.isfinite(x) and abs(x) >= 1 and abs(math.frexp(x)[0]) == 0.5


rules: Final[Rules] = {
    (slice_p, add_slice_p): (_slice_of_padded,),
    (mul_p, neg_p): (_scale_of_negative,),
    (mul_p, mul_p): (_scale_of_scaled,),
    stop_gradient_p: (_as_it_is,),
    (not_equal.primitive, convert_p): (_is_truth,),
    **logic.masks,
    (add_p, select_p): (_add_selected,),
    **{(p, neg_p): signs.rules[p, neg_p] for p in (add_p, sub.primitive)},
}

_rewriter: Final = Rewriter(algebra.rules, structure.rules, logic.rules, rules)
_joiner: Final = Rewriter(structure.rules, {(add_slice_p, add_slice_p): (numbers.join_pieces,)})


@memoised
def tidy(program: Program) -> Program:
    """Return a program that computes the same but for signs of zeros and where numbers overflow."""
    return _rewrite(program, _rewriter, tidy)


@memoised
def join(program: Program) -> Program:
    """Return a program in which arrays are joined from pieces that were added to nothing."""
    return _rewrite(program, _joiner, join)


def _rewrite(program: Program, rewriter: Rewriter, nested: Callable[[Program], Program]) -> Program:
    with Builder("tidy", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(
            walk(
                program,
                xs,
                lambda eq, ys: rewriter.emit(eq.primitive, map_nested(nested, eq.params), *ys),
            )
        )
