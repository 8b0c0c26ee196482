"""How variables are used: how often, by what broadcasts, and which expressions are mere views."""

from __future__ import annotations

import ast
from collections import Counter

import numpy as np

from funcdiff.core.program import Equation, Program, Var
from funcdiff.ops.structural import select_p
from funcdiff.space import broadcast_p


def is_elementwise(eq: Equation) -> bool:
    """Whether NumPy broadcasts the operands of an equation by itself."""
    if eq.primitive is select_p:
        return True
    function = eq.operation.function
    return isinstance(function, np.ufunc) and function.signature is None and len(eq.results) == 1


def is_view(value: ast.expr) -> bool:
    """Whether an expression only looks at an array that has a name."""
    if isinstance(value, ast.Subscript):
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        plain = all(isinstance(part, ast.Slice | ast.Constant) for part in parts)
        return plain and isinstance(value.value, ast.Name)
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)


def uses_of(program: Program) -> Counter[int]:
    """Count how often every variable is used by equations whose results are used, or returned."""
    uses: Counter[int] = Counter()
    uses.update(atom.number for atom in program.outputs if isinstance(atom, Var))
    for eq in reversed(program.equations):
        if any(uses[v.number] for v in eq.results):
            uses.update(atom.number for atom in eq.operands if isinstance(atom, Var))
    return uses


def spread(program: Program) -> set[int]:
    """Return the broadcasts that need no array: all that use them broadcast by themselves."""
    axes = {
        eq.results[0].number: set(eq.params.axes)  # type: ignore[attr-defined]
        for eq in program.equations
        if eq.primitive is broadcast_p and isinstance(eq.operands[0], Var)
    }
    found = axes.keys() - {atom.number for atom in program.outputs if isinstance(atom, Var)}
    while True:
        kept = set(found)
        for eq in program.equations:
            numbers = {atom.number for atom in eq.operands if isinstance(atom, Var)}
            filled = numbers - found or _fill(eq, [axes[n] for n in numbers])
            if not is_elementwise(eq) or not filled:
                kept -= numbers
        if kept == found:
            return found
        found = kept


def _fill(eq: Equation, axes: list[set[int]]) -> bool:
    """Whether operands that have only these axes make up the shape of the result together."""
    shape = eq.results[0].type.shape
    return {k for k, n in enumerate(shape) if n != 1} <= set().union(*axes)
