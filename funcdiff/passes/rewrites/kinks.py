"""Recognises norms as roots of sums of squares, with derivative 0 instead of NaN at 0.

The rewrite puts one operation of the same value for the two; it is made before a program is
differentiated.  What is smooth in spite of a root is found by `funcdiff.passes.rewrites.radii`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from funcdiff.core.primitive import Operation, Params
from funcdiff.core.running.walk import made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.complex import conj_p, real_p
from funcdiff.ops.elementwise.mathematics import div, maximum, power, root_of_squares, sqrt, square
from funcdiff.ops.structure.structural import convert_p
from funcdiff.passes.rewrites.rewriting import Emit, Rules, is_same
from funcdiff.space import add_p, mul_p, splat


def is_sum_of_squares(x: Tracer, depth: int = 12) -> bool:
    """Whether `x` is visibly a sum of squares of real numbers, so that its root is a norm."""
    head = maker(x)
    if head is None or depth == 0 or x.dtype.kind != "f":
        return False
    xs = operands_of(x, head)
    if _keeps_signs(head):
        return is_sum_of_squares(xs[0], depth - 1)
    if head.primitive is add_p:
        return all(is_sum_of_squares(y, depth - 1) for y in xs)
    if head.primitive is square.primitive:
        return True
    if head.primitive is power.primitive:
        exponent = splat(xs[1])
        return exponent is not None and bool(exponent > 0 and exponent % 2 == 0)
    if head.primitive is real_p:
        return _is_product(xs[0], lambda y, z: _is_conjugate_pair(y, z) or _is_conjugate_pair(z, y))
    if head.primitive is mul_p and any(map(_is_positive, xs)):
        return all(_is_positive(y) or is_sum_of_squares(y, depth - 1) for y in xs)
    if head.primitive is div.primitive and _is_positive(xs[1]):
        return is_sum_of_squares(xs[0], depth - 1)
    return _is_product(x, is_same)


def _keeps_signs(head: Operation) -> bool:
    """Whether an operation moves elements of its first operand, adds them up or hands them on."""
    facts = head.primitive.facts
    adds = facts.linear is not None and head.access.combine is np.add
    return adds or facts.elements == "moved" or facts.hands_on or head.primitive is convert_p


def _is_product(x: Tracer, pair: Callable[[Tracer, Tracer], bool]) -> bool:
    """Whether `x` is a sum of products of each element with that of the same place."""
    if found := made_by(x, mul_p):
        return pair(*found[1])
    head = maker(x)
    if head is None or not head.contracts or head.access.operands[0] != head.access.operands[1]:
        return False
    return pair(*operands_of(x, head))


def _is_conjugate_pair(y: Tracer, z: Tracer) -> bool:
    found = made_by(y, conj_p)
    return found is not None and is_same(found[1][0], z)


def _is_positive(x: Tracer) -> bool:
    """Whether a factor is certainly no negative number: a literal, or a count of entries."""
    number = splat(x)
    if number is not None:
        return bool(number > 0)
    if x.dtype.kind in "bu":
        return True
    head = maker(x)
    if head is not None and _keeps_signs(head):
        return _is_positive(operands_of(x, head)[0])
    found = made_by(x, maximum.primitive)
    return found is not None and any(number == 0 for number in map(splat, found[1]))


def _root_of_squares(_emit: Emit, _p: Params, s: Tracer) -> Tracer | None:
    """√(Σ xᵢ²) is the norm of x: its derivative at 0 is 0, not 0·∞."""
    if s.dtype.kind != "f" or not is_sum_of_squares(s):
        return None
    return root_of_squares(s)


rules: Final[Rules] = {sqrt.primitive: (_root_of_squares,)}
