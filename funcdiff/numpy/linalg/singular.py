"""NumPy's functions of singular values and vectors: svd, pseudoinverse, least squares, rank."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.promotion import array, broadcast_to, promote
from funcdiff.numpy.border.values import known_integer
from funcdiff.numpy.linalg.systems import inexact, inv, matrix_stack, slogdet, square_matrices
from funcdiff.ops.linalg import pseudoinverse, singular
from funcdiff.ops.linalg.matrices import identity
from funcdiff.ops.linalg.pseudoinverse import assured_rank
from funcdiff.ops.structure.structural import reshape

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


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return how many singular values exceed a tolerance; it has no derivative."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x: Any = array(A)
    if x.ndim < 2:
        return np.any(x != 0).astype(int)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        limit = np.expand_dims(tol, -1)
    elif rtol is not None:
        limit = np.max(s, axis=-1, keepdims=True, initial=0) * np.expand_dims(rtol, -1)
    else:
        relative = max(x.shape[-2:]) * np.finfo(s.dtype).eps
        limit = np.max(s, axis=-1, keepdims=True, initial=0) * relative
    return np.count_nonzero(s > limit, axis=-1)


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
    return pseudoinverse.pinv(x, _tolerance(rcond, x), symmetric=bool(hermitian))


def _tolerance(value: Any, x: Tracer) -> Tracer:
    """Return a tolerance for each matrix, in the precision that NumPy compares it in."""
    tolerance: Tracer = broadcast_to(array(value), x.shape[:-2])
    return tolerance


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
    known = known_integer(rank) if rows > columns else 0
    if known is None:
        squares = assured_rank(squares, array(rank < columns))
    elif known < columns or rows <= columns:
        squares = constant(0, squares.type.with_shape((0,)))
    return reshape(x, (columns,)) if vector else x, squares, rank, s
