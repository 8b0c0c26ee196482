"""Expands functions that NumPy has no ufunc for into ufuncs, which write to kept memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE, Primitive, registered
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import copy_equation, made_by, walk
from funcdiff.ops.elementwise.mathematics import div, exp
from funcdiff.space import add, mul, mul_p, neg, neg_p

_logistic_p: Final[Primitive[Any]] = registered("logistic")


def expand(program: Program) -> Program:
    """Return a program of ufuncs that computes the same, but for the sign of a NaN."""
    if not any(eq.primitive is _logistic_p for eq in program.equations):
        return program

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if eq.primitive is not _logistic_p or not eq.results[0].type.shape:
            return copy_equation(eq, xs)
        one = constant(1, eq.results[0].type)
        (e,) = bind(exp.primitive, NONE, _negated(xs[0]))
        return bind(div.primitive, NONE, one, add(e, one))

    with Builder("expand", SHARED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


def _negated(x: Tracer) -> Tracer:
    """Return -x: without a step more where it is a product with something negated."""
    if found := made_by(x, neg_p):
        return found[1][0]
    factors = found[1] if (found := made_by(x, mul_p)) else []
    for k, factor in enumerate(factors):
        if inner := made_by(factor, neg_p):
            factors[k] = inner[1][0]
            return mul(*factors)
    return neg(x)
