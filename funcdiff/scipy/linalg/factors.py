"""Orthogonal and symmetric factors, least squares and pseudoinverses, norms, balance."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.types import INT
from funcdiff.numpy.border.promotion import Traced, array, as_number, broadcast_to
from funcdiff.numpy.border.values import integer_or_none
from funcdiff.ops.linalg import orthogonal, pseudoinverse
from funcdiff.ops.linalg.matrices import adjoint, matrix_transpose, mirrored
from funcdiff.ops.linalg.pseudoinverse import assured_rank
from funcdiff.ops.linalg.routines import scipy_constant
from funcdiff.ops.structure.structural import convert, stop_gradient
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.eigenvalues import svdvals
from funcdiff.scipy.linalg.matrix_stacks import squares, stacks, system
from funcdiff.scipy.primitives.linalg.lu import ldl as symmetric_factors

# ---- orthogonal factors --------------------------------------------------------------------------

_MODES = {"full": "complete", "qr": "complete", "r": "complete", "economic": "reduced"}


@covers("scipy.linalg", note="The permutation of pivoting is constant.")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return Q and R, with columns in an order that is constant if pivoting is asked for.

    The derivative is that of R with a diagonal whose signs, or phases, stay (S. Walter,
    L. Lehmann, 2018).
    """
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    (x,) = stacks(a)
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (_pivots(x),)
        x = np.take_along_axis(x, order[0][..., None, :].astype(int), axis=-1)
    if mode == "raw":
        h, tau = orthogonal.qr(x, "raw")
        packed: Any = matrix_transpose(h)
        height = min(x.shape[-2:])
        return (packed, tau), np.triu(packed[..., :height, :]), *order
    q, r = orthogonal.qr(x, _MODES[mode])
    return (r, *order) if mode == "r" else (q, r, *order)


def _pivots(x: Traced) -> Any:
    height, width = x.shape[-2:]
    types = ((height, width), x.dtype.str), ((width,), "<i4")
    return scipy_constant("qr", types, x, mode="r", pivoting=True)[1]


@covers("scipy.linalg", note="The permutation of pivoting is constant.")
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Return the product of Q, or of its conjugate, and a matrix, and R."""
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    q, *others = qr(a, mode="economic", pivoting=pivoting)
    q = np.conj(q) if conjugate else q
    x = array(c)
    return (q @ x if mode == "left" else x @ q, *others)


@covers("scipy.linalg")
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Return R and Q, which are those of the adjoint matrix in reverse order, turned around."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    (x,) = stacks(a)
    q, r = orthogonal.qr(_turn(x), _MODES[mode])
    return _turn(r) if mode == "r" else (_turn(r), _turn(q))


def _turn(x: Any) -> Any:
    return adjoint(x[..., ::-1, ::-1])


# ---- symmetric factors ---------------------------------------------------------------------------


@covers(
    "scipy.linalg",
    note="The order of the rows and the blocks of the diagonal are constant; the gradient is "
    "symmetric.",
)
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return L, its rows in the order of `A`, the blocks of D, and the order."""
    (x,) = squares(A)
    return symmetric_factors(x, lower=bool(lower), hermitian=bool(hermitian))


# ---- least squares and pseudoinverses ------------------------------------------------------------

_RANK = (
    "Its derivative is that of constant rank; where nobody knows it, as inside scan, the rank is "
    "taken to be full, and residuals of another one raise."
)


