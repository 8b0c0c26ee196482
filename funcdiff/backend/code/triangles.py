"""Finds triangular matrices in programs, and multiplies them without their zero blocks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.program import Program
from funcdiff.ops.elementwise.complex import conj_p
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.matrices import Part, part_p
from funcdiff.ops.linalg.systems import Triangle, triangular_inv_p
from funcdiff.ops.structure.structural import Permutation, permute_p

WORTHWHILE: Final = 128
"""Rows from which substitution is faster than a general solver, and blocks than a product."""

Lower: TypeAlias = bool | None
"""Where a matrix may differ from zero: in the lower triangle, in the upper one, anywhere."""


def triangles(program: Program) -> dict[int, bool]:
    """Return for each variable that is known to be triangular whether it is the lower triangle."""
    found: dict[int, bool] = {}
    for eq in program.equations:
        made = eq.results[0].number
        operand = getattr(eq.operands[0], "number", -1) if eq.operands else -1
        if eq.primitive is cholesky_p:
            found[made] = eq.params_as(Triangle).lower
        elif eq.primitive is triangular_inv_p:
            found[made] = True
        elif eq.primitive is part_p:
            p = eq.params_as(Part)
            if p.below != p.above:
                found[made] = bool(p.below)
        elif operand in found and eq.primitive is conj_p:
            found[made] = found[operand]
        elif operand in found and eq.primitive is permute_p:
            axes = eq.params_as(Permutation).axes
            *stack, row, column = range(len(axes))
            if axes == (*stack, column, row):
                found[made] = not found[operand]
    return found


def triangular_product(left: Lower, right: Lower) -> Callable[..., Any]:
    """Return a function like `numpy.matmul` of two square matrices, given where these have zeros.

    Notes
    -----
    By blocks, those of zeros left out: two triangular factors take 31 % of the operations with
    two halvings, a triangular and a full one 63 %.
    """

    def function(x: Any, y: Any, out: Any) -> Any:
        _multiply(x, y, out, left, right)
        return out

    return function


def _multiply(x: Any, y: Any, out: Any, left: Lower, right: Lower) -> None:
    if left is right is None or len(x) < WORTHWHILE:
        np.matmul(x, y, out)
        return
    rows, sums, columns = map(_halves, (len(x), len(y), len(y.T)))
    for i, j in product(range(2), repeat=2):
        place = out[rows[i], columns[j]]
        inner = [
            k for k in range(2) if _is_nonzero_block(i, k, left) and _is_nonzero_block(k, j, right)
        ]
        if not inner:
            place[...] = 0.0
        for k in inner:
            target = place if k == inner[0] else np.empty_like(place)
            _multiply(
                x[rows[i], sums[k]],
                y[sums[k], columns[j]],
                target,
                left if i == k else None,
                right if k == j else None,
            )
            if target is not place:
                place += target


def _halves(n: int) -> tuple[slice, slice]:
    return slice(0, n // 2), slice(n // 2, n)


def _is_nonzero_block(row: int, column: int, lower: Lower) -> bool:
    """Whether a block may differ from zero."""
    return lower is None or row == column or (row > column) is lower
