"""Which matrices of a program are triangular, so that systems are solved by substitution."""

from __future__ import annotations

from typing import Any, Final

from funcdiff.core.program import Program
from funcdiff.ops.complex import conj_p
from funcdiff.ops.factorizations import cholesky_p
from funcdiff.ops.linalg import triangular_inv_p
from funcdiff.ops.structural import permute_p

WORTHWHILE: Final = 128
"""Rows from which substitution is faster than LAPACK's general solver."""


def triangles(program: Program) -> dict[int, bool]:
    """Return for each variable that is known to be triangular whether it is the lower triangle."""
    found: dict[int, bool] = {}
    for eq in program.equations:
        p: Any = eq.params
        made = eq.results[0].number
        operand = getattr(eq.operands[0], "number", -1) if eq.operands else -1
        if eq.primitive is cholesky_p:
            found[made] = p.lower
        elif eq.primitive is triangular_inv_p:
            found[made] = True
        elif operand in found and eq.primitive is conj_p:
            found[made] = found[operand]
        elif operand in found and eq.primitive is permute_p:
            *stack, row, column = range(len(p.axes))
            if p.axes == (*stack, column, row):
                found[made] = not found[operand]
    return found
