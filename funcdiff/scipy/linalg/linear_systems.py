"""Systems, factorizations for solving them, and inverses."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.types import FLOAT, complex_dtype
from funcdiff.numpy.border.promotion import Traced, array, promote
from funcdiff.ops.linalg import factorizations, systems
from funcdiff.ops.linalg.matrices import adjoint, identity, matrix_transpose, on_diagonal, triangle
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import select
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.matrix_stacks import fitting, inexact, squares
from funcdiff.scipy.primitives.linalg import lu, structured

_SYMMETRIC: Final = "The gradient by a symmetric matrix is symmetric, whichever triangle is read."

# ---- systems -------------------------------------------------------------------------------------

_KINDS: Final[dict[str | None, str]] = {
    None: "general",
    "gen": "general",
    "sym": "symmetric",
    "her": "hermitian",
    "pos": "positive definite",
    **{
        kind: kind
        for kind in (
            "general", "diagonal", "tridiagonal", "banded", "upper triangular",
            "lower triangular", "symmetric", "hermitian", "positive definite",
        )
    },
}  # fmt: skip


def _kind(assume_a: str | None) -> str:
    if assume_a not in _KINDS:
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    return _KINDS[assume_a]


@covers("scipy.linalg", note=f"All of `assume_a`. {_SYMMETRIC}")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Solve A·X = B for matrices of the assumed structure, or AᵀX = B.

    Traced matrices of which nothing is assumed are taken for general ones.  The solves of a
    derivative use the structure, too: dX = A⁻¹·(dB - dA·X) (M. Giles, 2008).
    """
    kind = _kind(assume_a)
    left: Any = np.atleast_2d(array(a))
    right: Any = np.atleast_1d(array(b))
    left, right = promote(left, right)
    if left.size == 1 and right.shape[-2:][0] != 1:
        row = solve(left.reshape(1, 1), right.reshape(1, -1))
        return row.reshape(right.shape)
    left, right, restored = fitting(left, right)
    if transposed:
        if left.dtype.kind == "c":
            raise NotImplementedError(
                "scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex "
                "matrices."
            )
        left, lower = np.swapaxes(left, -1, -2), not lower
        words = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}
        kind = words.get(kind, kind)
    if kind == "general":
        return restored(systems.solve(left, right))
    return restored(structured.structured_solve(left, right, kind=kind, lower=bool(lower)))


_TRANS: Final = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@covers("scipy.linalg")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve A·X = B for triangular matrices, or for their transposes; so do the derivatives."""
    left, right, restored = fitting(a, b)
    if unit_diagonal:
        left = select(on_diagonal(left.type), identity(left.type), left)
    left, lower = _transpose(left, _TRANS[trans], bool(lower))
    return restored(triangular_solve(left, right, lower=lower))


def _transpose(a: Traced, trans: int, lower: bool) -> tuple[Traced, bool]:
    """Return a triangular matrix or its transpose, and whether that is a lower one."""
    if trans == 0:
        return a, lower
    return (matrix_transpose(a) if trans == 1 else adjoint(a)), not lower


# ---- Cholesky ------------------------------------------------------------------------------------


@covers("scipy.linalg", note=_SYMMETRIC)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the Cholesky factor; the gradient is symmetric.

    dL = L·Φ(L⁻¹·dA·L⁻ᴴ), Φ the lower triangle with half the diagonal (I. Murray, 2016).
    """
    (x,) = squares(np.atleast_2d(array(a)))
    return factorizations.cholesky(x, lower=bool(lower))


@covers("scipy.linalg", note=f"The triangle that does not count is zero. {_SYMMETRIC}")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the Cholesky factor for `cho_solve`; the triangle that does not count is zero."""
    return cholesky(a, lower), lower


@covers("scipy.linalg", joins=False)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a system from the Cholesky factor of its matrix, by two triangular solves."""
    c, lower = c_and_lower
    is_lower = bool(np.all(lower))
    left, right, restored = fitting(c, b)
    first, last = (left, adjoint(left)) if is_lower else (adjoint(left), left)
    between = triangular_solve(first, right, lower=True)
    return restored(triangular_solve(last, between, lower=False))


# ---- LU ------------------------------------------------------------------------------------------


@covers("scipy.linalg", note="The row exchanges are constant.")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return L and U in one matrix, and the row exchanges, which are constant.

    With X = L⁻¹·P·dA·U⁻¹, dL = L·tril(X, -1) and dU = triu(X)·U (F. de Hoog, R. Anderssen,
    M. Lukas, 2011).
    """
    return lu.lu_factor(inexact(a))


@covers("scipy.linalg", joins=False)
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a system from the LU factorization of its matrix, by two triangular solves."""
    factors, pivots = lu_and_piv
    left, right, restored = fitting(factors, b)
    order: Any = lu.permutation(array(pivots), left.shape[-1])
    order = np.broadcast_to(order, (*left.shape[:-2], left.shape[-1]))
    below = lu.unit_lower(left)
    if trans == 0:
        between = triangular_solve(below, lu.permute_rows(right, order), lower=True)
        return restored(triangular_solve(left, between, lower=False))
    upper, _ = _transpose(left, trans, lower=False)
    below, _ = _transpose(below, trans, lower=True)
    x = triangular_solve(below, triangular_solve(upper, right, lower=True), lower=False)
    return restored(lu.permute_rows(x, _inverse(order)))


def _inverse(order: Any) -> Any:
    """Return the inverse permutation."""
    return np.argsort(order, axis=-1)


@covers("scipy.linalg", "lu", note="The permutation is constant.")
def lu_factors(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Return a permutation, which is constant, and the factors L and U of any matrix."""
    x = inexact(a)
    packed, pivots = lu.lu_factor(x)
    height, width = x.shape[-2:]
    size = min(height, width)
    left: Any = lu.unit_lower(packed)[..., :size]  # type: ignore[index]
    right: Any = triangle(packed, lower=False)[..., :size, :]  # type: ignore[index]
    place: Any = _inverse(lu.permutation(pivots, height)).astype(np.int32)
    if permute_l:
        return np.take_along_axis(left, place[..., None], axis=-2), right
    if p_indices:
        return place, left, right
    rows = np.arange(height, dtype=np.int32)
    return (place[..., None] == rows).astype(x.dtype.char.lower()), left, right


# ---- inverse and determinant ---------------------------------------------------------------------


@covers("scipy.linalg", note=_SYMMETRIC)
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """Return the inverse of matrices of the assumed structure: d(A⁻¹) = -A⁻¹·dA·A⁻¹."""
    (x,) = squares(a)
    kind = _kind(assume_a)
    if kind == "general":
        return systems.inv(x)
    return structured.structured_inv(x, kind=kind, lower=bool(lower))


@covers("scipy.linalg")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinant in double precision; its derivative is exact at singular matrices."""
    (x,) = squares(a)
    return np.linalg.det(x.astype(complex_dtype(FLOAT) if x.dtype.kind == "c" else FLOAT))
