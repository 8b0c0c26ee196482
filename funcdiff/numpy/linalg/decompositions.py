"""NumPy's linear systems, determinants, factorizations, and the norms made of singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.dispatch import default, implements, refusal_error
from funcdiff.numpy.border.promotion import array, broadcast_shapes, broadcast_to, promote
from funcdiff.numpy.border.values import integer_or_none, is_constant
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.axes.reductions import reduce_max, reduce_min
from funcdiff.ops.elementwise.complex import imaginary_part, real, real_part
from funcdiff.ops.elementwise.mathematics import root_of_squares
from funcdiff.ops.linalg import (
    determinants,
    factorizations,
    general_eigen,
    orthogonal,
    pseudoinverse,
    singular,
    systems,
)
from funcdiff.ops.linalg.matrices import identity
from funcdiff.ops.linalg.pseudoinverse import assured_rank
from funcdiff.ops.structure.slicing import unknown
from funcdiff.ops.structure.structural import convert, permute, reshape
from funcdiff.space import kept_axes, reduce_sum

_SlogdetResult: Final[Any] = type(np.linalg.slogdet(np.eye(1)))


def inexact(x: Any) -> Tracer:
    """Return an array of a dtype that LAPACK has, integers as float64."""
    matrix: Tracer = array(x)
    if matrix.dtype.kind in "biu":
        return convert(matrix, FLOAT)
    if matrix.dtype.char not in "fdFD":
        raise TypeError(f"array type {matrix.dtype.name} is unsupported in linalg")
    return matrix


def matrix_stack(x: Any) -> Tracer:
    """Return a stack of matrices; raises NumPy's LinAlgError for fewer than two axes."""
    matrices = inexact(x)
    if matrices.ndim < 2:
        raise LinAlgError(
            f"{matrices.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    return matrices


def square_matrices(x: Any) -> Tracer:
    """Return a stack of square matrices; raises NumPy's LinAlgError for others."""
    matrices = matrix_stack(x)
    if matrices.shape[-1] != matrices.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return matrices


# ---- systems, inverse, determinant ---------------------------------------------------------------


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Tracer:
    """Return the solution of A·x = b; `b` is a vector only if it is 1-D, stacks broadcast."""
    left, right = promote(square_matrices(a), inexact(b))
    vector = right.ndim == 1
    if right.ndim == 0:
        raise ValueError("solve: the right-hand side is 0-d")
    if vector:
        right = reshape(right, (*right.shape, 1))
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"solve: matrices of shape {left.shape} do not fit a right-hand side of shape "
            f"{np.shape(b)}"
        )
    stack = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (broadcast_to(x, (*stack, *x.shape[-2:])) for x in (left, right))
    x = systems.solve(left, right)
    return reshape(x, x.shape[:-1]) if vector else x


@implements(np.linalg.inv)
def inv(a: Tracer) -> Tracer:
    """Return the inverse."""
    return systems.inv(square_matrices(a))


@implements(np.linalg.det)
def det(a: Tracer) -> Tracer:
    """Return the determinant."""
    return determinants.det(square_matrices(a))


@implements(np.linalg.slogdet)
def slogdet(a: Tracer) -> Any:
    """Return sign and logarithm of the modulus of the determinant."""
    return _SlogdetResult(*determinants.slogdet(square_matrices(a)))


_EigResult: Final[Any] = type(np.linalg.eig(np.eye(1)))
_GIVES_REAL: Final = {
    "eig": np.linalg.eig(np.eye(1))[0].dtype.kind == "f",
    "eigvals": np.linalg.eigvals(np.eye(1)).dtype.kind == "f",
}
"""Whether the installed NumPy has real eigenvalues of a real matrix where all of them are real."""
_EighResult: Final[Any] = type(np.linalg.eigh(np.eye(1)))
_QRResult: Final[Any] = type(np.linalg.qr(np.eye(1)))


# ---- Cholesky and QR -----------------------------------------------------------------------------


@implements(np.linalg.cholesky)
def cholesky(a: Tracer, /, *, upper: bool = False) -> Tracer:
    """Return the Cholesky factor; the gradient by a symmetric matrix is symmetric."""
    return factorizations.cholesky(square_matrices(a), lower=not upper)


