"""Radial spheroidal wave functions as series of spherical Bessel functions, in NumPy and float64.

NIST Digital Library of Mathematical Functions, section 30.11.  Those of the second kind converge
like powers of 1/x², and are continued inwards by their differential equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function

# --------------------------------------------------------------------------------------------------
# Series of eigenvalues and eigenvectors of tridiagonal matrices D + t·B in the parameter t.
#
# F. Rellich, "Perturbation Theory of Eigenvalue Problems", Gordon and Breach 1969: eigenvalues of
# such matrices are simple, so both are analytic functions of t.


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

    `levels`: diagonal of D.
    `coupling`: B, a symmetric matrix.
    `index`: which of the eigenvalues, from the smallest.

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
        below = within[k] * parameter + beside[k] * multiply_series(parameter, ratio) - value
        below[0] += levels[k]
        ratio = divide_series(-beside[k - 1] * parameter, below)
        ratios.append(ratio)
    for k, ratio in enumerate(reversed(ratios), inner + 1):
        vectors[:, k] = multiply_series(vectors[:, k - 1], ratio)


def multiply_series(f: Any, g: Any) -> Any:
    """Return the coefficients of a product of power series, as many as there are of one."""
    return np.convolve(f, g)[: len(f)]


def divide_series(f: Any, g: Any) -> Any:
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


_LOST: Final = 1e-8
"""The relative error from which on a sum is nan."""
_STEP: Final = 0.25
"""The length of a step, at most, as a part of the radius of convergence."""
_TERMS: Final = 60


def radial_series(
    kind: int, degrees: Any, weights: Any, c: float, x: Any, slopes: int, conditioning: float
) -> Any:
    """Return a derivative of Σ w(c)·z(cx) by c and x, where z are spherical Bessel functions.

    `kind`: 1 where z are jₖ, 2 where they are yₖ.
    `degrees`: vector of k, every second number.
    `weights`: derivatives of w by c along the first axis; the last of the sum is what is returned.
    `x`: vector of places.
    `slopes`: the derivative in x.
    `conditioning`: the relative error of all weights, as a multiple of the precision.
    """
    by_c = len(weights) - 1
    waves = _slopes(kind, degrees, c * x[:, None], by_c + slopes)
    terms: Any = 0.0
    with np.errstate(all="ignore"):
        for i in range(by_c + 1):
            wave: Any = 0.0
            for r in range(min(i, slopes) + 1):
                count = math.comb(i, r) * math.perm(slopes, r) * c ** (slopes - r)
                wave = wave + count * x[:, None] ** (i - r) * waves[slopes + i - r]
            terms = terms + math.comb(by_c, i) * weights[by_c - i] * wave
    known = np.logical_and.accumulate(np.isfinite(terms), axis=1)
    terms = np.where(known, terms, 0)
    last = np.abs(np.take_along_axis(terms, np.maximum(known.sum(1) - 1, 0)[:, None], 1))[:, 0]
    total, size = terms.sum(1), np.abs(terms).sum(1)
    error = (size + conditioning * np.abs(total)) * np.finfo(float).eps + last
    return np.where(known.any(1) & (error <= _LOST * np.abs(total)), total, np.nan)


def _slopes(kind: int, degrees: Any, u: Any, count: int) -> list[Any]:
    """Return derivatives of spherical Bessel functions, DLMF 10.51.2, up to a count."""
    function = scipy_function("spherical_jn" if kind == 1 else "spherical_yn")
    every = np.arange(int(degrees[-1]) + count + 1)
    with np.errstate(all="ignore"):
        values = function(every, u)
        results = [values[:, degrees]]
        for _ in range(count):
            k = every[1 : values.shape[1] - 1]
            inner = (k * values[:, :-2] - (k + 1) * values[:, 2:]) / (2 * k + 1)
            values = np.concatenate([-values[:, 1:2], inner], 1)
            results.append(values[:, degrees])
    return results


def continue_solution(
    sign: int, m: int, level: Any, c: float, start: float, values: Any, x: Any, slopes: int
) -> Any:
    """Return derivatives in c and x of a solution at places below one where it is known.

    Of (x² ∓ 1)^(m/2)·u the factor u solves (x² ∓ 1)·u'' + 2(m + 1)·x·u' = (λ - m(m + 1) - c²x²)·u,
    by series of powers of x from place to place; u/xᵐ is what `radial_series` computes.

    `level`: λ as a power series in c.
    `values`: power series in c of u and its slope at `start`.
    """
    lower = -level
    lower[0] += m * (m + 1)
    square = np.zeros_like(level)
    square[:3] = (c * c, 2 * c, 1)[: len(level)]
    result = np.full(x.shape, np.nan)
    place, lowest = start, x.min(initial=start)
    while True:
        radius = place - 1 if sign > 0 else math.hypot(place, 1)
        end = place - min(_STEP * radius, 6 / c)
        terms = _powers(sign, m, lower, square, place, values)
        here = (x > end) & (x <= place)
        if here.any():
            result[here] = _of_product(terms[:, -1], m, place, x[here], slopes)
        if end <= lowest:
            return result
        counts = np.arange(_TERMS)
        steps = (end - place) ** counts[:, None]
        values = (terms * steps).sum(0), (counts[1:, None] * terms[1:] * steps[:-1]).sum(0)
        place = end


def _powers(sign: int, m: int, lower: Any, square: Any, place: float, values: Any) -> Any:
    """Return coefficients of powers of x - place, power series in c along the last axis."""
    terms = np.zeros((_TERMS, len(lower)))
    terms[:2] = values
    for j in range(_TERMS - 2):
        moved = place * place * terms[j]
        moved += 2 * place * terms[j - 1] if j > 0 else 0
        moved += terms[j - 2] if j > 1 else 0
        total = multiply_series(square, moved) + multiply_series(lower, terms[j])
        total += j * (j + 2 * m + 1) * terms[j]
        total += 2 * place * (j + 1) * (j + m + 1) * terms[j + 1]
        terms[j + 2] = -total / ((place * place - sign) * (j + 1) * (j + 2))
    return terms


def _of_product(terms: Any, m: int, place: float, x: Any, slopes: int) -> Any:
    """Return a derivative of xᵐ times a series of powers of x - place."""
    total: Any = 0.0
    for r in range(slopes + 1):
        series = np.polynomial.polynomial.polyder(terms, slopes - r)
        value = np.polynomial.polynomial.polyval(x - place, series)
        power = math.perm(m, r) * x ** max(m - r, 0)
        total = total + math.comb(slopes, r) * power * value
    return total
