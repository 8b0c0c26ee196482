"""Fuses products of large arrays into the sums of their rows, without an array between.

Without it a Gaussian mixture (d = 32, K = 50) takes 1.1 times as long, larger ones the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from funcdiff.core.atoms import Atom
from funcdiff.core.builder import Builder
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import copy_equation, made_by, walk
from funcdiff.ops.elementwise.mathematics import square
from funcdiff.ops.products.contract import contract
from funcdiff.space import Axes, mul_p, reduce_sum_p

LARGE: Final = 1 << 19
"""Elements of a product from which it is worth not to be there."""
_ROW: Final = 16
"""Elements of a row from which `numpy.vecdot` does not take longer to begin than to multiply."""


def fuse(program: Program) -> Program:
    """Return a program that computes the same up to rounding, with products of rows."""
    fused = _products_in_sums(program)
    if not fused:
        return program

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if eq.primitive is reduce_sum_p and eq.operands[0] in fused:
            return [_sum_of_products(xs[0])]
        return copy_equation(eq, xs)

    with Builder("fuse", SHARED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


def _products_in_sums(program: Program) -> set[Atom]:
    """Return the large products that nobody needs but for the sums of their rows."""
    sums = {eq.operands[0] for eq in program.equations if _is_sum_of_long_rows(eq)}
    if not sums:
        return sums
    uses = Counter(a for eq in program.equations for a in eq.operands)
    uses.update(program.outputs)
    products = {
        eq.results[0] for eq in program.equations if eq.primitive in (mul_p, square.primitive)
    }
    return {x for x in sums & products if uses[x] == 1}


def _is_sum_of_long_rows(eq: Equation) -> bool:
    if eq.primitive is not reduce_sum_p:
        return False
    type_ = eq.operands[0].type
    last = eq.params_as(Axes).axes == (type_.ndim - 1,) and type_.ndim > 1
    return last and type_.dtype.char in "fd" and type_.size >= LARGE and type_.shape[-1] >= _ROW


def _sum_of_products(x: Tracer) -> Tracer:
    """Return the sums of the rows of a product or a square, as products of rows."""
    found = made_by(x, mul_p) or made_by(x, square.primitive)
    assert found is not None
    first, last = found[1][0], found[1][-1]
    labels = tuple(range(x.ndim))
    return contract(first, last, labels, labels, labels[:-1])
