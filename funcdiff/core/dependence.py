"""Dependence analysis: which values of a program depend on which inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funcdiff.core.atoms import Atom
from funcdiff.core.program import Equation, Program


def dependent(program: Program, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs depend on the marked inputs."""
    reached = variables_reached(program, flags)
    return [atom in reached for atom in program.outputs]


def variables_reached(
    program: Program, flags: Sequence[bool], passes: Callable[[Equation], bool] = lambda _eq: True
) -> set[Atom]:
    """Return the variables that depend on the marked inputs by equations that `passes` accepts."""
    reached: set[Atom] = {v for v, flag in zip(program.inputs, flags, strict=True) if flag}
    for eq in program.equations:
        arriving = [atom in reached for atom in eq.operands]
        if any(arriving) and passes(eq):
            flow = eq.primitive.facts.flow
            leaving = flow(eq.params, arriving) if flow else [True for _ in eq.results]
            reached.update(v for v, flag in zip(eq.results, leaving, strict=True) if flag)
    return reached
