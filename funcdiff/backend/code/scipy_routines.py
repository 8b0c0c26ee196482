"""Computes by compiled routines of SciPy, if that is there, what NumPy is slow at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from funcdiff.core.program import Equation, Program
from funcdiff.core.running.dataflow import Choice
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.indexing import Indexed, scatter_add_p
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.systems import Triangle, solve_p, triangular_inv_p, triangular_solve_p
from funcdiff.ops.user.failing import Fails, fails_p

# ---- sums of rows by index, as products with a sparse matrix of ones -----------------------------
#
# It takes a fifth of the time of `numpy.add.at`, adds in the same order, and gives the same bits.
# SciPy is imported in the third call, so that a program that is run once does not wait for it.
# Without it an embedding takes 1.7 times as long, springs 1.75, reprojection 1.2.

_FEW: Final = 2048
"""Elements that are added up to which NumPy is as fast."""
_CALLS: Final = 2
"""Calls that are left to NumPy."""


def row_adder(eq: Equation, choice: Choice) -> Callable[..., Any] | None:
    """Return a function that does what an equation does, None if it does not add many rows.

    `choice` says what the equation would call else, and which memory that writes to.
    """
    if eq.primitive is not scatter_add_p or eq.params_as(Indexed).axes != (0,):
        return None
    x, u, _ = (atom.type for atom in eq.operands)
    if choice.memory is None or u.size < _FEW or x.ndim < 2 or x.dtype.char not in "fd":
        return None
    return _RowAdder(choice.function, choice.memory, x.shape[0], x.size // x.shape[0])


class _RowAdder:
    """Adds rows of a given width to the memory for an array of so many."""

    def __init__(
        self, plain: Callable[..., Any], memory: Callable[[Any], Any], length: int, width: int
    ) -> None:
        self._plain, self._memory, self._length, self._width = plain, memory, length, width
        self._calls = 0

    def __call__(self, x: Any, updates: Any, index: Any) -> Any:
        """Return the array with rows added."""
        self._calls += 1
        product = _product() if self._calls > _CALLS else None
        rows = index.astype(np.intp, copy=False).ravel()
        if product is None or rows.min() < 0 or rows.max() >= self._length:
            return self._plain(x, updates, index)  # also for positions from the end, and errors
        y = self._memory(x)
        if not y.flags.c_contiguous:
            return self._plain(y, updates, index)
        starts, ones = _columns(rows.size, x.dtype)
        values = np.ascontiguousarray(updates).reshape(-1)
        product(self._length, rows.size, self._width, starts, rows, ones, values, y.reshape(-1))
        return y


@cache
def _product() -> Callable[..., Any] | None:
    """Return SciPy's ``Y += A·X`` for a sparse matrix by columns."""
    try:
        module = import_module("scipy.sparse._sparsetools")
    except ImportError:
        return None
    found: Callable[..., Any] | None = getattr(module, "csc_matvecs", None)
    return found


@lru_cache(maxsize=8)
def _columns(count: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return where each column begins, and the numbers, of a matrix with a one in each column."""
    return np.arange(count + 1), np.ones(count, dtype)


# ---- triangular matrices, of which systems are solved by substitution ----------------------------
#
# Without it a Gaussian process of 600 points takes 1.9 times as long, one of 200 1.4 times.
# Substitution and inverses are LAPACK's: NumPy hands out no routine for one triangle, and what is
# made of the others takes several times as long.

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
        elif operand in found and (swaps := _swaps_sides(eq)) is not None:
            found[made] = found[operand] != swaps
    return found


def _swaps_sides(eq: Equation) -> bool | None:
    """Return whether a linear equation of one matrix swaps its triangles; None if it mixes them."""
    (labels, *others), (result, *_) = eq.operation.access.operands, eq.operation.access.results
    if others or None in labels or eq.primitive.facts.linear is None:
        return None
    *stack, row, column = labels
    return {labels: False, (*stack, column, row): True}.get(result)


def solver(eq: Equation, triangular: Mapping[int, bool]) -> Callable[..., Any] | None:
    """Return what solves or inverts more quickly than the general function, None if nothing does.

    `triangular` says which variables are triangles (see `triangles`).
    """
    if eq.primitive is triangular_inv_p:
        return lower_inverse(eq.operands[0].type)
    if eq.primitive is triangular_solve_p:
        return substitution(eq.operands[0].type, lower=eq.params_as(Triangle).lower)
    lower = triangular.get(getattr(eq.operands[0], "number", -1)) if eq.operands else None
    if lower is None or eq.primitive is not solve_p:
        return None
    found = substitution(eq.operands[0].type, lower=lower)
    if found is None and eq.operands[0].type.shape[-1] >= WORTHWHILE:
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
