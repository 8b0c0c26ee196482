"""Simplification: one forward walk that rewrites, shares equal equations and drops dead ones."""

from __future__ import annotations

from functools import lru_cache

from funcdiff.core.builder import Builder, inline
from funcdiff.core.program import Program


@lru_cache(maxsize=2048)
def simplify(program: Program) -> Program:
    """Return an equal program that is no longer."""
    with Builder("simplify", closed=True, shares=True) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(inline(program, xs))
