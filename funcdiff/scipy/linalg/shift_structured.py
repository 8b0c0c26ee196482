"""Toeplitz and circulant matrices: products and systems, by transforms and by recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.structure.structural import reshape
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.stacks import inexact, stacks
from funcdiff.scipy.primitives.linalg.toeplitz import toeplitz_solve


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
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Return the product of a Toeplitz matrix and another one, by a circulant one around it."""
    column, row, matrix, is_vector = _operands(c_or_cr, x)
    height, length = column.shape[-1], column.shape[-1] + row.shape[-1] - 1
    first = np.concatenate([column, row[..., :0:-1]], axis=-1)[..., None]
    spectrum: Any
    y: Any
    if matrix.dtype.kind == "c":
        spectrum = np.fft.fft(first, axis=-2) * np.fft.fft(matrix, length, axis=-2)
        y = np.fft.ifft(spectrum, axis=-2)
    else:
        spectrum = np.fft.rfft(first, axis=-2) * np.fft.rfft(matrix, length, axis=-2)
        y = np.fft.irfft(spectrum, length, axis=-2)
    return y[..., :height, 0] if is_vector else y[..., :height, :]


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
