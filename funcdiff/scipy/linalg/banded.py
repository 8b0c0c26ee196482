"""Band matrices in LAPACK's form: systems, Cholesky factors and eigenproblems."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.api.control.scanning import scan
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.linalg import factorizations
from funcdiff.ops.linalg.matrices import adjoint
from funcdiff.ops.linalg.routines import scipy_constant
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.eigenvalues import align
from funcdiff.scipy.linalg.matrix_stacks import stacks, system
from funcdiff.scipy.primitives.linalg import band_systems

# ---- systems -------------------------------------------------------------------------------------


@covers("scipy.linalg")
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system with a band matrix; so do the derivatives, in band form."""
    lower, upper = (int(k) for k in l_and_u)
    left, right, restored = _band_system(ab, b)
    if left.shape[-2] != lower + upper + 1:
        raise ValueError(
            "invalid values for the number of lower and upper diagonals: l+u+1 "
            f"({lower + upper + 1}) does not equal ab.shape[0] ({left.shape[-2]})"
        )
    return restored(band_systems.banded_solve(left, right, lower=lower, upper=upper))


def _band_system(ab: Any, b: Any) -> tuple[Traced, Traced, Any]:
    left, right, restored = system(ab, b)
    if left.shape[-1] != right.shape[-2]:
        raise ValueError("shapes of ab and b are not compatible.")
    return left, right, restored


@covers("scipy.linalg")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system with a positive definite band matrix; so do the derivatives."""
    left, right, restored = _band_system(ab, b)
    width = left.shape[-2] - 1
    full = band_systems.hermitian_band(left, lower=bool(lower))
    return restored(band_systems.banded_solve(full, right, lower=width, upper=width, positive=True))


@covers("scipy.linalg", joins=False)
def cho_solve_banded(
    cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a system from the Cholesky factor of its band matrix, by two triangular solves."""
    cb, lower = cb_and_lower
    left, right, restored = _band_system(cb, b)
    width = left.shape[-2] - 1
    below, above = (width, 0) if np.all(lower) else (0, width)
    steps = [(left, False), (np.conj(left), True)]
    for matrix, turned in steps if np.all(lower) else reversed(steps):
        right = band_systems.banded_solve(matrix, right, lower=below, upper=above, turned=turned)
    return restored(right)


# ---- the Cholesky factor -------------------------------------------------------------------------

_BLOCK = 16
"""Rows that are factorized at a time, if the band is not wider."""


