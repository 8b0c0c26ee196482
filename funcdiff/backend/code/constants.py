"""Hoists constant subprograms: equations that depend on no input are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.evaluate import Executable
from funcdiff.core.program import Equation, Program

_LARGEST: Final = 1 << 21
"""Elements up to which a constant array is kept."""


def hoist_constants(
    program: Program, impure: Callable[[Equation], bool]
) -> tuple[Program, list[Any]]:
    """Take the equations out that depend on no input.

    Parameters
    ----------
    program
        The program.
    impure
        Which equations must run in every call.

    Returns
    -------
    Program
        The same function of further inputs, behind those that there are.
    list
        The values of these, which must not be written to.
    """
    constant: set[Atom] = set()
    for eq in program.equations:
        small = all(v.type.size <= _LARGEST for v in eq.results)
        known = all(isinstance(atom, Literal) or atom in constant for atom in eq.operands)
        if small and known and not impure(eq) and not set(eq.results) & set(program.outputs):
            constant.update(eq.results)
    if not constant:
        return program, []
    inside = [eq for eq in program.equations if constant.issuperset(eq.results)]
    outside = [eq for eq in program.equations if not constant.issuperset(eq.results)]
    used = {atom: None for eq in outside for atom in eq.operands if atom in constant}
    with np.errstate(all="ignore"):
        values = Executable(_renumber((), inside, tuple(used))).interpret()
    inputs = (*program.inputs, *(atom for atom in used if isinstance(atom, Var)))
    return _renumber(inputs, outside, program.outputs), values


def _renumber(
    inputs: tuple[Var, ...], equations: list[Equation], outputs: tuple[Atom, ...]
) -> Program:
    """Return a program with its variables numbered in order."""
    names: dict[Atom, Var] = {}

    def new(v: Var) -> Var:
        return names.setdefault(v, Var(len(names), v.type))

    first = tuple(map(new, inputs))
    renamed = [
        Equation(
            eq.primitive,
            eq.params,
            tuple(names.get(atom, atom) for atom in eq.operands),
            tuple(map(new, eq.results)),
        )
        for eq in equations
    ]
    return Program(first, tuple(renamed), tuple(names.get(atom, atom) for atom in outputs))
