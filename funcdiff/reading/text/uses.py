"""Analyses a program before it is written: counts uses, finds broadcasts and views."""

from __future__ import annotations

import ast
from collections import Counter

from funcdiff.backend.code.formulas import is_ufunc
from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation, Program
from funcdiff.ops.structure.structural import select_p


def is_elementwise(eq: Equation) -> bool:
    """Whether NumPy broadcasts the operands of an equation by itself."""
    return is_ufunc(eq) or eq.primitive is select_p


def is_view(value: ast.expr) -> bool:
    """Whether an expression only looks at an array that has a name."""
    if isinstance(value, ast.Subscript):
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        plain = all(isinstance(part, ast.Slice | ast.Constant) for part in parts)
        return plain and isinstance(value.value, ast.Name)
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)


def uses_of(program: Program) -> Counter[int]:
    """Count how often every variable is used by equations that are needed, or returned."""
    uses: Counter[int] = Counter()
    uses.update(atom.number for atom in program.outputs if isinstance(atom, Var))
    for eq in reversed(program.equations):
        if eq.operation.ends or any(uses[v.number] for v in eq.results):
            uses.update(atom.number for atom in eq.operands if isinstance(atom, Var))
    return uses
