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

    Notes
    -----
    Small coefficients far out have all their digits, as series with large terms need it.
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
    stack = np.stack(vectors)
    _refine(levels, coupling, t, np.array(series), stack)
    factorials = np.array([math.factorial(k) for k in range(order + 1)])
    return factorials * series, factorials[:, None] * stack


def _refine(levels: Any, coupling: Any, t: float, value: Any, vectors: Any) -> None:
    """Set coefficients far out, each from the one before, by continued fractions of power series.

    They are the minimal solution of the recurrence: W. Gautschi, "Computational Aspects of
    Three-Term Recurrence Relations", SIAM Review 9, 1967.
    """
    beside, within = np.append(np.diag(coupling, 1), 0), np.diag(coupling)
    parameter = np.zeros_like(value)
    parameter[:2] = (t, 1)[: len(value)]
    gap = levels + t * within - value[0]
    wide = gap > 2 * np.abs(t * np.maximum(beside, np.append(0, beside[:-1])))
    inner = max(int(np.argmax(np.abs(vectors[0]))), int(np.max(np.flatnonzero(~wide), initial=0)))
    ratio, ratios = np.zeros_like(value), []
    for k in range(len(levels) - 1, inner, -1):
        below = within[k] * parameter + beside[k] * multiplied(parameter, ratio) - value
        below[0] += levels[k]
        ratio = divided(-beside[k - 1] * parameter, below)
        ratios.append(ratio)
    for k, ratio in enumerate(reversed(ratios), inner + 1):
        vectors[:, k] = multiplied(vectors[:, k - 1], ratio)


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
