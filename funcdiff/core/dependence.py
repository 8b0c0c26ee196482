"""Computes which outputs of a program depend on which inputs, through nested programs."""

from __future__ import annotations

from collections.abc import Sequence

from funcdiff.core.program import Program


def dependent(program: Program, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs depend on the marked inputs."""
    reached = {v for v, flag in zip(program.inputs, flags, strict=True) if flag}
    for eq in program.equations:
        arriving = [atom in reached for atom in eq.operands]
        if any(arriving):
            flow = eq.primitive.facts.flow
            leaving = flow(eq.params, arriving) if flow else [True for _ in eq.results]
            reached.update(v for v, flag in zip(eq.results, leaving, strict=True) if flag)
    return [atom in reached for atom in program.outputs]
