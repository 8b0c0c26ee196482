"""Prepares programs for execution: drops operations that only derivatives need."""

from __future__ import annotations

from collections.abc import Sequence

from funcdiff.core.builder import Builder, bind
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import map_nested, nested, walk


def as_run(program: Program) -> Program:
    r"""Return a program that computes the same bits without operations that only hand values on.

    >>> import funcdiff as fd
    >>> program = fd.parse(
    ...     "program(%0: f64[]) {\n  %1: f64[] = sqrt %0\n  %2: f64[] = square %1\n"
    ...     "  %3: f64[] = known %2, %0\n  return %3\n}"
    ... )
    >>> print(as_run(program))
    program(%0: f64[]) {
      %1: f64[] = sqrt %0
      %2: f64[] = square %1
      return %2
    }
    """
    if not _has_marks(program):
        return program

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if eq.primitive.facts.hands_on:
            return xs[: len(eq.results)]
        return bind(eq.primitive, map_nested(as_run, eq.params), *xs)

    with Builder("as_run", CLOSED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


def _has_marks(program: Program) -> bool:
    for eq in program.equations:
        op = eq.operation
        if op.primitive.facts.hands_on or (
            op.equation_count > 1 and any(map(_has_marks, nested(op.params)))
        ):
            return True
    return False
