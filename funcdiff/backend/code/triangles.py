"""Finds triangular matrices in programs, and multiplies them without their zero blocks.

Without it a Gaussian process of 600 points takes 2.1 times as long, one of 200 1.6 times.

Substitution and inverses are LAPACK's, if SciPy is there: NumPy hands out no routine for one
triangle, and what is made of the others takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj_p
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.matrices import Part, part_p
from funcdiff.ops.linalg.systems import Triangle, solve_p, triangular_inv_p, triangular_solve_p
from funcdiff.ops.products.contract import Contraction, arrangement
from funcdiff.ops.structure.structural import Permutation, permute_p
from funcdiff.ops.user.failing import Fails, fails_p

WORTHWHILE: Final = 128
"""Rows from which substitution is faster than a general solver, and blocks than a product."""

_PANEL: Final = 50
_MOST: Final = 6
"""Rows of a panel, at least, and panels of a matrix, at most."""

Lower: TypeAlias = bool | None
"""Where a matrix may differ from zero: in the lower triangle, in the upper one, anywhere."""


def triangles(program: Program) -> dict[int, bool]:
    """Return for each variable that is known to be triangular whether it is the lower triangle."""
    found: dict[int, bool] = {}
    for eq in program.equations:
        made = eq.results[0].number
        operand = getattr(eq.operands[0], "number", -1) if eq.operands else -1
        if eq.operation.contracts:
            product = _of_product(eq, found)
            if product is not None:
                found[made] = product
        if eq.primitive is fails_p and len(eq.results) > 1:  # it keeps what it computes
            made, eq = made + 1, eq.params_as(Fails).program.equations[0]
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


def solver(eq: Equation, triangular: Mapping[int, bool]) -> Callable[..., Any] | None:
    """Return what solves or inverts more quickly than the general function, None if nothing does.

    `triangular` says which variables are triangles (see `triangles`).
    """
    if eq.primitive not in (solve_p, triangular_solve_p, triangular_inv_p):
        return None
    matrix = eq.operands[0]
    if eq.primitive is triangular_inv_p:
        return lower_inverse(matrix.type)
    lower = triangular.get(getattr(matrix, "number", -1))
    if eq.primitive is triangular_solve_p:
        lower = eq.params_as(Triangle).lower
    if lower is None:
        return None
    found = substitution(matrix.type, lower=lower)
    if found is None and eq.primitive is solve_p and matrix.type.shape[-1] >= WORTHWHILE:
        found = triangular_solve_p.impl(Triangle(lower))
    return found


def _of_product(eq: Equation, known: Mapping[int, bool]) -> Lower:
    """Return the triangle that a product of two matrices with the same triangle has."""
    p = eq.params_as(Contraction)
    kinds = [known.get(getattr(atom, "number", -1)) for atom in eq.operands]
    at = arrangement(p)
    if None in kinds or at.stack or not (len(at.rows) == len(at.inner) == len(at.columns) == 1):
        return None
    lower = kinds[0] if p.left[1:] == at.inner else not kinds[0]
    if lower is not (kinds[1] if p.right[:1] == at.inner else not kinds[1]):
        return None
    return lower if p.out[:1] == at.rows else not lower


def triangular_product(left: Lower, right: Lower) -> Callable[..., Any]:
    """Return a function like `numpy.matmul` of two square matrices, given where these have zeros.

    It works by blocks, of which each takes one product of what differs from zero: by six panels,
    two lower triangles take 26 % of the operations, an upper and a lower one 42 %, a triangle and a
    full matrix 58 %.
    """

    def function(x: Any, y: Any, out: Any) -> Any:
        panels = _panels(len(x))
        for rows in panels if left is not None else [slice(0, len(x))]:
            for columns in panels if right is not None else [slice(0, len(x))]:
                first, last = _inner(rows, left, len(x)), _inner(columns, _flip(right), len(x))
                inner = slice(max(first.start, last.start), min(first.stop, last.stop))
                place = out[rows, columns]
                if inner.start < inner.stop:
                    np.matmul(x[rows, inner], y[inner, columns], place)
                else:
                    place[...] = 0.0
        return out

    return function


def _flip(lower: Lower) -> Lower:
    return None if lower is None else not lower


def _panels(n: int) -> list[slice]:
    """Cut an axis into panels, of which the products are still large."""
    count = max(2, min(_MOST, n // _PANEL))
    return [slice(n * k // count, n * (k + 1) // count) for k in range(count)]


def _inner(rows: slice, lower: Lower, n: int) -> slice:
    """Return the columns in which some rows of a matrix may differ from zero."""
    return slice(0 if lower is not False else rows.start, n if not lower else rows.stop)


# ---- substitution by LAPACK ----------------------------------------------------------------------

_LETTERS: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def _routine(name: str, type_: ArrayType) -> Callable[..., Any] | None:
    """Return a routine for one matrix of a type, None if it is not at hand."""
    letter = _LETTERS.get(type_.dtype.char)
    if letter is None or type_.ndim != 2 or not type_.size:
        return None
    try:
        module = import_module("scipy.linalg.lapack")
    except ImportError:
        return None
    found: Callable[..., Any] = getattr(module, letter + name)
    return found


@cache
def substitution(matrix: ArrayType, *, lower: bool) -> Callable[..., Any] | None:
    """Return a function of A and B that computes A⁻¹·B for one triangle of A, if there is one.

    It raises `numpy.linalg.LinAlgError` if a number on the diagonal is zero.
    """
    routine = _routine("trtrs", matrix)
    if routine is None:
        return None

    def function(a: Any, b: Any) -> Any:
        if a.flags.f_contiguous:
            x, info = routine(a, b, lower=lower, trans=0)
        else:  # rows in order are, for LAPACK, the columns of the transpose
            x, info = routine(a.T, b, lower=not lower, trans=1)
        _require_regular(info)
        return np.ascontiguousarray(x)

    return function


@cache
def lower_inverse(matrix: ArrayType) -> Callable[..., Any] | None:
    """Return a function that inverts the lower triangle of a matrix, if there is one.

    It raises `numpy.linalg.LinAlgError` if a number on the diagonal is zero.
    """
    routine = _routine("trtri", matrix)
    if routine is None:
        return None

    def function(a: Any) -> Any:
        x, info = routine(np.tril(a).T, lower=0, overwrite_c=1)
        _require_regular(info)
        return x.T

    return function


def _require_regular(info: int) -> None:
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