@covers("scipy.linalg", note=_RANK)
def lstsq(
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """Return the least solution of least squares, the squares, the rank and singular values.

    dX = A⁺·dB + dA⁺·B (G. Golub, V. Pereyra, 1973).
    """
    if lapack_driver not in (None, "gelsd", "gelsy", "gelss"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    left, right, restored = system(a, b)
    height, width = left.shape[-2:]
    if height != right.shape[-2]:
        raise ValueError(
            "Shape mismatch: a and b should have the same number of rows "
            f"({height} != {right.shape[-2]})."
        )
    relative = float(np.finfo(left.dtype).eps) if cond is None else float(cond)
    x, squares_, count, s = pseudoinverse.lstsq(left, right, relative=relative)
    rank = convert(count, np.dtype(INT))
    counts: Any = rank
    none: Any = constant(0, x.type.with_shape((*left.shape[:-2], 0)))
    if lapack_driver == "gelsy":
        return restored(x), none, rank, None
    least: Any = np.min(counts, initial=width)
    known = integer_or_none(array(least)) if height > width else 0
    if known is None:
        squares_ = assured_rank(squares_, array(rank < width))
    is_full = height > width and known in (None, width)
    return restored(x), _like(squares_, array(b)) if is_full else none, rank, s


def _like(squares_: Any, b: Traced) -> Any:
    """Return one sum for a vector, else one for each column."""
    return squares_[..., 0] if b.ndim == 1 else squares_


@covers("scipy.linalg", note=_RANK)
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the pseudoinverse, with the derivative of constant rank (G. Golub, V. Pereyra)."""
    (x,) = stacks(a)
    return _pseudoinverse(x, atol, rtol, return_rank=return_rank, symmetric=False)


@covers("scipy.linalg", note=f"{_RANK} The gradient is symmetric.")
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the pseudoinverse of Hermitian matrices; the gradient is symmetric."""
    (x,) = squares(a)
    matrix = mirrored(x, lower=bool(lower))
    return _pseudoinverse(matrix, atol, rtol, return_rank=return_rank, symmetric=True)


def _pseudoinverse(x: Any, atol: Any, rtol: Any, *, return_rank: bool, symmetric: bool) -> Any:
    s: Any = stop_gradient(svdvals(x))
    largest = np.max(s, axis=-1, initial=0.0)
    atol = 0.0 if atol is None else atol
    rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rtol is None else rtol
    limit = atol + largest * rtol
    relative = array(np.where(largest == 0, 0.0, limit / np.where(largest == 0, 1, largest)))
    found = pseudoinverse.pinv(x, broadcast_to(relative, x.shape[:-2]), symmetric=symmetric)
    if not return_rank:
        return found
    return found, np.count_nonzero(s > np.expand_dims(limit, -1), axis=-1)


# ---- norms and balance ---------------------------------------------------------------------------


@covers("scipy.linalg")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Return a norm of vectors or matrices: zero has the derivative zero, ties share theirs.

    What SciPy asks of BLAS or LAPACK, as for an array in one piece, stands for a Python number.
    """
    x: Any = array(a)
    of_vector = x.ndim == 1 and x.size > 0 and ord in (None, 2)
    of_matrix = x.ndim == 2 and min(x.shape) > 1 and ord in (1, np.inf)
    if axis is not None or keepdims or x.dtype.char not in "fdFD" or not (of_vector or of_matrix):
        return np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
    wide = x.astype(np.result_type(x.dtype, np.float64)) if of_vector else x  # nothing overflows
    found: Any = np.linalg.norm(wide, ord=ord)
    return as_number(array(found.astype(x.real.dtype).astype(np.float64)))


@covers("scipy.linalg", note="Permutation and scales are constant.")
def matrix_balance(
    A: Any,
    permute: bool = True,
    scale: bool = True,
    separate: bool = False,
    overwrite_a: bool = False,
) -> Any:
    """Return T⁻¹·A·T and T, a permutation times scales that are constant."""
    (x,) = squares(np.atleast_2d(array(A)))
    count = x.shape[-1]
    types = ((count, count), x.dtype.str), ((count,), x.dtype.str), ((count,), "<i8")
    found: Any = scipy_constant(
        "matrix_balance", types, x, permute=bool(permute), scale=bool(scale), separate=1
    )
    _, scales, order = found
    rows = np.take_along_axis(x, order[..., :, None], axis=-2)
    y = np.take_along_axis(rows, order[..., None, :], axis=-1)
    y = y * scales[..., None, :] / scales[..., :, None]
    if separate:
        return y, (scales.real, order)
    place = np.argsort(order, axis=-1)
    unit = np.arange(count) == place[..., :, None]
    return y, np.where(unit, scales[..., None, :], 0).real
