"""Matrices of a special form, made of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.promotion import Traced, array, broadcast_shapes, broadcast_to
from funcdiff.scipy.borrowing import borrow_functions
from funcdiff.scipy.covered import covers


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


@covers("scipy.linalg")
def leslie(f: Any, s: Any) -> Any:
    """Return the matrix with fecundities in the first row and survivals below the diagonal."""
    births, survivals = _vectors(f, s)
    count = births.shape[-1]
    if count != survivals.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            "than the length of f."
        )
    if count == 1:
        raise ValueError("The length of s must be at least 1.")
    below = survivals[..., :, None] * np.eye(count - 1, count, dtype=survivals.dtype)
    return np.concatenate([births[..., None, :], below], axis=-2)


@covers("scipy.linalg")
def diagsvd(s: Any, M: int, N: int) -> Any:
    """Return the matrix of singular values of a decomposition of that shape."""
    (values,) = _vectors(s)
    count = values.shape[-1]
    if count not in (M, N):
        raise ValueError("Length of s must be M or N.")
    square = values[..., :, None] * np.eye(count, N, dtype=values.dtype)
    zeros = np.zeros((*values.shape[:-1], M - count, N), values.dtype)
    return np.concatenate([square, zeros], axis=-2)


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
    "block_diag companion convolution_matrix fiedler fiedler_companion khatri_rao kron",
)
