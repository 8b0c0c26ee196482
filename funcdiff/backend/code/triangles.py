"""Finds triangular matrices in programs, of which systems are solved by substitution.

Without it a Gaussian process of 600 points takes 1.9 times as long, one of 200 1.4 times.

Substitution and inverses are LAPACK's, if SciPy is there: NumPy hands out no routine for one
triangle, and what is made of the others takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj_p
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.systems import Triangle, solve_p, triangular_inv_p, triangular_solve_p
from funcdiff.ops.structure.structural import Permutation, permute_p
from funcdiff.ops.user.failing import Fails, fails_p

WORTHWHILE: Final = 128
"""Rows from which substitution is faster than a general solver."""


def triangles(program: Program) -> dict[int, bool]:
    """Return for each variable that is known to be triangular whether it is the lower triangle."""
    found: dict[int, bool] = {}
    for eq in program.equations:
        made = eq.results[0].number
        operand = getattr(eq.operands[0], "number", -1) if eq.operands else -1
        if eq.primitive is fails_p and len(eq.results) > 1:  # it keeps what it computes
            made, eq = made + 1, eq.params_as(Fails).program.equations[0]
        if eq.primitive is cholesky_p:
            found[made] = eq.params_as(Triangle).lower
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
