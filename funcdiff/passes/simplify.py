"""Simplification: one forward walk that rewrites, shares equal equations and drops dead ones.

A rewrite is a function of the parameters and operands of an equation that returns what to use
instead, or None; its docstring is the identity.  `funcdiff.passes.algebra` has those that keep
every bit.  For the linear programs of derivatives there are more, in `funcdiff.passes.masking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from funcdiff.core.builder import Builder, Tracer, walk
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation, Program
from funcdiff.passes import algebra, masking
from funcdiff.passes.rewriting import Rewriter


@lru_cache(maxsize=2048)
def simplify(program: Program) -> Program:
    """Return a program with the same outputs, bit for bit, that is no longer."""
    rewriter = Rewriter(algebra.rules)

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        return rewriter.emit(eq.primitive, _nested(eq.params), *xs)

    with Builder("simplify", closed=True, shares=True) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(walk(program, xs, rule))


@lru_cache(maxsize=2048)
def simplify_linear(program: Program, linear: tuple[bool, ...]) -> Program:
    """Simplify the program of a derivative.

    Parameters
    ----------
    program
        Linear in some inputs, in those equations that depend on them.
    linear
        Which inputs those are.

    Returns
    -------
    Program
        The same linear function, in which an infinite coefficient never meets a zero that a mask
        has put in its place.
    """
    plain, inside = Rewriter(algebra.rules), Rewriter(algebra.rules, masking.rules)
    depends = {v for v, flag in zip(program.inputs, linear, strict=True) if flag}

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        flags = tuple(atom in depends for atom in eq.operands)
        if not any(flags):
            return plain.emit(eq.primitive, _nested(eq.params), *xs)
        depends.update(eq.results)
        return inside.emit(eq.primitive, masking.nested(eq, flags, simplify_linear), *xs)

    with Builder("simplify", closed=True, shares=True) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return simplify(builder.program(walk(program, xs, rule)))


def _nested(params: Params) -> Params:
    """Return parameters with the programs that they hold simplified."""
    changed = {
        f.name: new
        for f in fields(params)
        if (new := _simplified(old := getattr(params, f.name))) is not old
    }
    return replace(params, **changed) if changed else params


def _simplified(value: Any) -> Any:
    if isinstance(value, Program):
        return simplify(value)
    if isinstance(value, tuple) and any(isinstance(v, Program) for v in value):
        return tuple(map(_simplified, value))
    return value