@covers("scipy.linalg")
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Return the Cholesky factor of a band matrix in band form, block by block.

    A matrix of blocks A on the diagonal and B below it has the factor with the blocks of a
    recursion, L = chol(A - K·Kᴴ) with K = B·L⁻ᴴ of those before (G. Golub, C. Van Loan, "Matrix
    Computations", section 4.5.1).
    """
    (x,) = stacks(ab)
    below = x if lower else _lower_form(x)
    width, size = below.shape[-2] - 1, below.shape[-1]
    if x.size == 0:
        return x
    block = max(width, min(_BLOCK, size))
    count = -(-size // block)
    main, beside = _blocks(below, block, count)
    unit = np.broadcast_to(np.eye(block, dtype=x.dtype), main.shape[1:])
    _, (factors, before) = scan(_next_block, array(unit), (main, beside))
    row, column = np.indices((width + 1, size))
    used = row + column < size
    factor = np.where(used, _band_of(factors, before, row + column, column), below)
    return factor if lower else _upper_form(factor, x)


def _next_block(last: Any, blocks: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
    """Return the factor of a block on the diagonal, and what stands before it."""
    main, beside = blocks
    before: Any = adjoint(triangular_solve(last, adjoint(beside), lower=True))
    factor = factorizations.cholesky(main - before @ adjoint(before), lower=True)
    return factor, (factor, before)


def _blocks(below: Any, block: int, count: int) -> tuple[Any, Any]:
    """Return the blocks on the diagonal and before it, continued by those of the unit matrix."""
    width, size = below.shape[-2] - 1, below.shape[-1]
    number, row, column = np.indices((count, block, block))
    place = number * block + row

    def block_at(start: Any) -> Any:
        offset = place - start - column
        used = (offset >= 0) & (offset <= width) & (place < size) & (start >= 0)
        found = below[..., np.clip(offset, 0, width), np.clip(start + column, 0, size - 1)]
        return np.moveaxis(np.where(used, found, 0), -3, 0)

    half = block_at(number * block) * (1 - 0.5 * np.eye(block)).astype(below.dtype)
    added = np.einsum("ij,kj->kij", np.eye(block), place[:, :, 0] >= size).astype(below.dtype)
    added = added.reshape(count, *(1,) * (below.ndim - 2), block, block)
    return half + adjoint(half) + added, block_at((number - 1) * block)


def _band_of(factors: Any, before: Any, row: Any, column: Any) -> Any:
    """Return the elements of the factor in rows and columns."""
    count, block = factors.shape[0], factors.shape[-1]
    factors, before = np.moveaxis(factors, 0, -3), np.moveaxis(before, 0, -3)
    number, down = np.minimum(row // block, count - 1), column // block
    inside = factors[..., down, row % block, column % block]
    return np.where(number == down, inside, before[..., number, row % block, column % block])


def _lower_form(x: Any) -> Any:
    """Return the diagonals from the main one on below, of those above."""
    width, size = x.shape[-2] - 1, x.shape[-1]
    row, column = np.indices((width + 1, size))
    return np.conj(x[..., width - row, np.minimum(row + column, size - 1)])


def _upper_form(below: Any, x: Any) -> Any:
    """Return the opposite, with what `x` has where the matrix has no elements."""
    width, size = below.shape[-2] - 1, below.shape[-1]
    row, column = np.indices((width + 1, size))
    place = column - (width - row)
    return np.where(place >= 0, np.conj(below[..., width - row, np.maximum(place, 0)]), x)


# ---- eigenproblems -------------------------------------------------------------------------------

_DENSE = "Its derivative is that of the full matrix."


def _dense(below: Any) -> Any:
    """Return Hermitian matrices from their diagonals."""
    width, size = below.shape[-2] - 1, below.shape[-1]
    row, column = np.indices((size, size))
    offset = row - column
    used = (offset >= 0) & (offset <= width)
    found = np.where(used, below[..., np.clip(offset, 0, width), column], 0)
    half = found * (1 - 0.5 * np.eye(size)).astype(below.dtype)
    return half + adjoint(half)


_SELECTED = {
    word: kind
    for kind, words in {
        "a": (0, "all", "a"),
        "v": (1, "value", "v"),
        "i": (2, "index", "i"),
    }.items()
    for word in words
}


def _some(
    name: str,
    matrix: Any,
    xs: list[Any],
    eigvals_only: bool,
    select: Any,
    limits: Any,
    **options: Any,
) -> Any:
    """Return the eigenvalues that are selected, and eigenvectors as SciPy's function gives them."""
    w: Any
    v: Any
    kind = _SELECTED[select.lower() if isinstance(select, str) else select]
    if eigvals_only:
        w, v = factorizations.eigvalsh(matrix, lower=True), None
    else:
        w, v = factorizations.eigh(matrix, lower=True)
    first, last = 0, w.shape[-1]
    if kind == "v":
        first, last = (int(np.count_nonzero(w <= limit)) for limit in limits)
    elif kind == "i":
        first, last = int(limits[0]), int(limits[1]) + 1
    w = w[..., first:last]
    if v is None:
        return w
    v = v[..., first:last]
    if first == last:
        return w, v
    known = {} if kind == "a" else {"select": "i", "select_range": (first, last - 1)}
    types = (w.shape[-1:], w.dtype.str), (v.shape[-2:], v.dtype.str)
    depths = tuple(x.ndim - matrix.ndim + 2 for x in xs)
    _, reference = scipy_constant(name, types, *xs, depths=depths, **options, **known)
    return w, align(v, reference)


@covers("scipy.linalg", note=_DENSE)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues and eigenvectors of a Hermitian band matrix, by its full matrix."""
    (x,) = stacks(a_band)
    matrix = _dense(x if lower else _lower_form(x))
    options = {"lower": bool(lower)}
    return _some("eig_banded", matrix, [x], eigvals_only, select, select_range, **options)


@covers("scipy.linalg", note=_DENSE)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Return eigenvalues and eigenvectors of a real symmetric tridiagonal matrix."""
    main, beside = stacks(d, e, depths=(1, 1))
    if main.dtype.kind == "c":
        raise TypeError("Only real arrays currently supported")
    if main.shape[-1] != beside.shape[-1] + 1:
        raise ValueError(f"d ({main.shape[-1]}) must have one more element than e")
    last = np.zeros((*beside.shape[:-1], 1), beside.dtype)
    below = np.stack([main, np.concatenate([beside, last], axis=-1)], axis=-2)
    options = {"lapack_driver": lapack_driver, "tol": float(tol)}
    xs = [main, beside]
    return _some(
        "eigh_tridiagonal", _dense(below), xs, eigvals_only, select, select_range, **options
    )


borrow_functions("scipy.linalg", "eigvals_banded eigvalsh_tridiagonal", note=_DENSE)
