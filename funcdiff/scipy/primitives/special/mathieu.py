"""Mathieu's functions, in the parameter q and in the place.

They solve y'' = (2q·cos 2x - a)·y, the modified ones y'' = (a - 2q·cosh 2x)·y.  Coefficients of
their Fourier series are eigenvectors (NIST Digital Library of Mathematical Functions, sections
28.4 and 28.20), and derivatives in q are theirs.  SciPy takes degrees, and gives slopes in radians.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from funcdiff.ops.elementwise.mathematics import DEGREE
from funcdiff.scipy.primitives.numerics.bessel_products import bessel_products
from funcdiff.scipy.primitives.numerics.radial_spheroidal import (
    MOST,
    coefficients,
    divide_series,
    eigenvector_derivatives,
    of_distinct,
)
from funcdiff.scipy.primitives.special.family import Op, by_order, result_of, special, undefined

# ---- characteristic values and Fourier coefficients ----------------------------------------------


@cache
def _matrices(even: int, odd: int, count: int) -> tuple[Any, Any]:
    """Return the frequencies, and what is multiplied by q; the even constant term is c₀/√2."""
    frequencies = 2.0 * np.arange(count) + (1 if odd else 0 if even else 2)
    coupling = np.eye(count, k=1) + np.eye(count, k=-1)
    if odd:
        coupling[0, 0] = 1 if even else -1
    elif even:
        coupling[0, 1] = coupling[1, 0] = np.sqrt(2)
    return frequencies, coupling


@lru_cache(maxsize=256)
def _solve(even: int, m: float, q: float, order: int) -> tuple[Any, Any, Any]:
    """Return frequencies and the derivatives in q of the characteristic value and coefficients.

    The sign is that for which the function goes on to cos mx or sin mx as q goes to 0: neither at
    π/2 nor, for q < 0, at 0 do its value and slope both vanish.
    """
    odd = int(m) % 2
    count = coefficients(m, q)
    frequencies, coupling = _matrices(even, odd, count)
    index = (int(m) - int(frequencies[0])) // 2
    values, vectors = eigenvector_derivatives(frequencies**2, coupling, q, index, order)
    if even and not odd:
        vectors[:, 0] /= np.sqrt(2)
    weights = np.ones(count) if q < 0 else (-1.0) ** ((frequencies - m) / 2)
    if even != (q < 0 or not odd):
        weights = weights * frequencies
    return frequencies, values, vectors * np.sign(vectors[0] @ weights)


def _exists(even: int, m: Any) -> Any:
    return (m == np.floor(m)) & (m >= 1 - even) & (m <= MOST)


def _values(orders: tuple[int, ...], m: Any, q: Any) -> Any:
    even, k = orders
    whole = np.where(_exists(even, m), m, np.nan)
    found, places = of_distinct(lambda m, q: _solve(even, m, q, k)[1][k], whole, q)
    return np.array([np.nan if value is None else value for value in found])[places]


def _waves(orders: tuple[int, ...], m: Any, q: Any, x: Any) -> Any:
    """Return the sum over the frequencies r of coefficients times cos rx or sin rx."""
    even, k, slopes = orders
    result = np.full(x.shape, np.nan)
    whole = np.where(_exists(even, m), m, np.nan)
    found, places = of_distinct(lambda m, q: _solve(even, m, q, k), whole, q)
    for place, parts in enumerate(found):
        if parts is not None:
            frequencies, _, vectors = parts
            here = places == place
            angles = np.multiply.outer(x[here], frequencies) + (slopes + even) * np.pi / 2
            result[here] = np.sin(angles) @ (vectors[k] * frequencies**slopes)
    return result


mathieu_values: Op = by_order(
    "mathieu_values",
    _values,
    None,
    lambda orders, m, q: mathieu_values((orders[0], orders[1] + 1), m, q),
)
mathieu_waves: Op = by_order(
    "mathieu_waves",
    _waves,
    None,
    lambda orders, m, q, x: mathieu_waves((orders[0], orders[1] + 1, orders[2]), m, q, x),
    lambda orders, m, q, x: mathieu_waves((*orders[:2], orders[2] + 1), m, q, x),
)

mathieu_a: Op = special("mathieu_a", "m", lambda m, q, y: mathieu_values((1, 1), m, q))
mathieu_b: Op = special("mathieu_b", "m", lambda m, q, y: mathieu_values((0, 1), m, q))

# ---- modified functions as sums of products of Bessel functions ----------------------------------


def _radial(orders: tuple[int, ...], m: Any, q: Any, x: Any) -> Any:
    """Return derivatives in q and x of a function, as section 28.24 has it.

    Where terms are so large that the sum has few digits, as for x < 0, this is nan.
    """
    kind, even, k, slopes = orders
    result = np.full(x.shape, np.nan)
    whole = np.where(_exists(even, m) & (q > 0), m, np.nan)
    found, places = of_distinct(lambda m, q: _ratios(even, m, q, k), whole, q)
    for place, parts in enumerate(found):
        here = places == place
        if parts is not None and here.any():
            low, high, sign, ratios = parts
            parameter = float(q[here].flat[0])
            sums = bessel_products(kind, low, high, sign, parameter, x[here], k, slopes)
            terms = sum(math.comb(k, j) * sums[j] * ratios[k - j] for j in range(k + 1))
            total, size = terms.sum(-1), np.abs(terms).sum(-1)
            lost = size * np.finfo(float).eps > 1e-8 * np.maximum(1, np.abs(total))
            result[here] = np.where(lost, np.nan, total)
    return result


def _ratios(even: int, m: float, q: float, order: int) -> tuple[Any, ...]:
    """Return orders of Bessel functions, a sign, and derivatives in q of what they come with.

    That is a quotient of Fourier coefficients, the lower one being the largest of them.
    """
    frequencies, _, vectors = _solve(even, m, q, order)
    factorials = np.array([math.factorial(k) for k in range(order + 1)])
    series = vectors / factorials[:, None]
    index = int(np.argmax(np.abs(series[0])))
    lowest = int(frequencies[0])
    turns = (-1.0) ** (np.arange(len(frequencies)) + (int(m) - lowest) // 2)
    twice = 2 if lowest == index == 0 else 1
    quotients = np.stack([divide_series(column, series[:, index]) for column in series.T], -1)
    places = np.arange(len(frequencies))
    scaled = factorials[:, None] * quotients * turns / twice
    return places - index, places + index + lowest, 1 if even else -1, scaled


mathieu_radial: Op = by_order(
    "mathieu_radial",
    _radial,
    None,
    lambda orders, m, q, x: mathieu_radial((*orders[:2], orders[2] + 1, orders[3]), m, q, x),
    lambda orders, m, q, x: mathieu_radial((*orders[:3], orders[3] + 1), m, q, x),
)

# ---- the functions -------------------------------------------------------------------------------


def _of_value(y: Any, slope: Any) -> Any:
    """Return the slope, or nan with the value: that of single precision, where SciPy has none."""
    return np.where(np.isnan(y), y, slope)


def _angular(name: str, even: int) -> tuple[Op, Op]:
    """Declare a function and its slope."""

    def wave(k: int, slopes: int) -> Op:
        return lambda m, q, x, y: _of_value(y, mathieu_waves((even, k, slopes), m, q, DEGREE * x))

    def by_place(slopes: int) -> Op:
        return lambda *xs: DEGREE * wave(0, slopes)(*xs)

    unknown = undefined(name, "m")
    value = special(f"{name}_value", unknown, wave(1, 0), by_place(1), run=result_of(name, 0))
    slope = special(f"{name}_slope", unknown, wave(1, 1), by_place(2), run=result_of(name, 1))
    return value, slope


def _declare_modified(name: str, characteristic: Op) -> tuple[Op, Op]:
    """Declare a modified function and its slope."""
    kind, even = int(name[-1]), int("ce" in name)

    def by_parameter(slopes: int) -> Op:
        return lambda m, q, x, y: _of_value(y, mathieu_radial((kind, even, 1, slopes), m, q, x))

    def curvature(m: Any, q: Any, x: Any, _y: Any) -> Any:
        return (characteristic(m, q) - 2 * q * np.cosh(2 * x)) * value(m, q, x)

    def by_place(m: Any, q: Any, x: Any, _y: Any) -> Any:
        return slope(m, q, x)

    unknown = undefined(name, "m")
    value: Op = special(f"{name}_value", unknown, by_parameter(0), by_place, run=result_of(name, 0))
    slope: Op = special(
        f"{name}_slope", unknown, by_parameter(1), curvature, run=result_of(name, 1)
    )
    return value, slope


mathieu_cem_value, mathieu_cem_slope = _angular("mathieu_cem", 1)
mathieu_sem_value, mathieu_sem_slope = _angular("mathieu_sem", 0)
mathieu_modcem1_value, mathieu_modcem1_slope = _declare_modified("mathieu_modcem1", mathieu_a)
mathieu_modcem2_value, mathieu_modcem2_slope = _declare_modified("mathieu_modcem2", mathieu_a)
mathieu_modsem1_value, mathieu_modsem1_slope = _declare_modified("mathieu_modsem1", mathieu_b)
mathieu_modsem2_value, mathieu_modsem2_slope = _declare_modified("mathieu_modsem2", mathieu_b)