@implements(np.linalg.qr)
def qr(a: Tracer, mode: str = "reduced") -> Any:
    """Return Q, with orthonormal columns, and the upper triangular R.

    The leading square block of A must be regular; where it is not, the derivative is infinite.
    The columns of a complete Q that are orthogonal to all of A are any basis of their space:
    reverse mode raises for a result that depends on which, and forward mode moves them without
    rotating them among themselves.  The mode "raw" gives what LAPACK makes of the transposed
    matrix, R and below it the vectors of Householder's reflectors, and their factors.
    """
    if mode in ("f", "full", "e", "economic"):
        raise refusal_error(
            f"np.linalg.qr(mode={mode!r})",
            "Pass mode='reduced', 'complete' or 'r' for the factors themselves.",
        )
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    factors = orthogonal.qr(matrix_stack(a), mode)
    if mode == "raw":
        return factors
    return factors[0] if mode == "r" else _QRResult(*factors)


# ---- Hermitian eigenproblems ---------------------------------------------------------------------


def _is_lower(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


@implements(np.linalg.eigh)
def eigh(a: Tracer, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    The gradient is symmetric where the matrix is; else it is that of the triangle that is read.

    Forward mode is exact at equal eigenvalues.  Reverse mode averages over them, because a linear
    map cannot tell how a direction parts them: (v * f(w)) @ v.T has its derivative there by jvp.
    """
    lower = _is_lower(UPLO)
    return _EighResult(*factorizations.eigh(square_matrices(a), lower=lower))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Tracer, UPLO: str = "L") -> Tracer:
    """Return eigenvalues of Hermitian matrices; where these are symmetric, the gradient is."""
    return factorizations.eigvalsh(square_matrices(a), lower=_is_lower(UPLO))


# ---- general eigenproblems -----------------------------------------------------------------------


@implements(np.linalg.eig)
def eig(a: Tracer) -> Any:
    """Return eigenvalues and eigenvectors, which are as NumPy leaves them.

    Each vector has 2-norm 1 and a real largest element, and the derivative keeps it so.  Equal
    eigenvalues share their derivative, and their vectors have none: there it raises.
    """
    x = square_matrices(a)
    w, v = general_eigen.eig(x)
    return _EigResult(real(w), real(v)) if _all_real("eig", x, w) else _EigResult(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: Tracer) -> Tracer:
    """Return eigenvalues; equal ones share their derivative."""
    x = square_matrices(a)
    w = general_eigen.eigvals(x)
    return real(w) if _all_real("eigvals", x, w) else w


def _all_real(name: str, x: Tracer, w: Any) -> bool:
    """Return whether NumPy gives real arrays: if none of the eigenvalues is complex."""
    if x.dtype.kind == "c" or not _GIVES_REAL[name]:
        return False
    try:
        return bool(np.all(w.imag == 0))
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"np.linalg.{name} of a real array was called at {user_location()}, where the trace "
            "has no values (inside vmap, cond, scan or trace), but whether its result is real or "
            "complex depends on them. Write "
            f"np.linalg.{name}(x.astype(complex)), which is always complex, or call it on the "
            "whole stack outside."
        ) from error


# --------------------------------------------------------------------------------------------------
# NumPy's functions of singular values and vectors: svd, pseudoinverse, least squares, rank.


_SVDResult: Final[Any] = type(np.linalg.svd(np.eye(1)))


@implements(np.linalg.svdvals)
def svdvals(x: Tracer, /) -> Tracer:
    """Return the singular values."""
    return singular.svdvals(matrix_stack(x))


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return the singular value decomposition.

    The derivative is that of what does not depend on the choice of the vectors: on the phase of
    complex ones, the basis of those of equal values, the basis of a null space.  What does
    depend on it raises `NotDifferentiableError`.
    """
    if hermitian:
        return _of_hermitian(a, compute_uv=compute_uv)
    if not compute_uv:
        return svdvals(a)
    return _SVDResult(*singular.svd(matrix_stack(a), full=bool(full_matrices)))


def _of_hermitian(a: Any, *, compute_uv: bool) -> Any:
    """Return the same by the eigenvalues, whose signs go into the vectors."""
    if not compute_uv:
        return np.sort(np.absolute(np.linalg.eigvalsh(a)))[..., ::-1]
    w, u = np.linalg.eigh(a)
    sign: Any = np.copysign(1.0, w)
    s: Any = np.absolute(w)
    order = np.argsort(s)[..., ::-1]
    sign, s = (np.take_along_axis(x, order, axis=-1) for x in (sign, s))
    u = np.take_along_axis(u, order[..., None, :], axis=-1)
    vh = np.conjugate(np.swapaxes(u * sign[..., None, :], -1, -2))
    return _SVDResult(u, s, vh)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number: of the singular values, or |A|·|A⁻¹| in another norm."""
    a: Any = matrix_stack(x)
    if 0 in a.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s: Any = svdvals(a)
        above, below = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        zero = below == 0
        ratio = np.where(zero, np.inf, above / np.where(zero, 1, below))
    else:
        ratio = _norm_of_both(a, p)
    undefined = np.isnan(ratio) & ~np.any(np.isnan(a), axis=(-2, -1))
    return np.where(undefined, np.inf, ratio)


def _norm_of_both(x: Any, p: Any) -> Any:
    """Return |A|·|A⁻¹|, infinite where there is no inverse."""
    sign: Any = slogdet(x).sign
    singular = sign == 0
    unit: Any = identity(x.type)
    inverse: Any = inv(np.where(singular[..., None, None], unit, x))
    reciprocal = np.where(singular, np.inf, np.linalg.norm(inverse, p, (-2, -1)))
    return np.linalg.norm(x, p, (-2, -1)) * reciprocal


# ---- pseudoinverse and least squares -------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = default) -> Tracer:
    """Return the pseudoinverse; its derivative is that of constant rank."""
    x = matrix_stack(a)
    if rcond is not None and rtol is not default:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is default else rtol
    if rcond is None:
        rcond = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    if hermitian:
        square_matrices(x)
    tolerance: Tracer = broadcast_to(array(rcond), x.shape[:-2])  # in its own precision
    return pseudoinverse.pinv(x, tolerance, symmetric=bool(hermitian))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return solution, sums of squared residuals, rank and singular values.

    The derivative is that of constant rank.  Where nobody knows it, as inside `scan`, the rank is
    taken to be full: there are residuals if there are more rows than columns, and using those of
    another rank raises.
    """
    left, right = promote(inexact(a), inexact(b))
    vector = right.ndim == 1
    if vector:
        right = reshape(right, (*right.shape, 1))
    for x in (left, right):
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    rows, columns = left.shape
    if rows != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    relative = float(np.finfo(FLOAT).eps) * max(rows, columns) if rcond is None else float(rcond)
    x, squares, rank, s = pseudoinverse.lstsq(left, right, relative=relative)
    known = integer_or_none(rank) if rows > columns else 0
    if known is None:
        squares = assured_rank(squares, array(rank < columns))
    elif known < columns or rows <= columns:
        squares = constant(0, squares.type.with_shape((0,)))
    return reshape(x, (columns,)) if vector else x, squares, rank, s


# ---- Norms of vectors and matrices: zero has the derivative zero, and ties share theirs ----------


@implements(np.linalg.norm, operands=1)
def norm(x: Tracer, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """Return a norm of vectors (one axis) or matrices (two axes)."""
    x = array(x)
    if x.dtype.kind in "biu":
        x = convert(x, FLOAT)
    is_traced = isinstance(ord, Tracer)
    if axis is None and (ord is None or (not is_traced and ord in ("f", "fro") and x.ndim == 2)):
        return _put_back(_length(x), x, tuple(range(x.ndim)), keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    places = tuple(normalize_axis(_as_axis(k), x.ndim) for k in axes)
    if len(places) == 1:
        if axis is None and not is_traced and ord == 2:
            return _put_back(_length(x), x, places, keepdims)
        return _put_back(_of_vectors(x, ord, places[0]), x, places, keepdims)
    if len(places) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if places[0] == places[1]:
        raise ValueError("Duplicate axes given.")
    return _put_back(_of_matrices(x, ord, *places), x, places, keepdims)


def _as_axis(axis: Any) -> int:
    try:
        return int(axis)
    except (TypeError, ValueError):
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from None


def _put_back(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """Put the axes that were reduced back, with length 1."""
    if not keepdims:
        return y
    return reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def _root(powers: Any, root: Callable[[Any], Any], at_zero: Any) -> Any:
    """Return the root of a sum of powers, with the derivative 0 where the sum is 0."""
    zero = powers == 0
    return np.where(zero, at_zero, root(np.where(zero, 1, powers)))


def _length(x: Tracer) -> Any:
    """Return the Euclidean norm of all elements."""
    flat = reshape(x, (x.type.size,))
    if x.dtype.kind != "c":
        return root_of_squares(flat @ flat)  # type: ignore[operator]
    a: Any = real_part(flat)
    b: Any = imaginary_part(flat)
    return root_of_squares(a @ a + b @ b)


def _euclidean(x: Any, axes: tuple[int, ...]) -> Any:
    return root_of_squares(reduce_sum((np.conjugate(x) * x).real, axes))


def _of_vectors(x: Any, ord: Any, axis: int) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    sizes: Any = np.absolute(x)
    if isinstance(ord, Tracer) and not is_constant(ord):
        return _of_traced_order(sizes, ord, axis)
    if ord is None or ord == 2:
        return _euclidean(x, (axis,))
    if ord == np.inf:
        return _largest(sizes, axis)
    if ord == -np.inf:
        return reduce_min(sizes, (axis,))
    if ord == 0:
        return reduce_sum((x != 0).astype(sizes.dtype), (axis,))
    if ord == 1:
        return reduce_sum(sizes, (axis,))
    return _of_finite_order(sizes, ord, axis)


def _of_traced_order(sizes: Any, ord: Any, axis: int) -> Any:
    """Return a norm that depends on its order: one formula, and its limits at both infinities.

    The number of nonzero elements, of order 0, is no limit: it has no derivative there.
    """
    zero, upper, lower = ord == 0, ord == np.inf, ord == -np.inf
    found: Any = _of_finite_order(sizes, np.where(zero | upper | lower, 1, ord), axis)
    count: Any = reduce_sum(array((sizes != 0).astype(sizes.dtype)), (axis,))
    found = np.where(zero, count + unknown(array(np.where(zero, ord, 0))), found)
    if not sizes.shape[axis]:
        return found
    largest: Any = reduce_max(sizes, (axis,))
    smallest: Any = reduce_min(sizes, (axis,))
    return np.where(upper, largest, np.where(lower, smallest, found))


def _of_finite_order(sizes: Any, ord: Any, axis: int) -> Any:
    zero = sizes == 0  # where |x|ᵖ is 0 or infinite, the derivative is that of |x|, which is 0
    at_zero = np.where(np.real(ord) > 0, 0.0, np.inf).astype(sizes.dtype)
    powers = np.where(zero, at_zero, np.where(zero, 1, sizes) ** ord)
    total: Any = reduce_sum(array(powers), (axis,))
    return _root(total, lambda z: z ** np.reciprocal(ord, dtype=total.dtype), at_zero)


def _largest(x: Tracer, axis: int) -> Tracer:
    """Return the maximum of non-negative numbers, 0 of none."""
    return reduce_max(x, (axis,)) if x.shape[axis] else reduce_sum(x, (axis,))


def _of_matrices(x: Any, ord: Any, row: int, column: int) -> Any:
    if ord is None or ord in ("fro", "f"):
        return _euclidean(x, tuple(sorted((row, column))))
    if ord in (2, -2, "nuc"):
        s = svdvals(permute(x, (*kept_axes(x.ndim, (row, column)), row, column)))
        last = s.ndim - 1
        if ord == "nuc":
            return reduce_sum(s, (last,))
        return _largest(s, last) if ord == 2 else reduce_min(s, (last,))
    if ord in (1, -1):
        summed, left = row, column - (column > row)
    elif ord in (np.inf, -np.inf):
        summed, left = column, row - (row > column)
    else:
        raise ValueError("Invalid norm order for matrices.")
    sums = reduce_sum(array(np.absolute(x)), (summed,))
    return _largest(sums, left) if ord > 0 else reduce_min(sums, (left,))
