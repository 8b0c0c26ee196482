"""``autograd.numpy.linalg``: `funcdiff.numpy.linalg`, with eigenvalues by one triangle.

``eigh`` and ``eigvalsh`` read one triangle of a matrix, and autograd's derivatives are by the
entries that are read, as differences have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.autograd.box_classes import isbox
from funcdiff.autograd.names import attributes
from funcdiff.numpy import linalg

__all__ = ["eigh", "eigvalsh"]


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues and eigenvectors of a Hermitian matrix, by one of its triangles."""
    return linalg.eigh(_by_triangle(a, UPLO), UPLO)  # type: ignore[call-overload]


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of a Hermitian matrix, by one of its triangles."""
    return linalg.eigvalsh(_by_triangle(a, UPLO), UPLO)  # type: ignore[call-overload]


def _by_triangle(a: Any, uplo: str) -> Any:
    """Return the matrix that a triangle is of; the values in this triangle are the same."""
    if not isbox(a) or a.ndim < 2:
        return a
    cut = np.triu if uplo.upper() == "U" else np.tril
    strict = cut(a, 1 if cut is np.triu else -1)
    n = a.shape[-1]
    diagonal = np.where(np.eye(n, dtype=bool), np.real(a), 0)
    return strict + diagonal + np.conj(np.swapaxes(strict, -1, -2))


def T(x: Any) -> Any:  # noqa: N802
    """Return matrices transposed."""
    return np.swapaxes(x, -1, -2)


def _dot(a: Any, b: Any) -> Any:
    """Return the products of matrices."""
    return np.einsum("...ij,...jk->...ik", a, b)


__getattr__, __dir__ = attributes(__name__, linalg)
