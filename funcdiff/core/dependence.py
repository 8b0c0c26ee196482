"""Computes which outputs of a program depend on which inputs, through nested programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Program

Flow: TypeAlias = Callable[[Any, Sequence[bool]], list[bool]]

FLOWS: Final[dict[Primitive[Any], Flow]] = {}
"""``flow(params, flags)``: which results depend on the marked operands.

Default: every result on every operand.
"""


def dependent(program: Program, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs depend on the marked inputs."""
    reached = {v for v, flag in zip(program.inputs, flags, strict=True) if flag}
    for eq in program.equations:
        arriving = [atom in reached for atom in eq.operands]
        if any(arriving):
            flow = FLOWS.get(eq.primitive)
            leaving = flow(eq.params, arriving) if flow else [True for _ in eq.results]
            reached.update(v for v, flag in zip(eq.results, leaving, strict=True) if flag)
    return [atom in reached for atom in program.outputs]
