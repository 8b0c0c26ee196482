"""Series of eigenvalues and eigenvectors of tridiagonal matrices D + t·B in the parameter t.

F. Rellich, "Perturbation Theory of Eigenvalue Problems", Gordon and Breach 1969: eigenvalues of
such matrices are simple, so both are analytic functions of t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

MOST: Final = 1000
"""The largest order of a function, the largest parameter being its square."""


def coefficients(order: float, t: float) -> int:
    """Return how many coefficients of a function are not 0 in float64, every second one counted.

    For large t it is one of Hermite's functions of an argument scaled by the fourth root of t.
    """
    wide = abs(t) ** 0.25
    return 30 + int(order + 6 * wide + math.sqrt(order) * wide)


def eigenvector_derivatives(
    levels: Any, coupling: Any, t: float, index: int, order: int
) -> tuple[Any, Any]:
    """Return derivatives in t, up to an order, of an eigenvalue and of its vector of length 1.

    Parameters
    ----------
    levels
        Diagonal of D.
    coupling
        B, a symmetric matrix.
    index
        Which of the eigenvalues, from the smallest.
    """
    values, basis = np.linalg.eigh(np.diag(levels) + t * coupling)
    gaps = values[index] - values
    gaps[index] = np.inf
    series, vectors = [values[index]], [basis[:, index]]
    for k in range(1, order + 1):
        moved = coupling @ vectors[-1]
        moved = moved - sum(series[j] * vectors[k - j] for j in range(1, k))
        series.append(vectors[0] @ moved)
        length = sum(vectors[j] @ vectors[k - j] for j in range(1, k))
        vectors.append(basis @ (basis.T @ moved / gaps) - length / 2 * vectors[0])
    factorials = np.array([math.factorial(k) for k in range(order + 1)])
    return factorials * series, factorials[:, None] * np.stack(vectors)


def multiplied(f: Any, g: Any) -> Any:
    """Return the coefficients of a product of power series, as many as there are of one."""
    return np.convolve(f, g)[: len(f)]


def divided(f: Any, g: Any) -> Any:
    """Return the coefficients of a quotient of power series."""
    quotient = np.zeros_like(f)
    for k in range(len(f)):
        quotient[k] = (f[k] - quotient[:k] @ g[k:0:-1]) / g[0]
    return quotient


def of_distinct(compute: Callable[..., Any], *xs: Any) -> tuple[list[Any], Any]:
    """Return what is computed of each distinct combination of numbers, and where it belongs.

    Of numbers that are not finite or too large, for which matrices would be, that is None.
    """
    rows, places = np.unique(np.stack(xs, -1).reshape(-1, len(xs)), axis=0, return_inverse=True)
    known = (np.abs(rows) <= MOST**2).all(1)
    found = [compute(*map(float, row)) if k else None for row, k in zip(rows, known, strict=True)]
    return found, places.reshape(xs[0].shape)
