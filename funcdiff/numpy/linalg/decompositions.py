"""NumPy's factorizations of matrices: Cholesky, QR, eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.dispatch import implements, unsupported
from funcdiff.numpy.linalg.systems import matrix_stack, square_matrices
from funcdiff.ops.elementwise.complex import real
from funcdiff.ops.linalg import eigen, factorizations, orthogonal

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
        raise unsupported(
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
    w, v = eigen.eig(x)
    return _EigResult(real(w), real(v)) if _all_real("eig", x, w) else _EigResult(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: Tracer) -> Tracer:
    """Return eigenvalues; equal ones share their derivative."""
    x = square_matrices(a)
    w = eigen.eigvals(x)
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
