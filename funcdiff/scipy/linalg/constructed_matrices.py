"""Matrices of a special form, made of vectors: products and systems of Toeplitz matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import Traced, array, broadcast_shapes, broadcast_to
from funcdiff.ops.structure.structural import reshape
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.matrix_stacks import inexact, stacks
from funcdiff.scipy.primitives.linalg.structured import toeplitz_solve


def _vectors(*xs: Any) -> list[Traced]:
    """Return stacks of vectors, broadcast to one shape."""
    given: list[Any] = [np.atleast_1d(array(x)) for x in xs]
    stack = broadcast_shapes(*(x.shape[:-1] for x in given))
    return [broadcast_to(x, (*stack, x.shape[-1])) for x in given]


@covers("scipy.linalg")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix with constant diagonals, of its first column and first row."""
    column, row = _vectors(c, np.conj(array(c)) if r is None else r)
    elements = np.concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    height, width = column.shape[-1], row.shape[-1]
    return elements[..., height - 1 - np.arange(height)[:, None] + np.arange(width)]


@covers("scipy.linalg")
def circulant(c: Any) -> Any:
    """Return the matrix whose columns are its first one, turned around."""
    (column,) = _vectors(c)
    place = np.arange(column.shape[-1])
    return column[..., (place[:, None] - place) % max(1, len(place))]


@covers("scipy.linalg")
def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix with constant antidiagonals, of its first column and last row."""
    column = array(c).ravel()
    row = np.zeros_like(column) if r is None else array(r).ravel()
    elements = np.concatenate([column, row[1:]])
    return elements[np.arange(len(column))[:, None] + np.arange(len(row))]


# ---- facts ---------------------------------------------------------------------------------------

_FACT = "It is a fact, which has no derivative."


@covers("scipy.linalg", note=_FACT)
def issymmetric(a: Any, atol: float | None = None, rtol: float | None = None) -> Any:
    """Return whether a matrix is symmetric, up to tolerances if there are any."""
    x = array(a)
    return _is_equal(x, np.matrix_transpose(x), atol, rtol)


@covers("scipy.linalg", note=_FACT)
def ishermitian(a: Any, atol: float | None = None, rtol: float | None = None) -> Any:
    """Return whether a matrix is Hermitian, up to tolerances if there are any."""
    x = array(a)
    return _is_equal(x, np.conj(np.matrix_transpose(x)), atol, rtol)


def _is_equal(x: Any, y: Any, atol: float | None, rtol: float | None) -> Any:
    if x.shape != y.shape:
        raise ValueError("Input array must be square.")
    if atol is None and rtol is None:
        return np.all(x == y, axis=(-2, -1))
    return np.all(np.isclose(x, y, atol=atol or 0.0, rtol=rtol or 0.0), axis=(-2, -1))


@covers("scipy.linalg", note=_FACT)
def bandwidth(a: Any) -> Any:
    """Return how many diagonals with elements there are below and above the main one."""
    x = array(a)
    row, column = np.indices(x.shape[-2:])
    used = x != 0
    below, above = (np.where(used, d, 0) for d in (row - column, column - row))
    found = [np.max(d, axis=(-2, -1), initial=0) for d in (below, above)]
    return found if x.ndim > 2 else tuple(found)


borrow_functions(
    "scipy.linalg",
    "block_diag companion convolution_matrix diagsvd fiedler fiedler_companion khatri_rao kron "
    "leslie matmul_toeplitz",
)


# ---- Toeplitz and circulant matrices: products and systems, by transforms and by recursion -------


def _operands(c_or_cr: Any, x: Any) -> tuple[Traced, Traced, Traced, bool]:
    """Return first column, first row and a matrix in double precision, and if it was a vector."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, np.conj(array(c_or_cr)))
    x = array(x)
    is_vector = x.ndim == 1
    column, row, matrix = stacks(c, r, x[:, None] if is_vector else x, depths=(1, 1, 2))
    dtype = np.result_type(matrix.dtype, np.float64)
    if row.shape[-1] != matrix.shape[-2]:
        raise ValueError("Incompatible dimensions.")
    return column.astype(dtype), row.astype(dtype), matrix.astype(dtype), is_vector


@covers("scipy.linalg", joins=False)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve a Toeplitz system by Levinson's recursion; so do the derivatives."""
    column, row, right, is_vector = _operands(c_or_cr, b)
    if column.shape[-1] != row.shape[-1]:
        raise ValueError("Incompatible dimensions.")
    elements: Any = np.concatenate([row[..., :0:-1], column], axis=-1)
    x = toeplitz_solve(elements, right)
    return reshape(x, x.shape[:-1]) if is_vector else x


@covers("scipy.linalg")
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: float | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """Solve a circulant system by Fourier transforms, least squares of a singular one if asked."""
    column, right = (np.atleast_1d(inexact(x)) for x in (c, b))
    column, right = np.moveaxis(column, caxis, -1), np.moveaxis(right, baxis, -1)
    if column.shape[-1] != right.shape[-1]:
        raise ValueError(f"Shapes of c {column.shape} and b {right.shape} are incompatible")
    is_real = column.dtype.kind != "c" and right.dtype.kind != "c"
    divisor = np.fft.fft(column, axis=-1)
    size = np.abs(divisor)
    if tol is None:
        eps = np.finfo(np.float64).eps
        tol = np.max(size, axis=-1, keepdims=True) * column.shape[-1] * eps
    near_zero = size <= tol
    if singular == "raise":
        error = LinAlgError("near singular circulant matrix.")
        divisor = refuse_where(near_zero, error, divisor)
    quotient = np.fft.fft(right, axis=-1) / np.where(near_zero, 1, divisor)
    x = np.fft.ifft(np.where(near_zero, 0, quotient), axis=-1)
    return np.moveaxis(x.real if is_real else x, -1, outaxis)
