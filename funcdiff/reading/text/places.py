"""Writes updates of slices and scattered elements as in-place assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from funcdiff.backend.code.formulas import axes_first, index
from funcdiff.core.program import Equation
from funcdiff.ops.axes.indexing import Indexed, Written
from funcdiff.ops.structure.slicing import Slice
from funcdiff.reading.text.expressions import build, call, item, items, text_of

Statement: TypeAlias = Callable[[Equation, ast.expr, Sequence[ast.expr]], str]
"""Of an equation, the array that is written into, and the further operands."""


def _slice(sign: str) -> Statement:
    def write(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
        p = eq.params_as(Slice)
        place = build(f"x[{index(eq.operands[0].type.shape, p.index)}]", x=target)
        return f"{text_of(place)} {sign} {text_of(xs[0])}"

    return write


def _axes_first(x: ast.expr, eq: Equation, axes: tuple[int, ...]) -> ast.expr:
    return build(axes_first("x", eq.operands[0].type.ndim, axes), x=x)


def _scatter_add(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
    p = eq.params_as(Indexed)
    whole = _axes_first(target, eq, p.axes)
    updates, *indices = xs
    where = indices[0] if len(indices) == 1 else items(indices)
    return text_of(call("np.add.at", whole, where, updates))


def _scatter(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
    """Write at positions; where they may repeat, in the order of the positions, not of memory."""
    p = eq.params_as(Written)
    whole = _axes_first(target, eq, p.axes)
    updates, *indices = xs
    if not p.distinct and eq.operands[2].type.ndim:
        updates = call("np.ascontiguousarray", updates)
        indices = [call("np.ascontiguousarray", i) for i in indices]
    return f"{text_of(item(whole, indices))} = {text_of(updates)}"


IN_PLACE: Final[dict[str, Statement]] = {
    "add_slice": _slice("+="),
    "replace_slice": _slice("="),
    "scatter_add": _scatter_add,
    "scatter": _scatter,
}
"""Statements that write into the first operand."""
