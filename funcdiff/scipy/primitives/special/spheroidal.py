"""Spheroidal wave functions in the place, and their characteristic values in the parameter c.

With w = 1 - x² they solve (w·y')' = (m²/w + t·x² - λ)·y, where t is c² for prolate and -c² for
oblate ones; oblate radial functions solve it at ix.  The characteristic value λ is an eigenvalue in
the basis of associated Legendre functions (NIST Digital Library of Mathematical Functions, sections
30.2 and 30.16).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.ops.families import Elementwise
from funcdiff.scipy.primitives.numerics.radial_spheroidal import (
    MOST,
    coefficients,
    continue_solution,
    divide_series,
    eigenvector_derivatives,
    multiply_series,
    of_distinct,
    radial_series,
)
from funcdiff.scipy.primitives.special.family import Op, by_order, result_of, special, undefined

_MORE: Final = 50
"""How many coefficients more series of the second kind have."""
_FAR: Final = 2.5
"""From where on these series converge fast."""

# ---- characteristic values -----------------------------------------------------------------------


@lru_cache(maxsize=256)
def _solve(m: float, n: float, t: float, order: int, more: int = 0) -> tuple[Any, Any]:
    """Return the derivatives in t of the characteristic value, and of what it belongs to."""
    count = coefficients(n - m, t) + more
    degrees = m + (n - m) % 2 + 2 * np.arange(count)
    ladder = np.append(degrees, degrees[-1] + 2)
    below, above = (np.sqrt((k * k - m * m) / (4 * k * k - 1)) for k in (ladder, ladder + 1))
    beside = above[:-2] * below[1:-1]
    squared = np.diag(below[:-1] ** 2 + above[:-1] ** 2) + np.diag(beside, 1) + np.diag(beside, -1)
    return eigenvector_derivatives(degrees * (degrees + 1), squared, t, int(n - m) // 2, order)


def _whole(m: Any, n: Any) -> Any:
    """Return m, and nan where there is no function of these orders."""
    exists = (m == np.floor(m)) & (n == np.floor(n)) & (m >= 0) & (n >= m) & (n <= MOST)
    return np.where(exists, m, np.nan)


def _values(orders: tuple[int, ...], m: Any, n: Any, t: Any) -> Any:
    (k,) = orders
    found, places = of_distinct(lambda m, n, t: _solve(m, n, t, k)[0][k], _whole(m, n), n, t)
    return np.array([np.nan if value is None else value for value in found])[places]


spheroidal_values: Op = by_order(
    "spheroidal_values",
    _values,
    None,
    None,
    lambda orders, m, n, t: spheroidal_values((orders[0] + 1,), m, n, t),
)


def _characteristic(name: str, sign: int) -> Op:
    def by_parameter(m: Any, n: Any, c: Any, _y: Any) -> Any:
        slope = sign * 2 * c * spheroidal_values((1,), m, n, sign * c * c)
        return np.where(c < 0, np.nan, slope)  # where SciPy's values are wrong

    return special(name, "m", "n", by_parameter)


pro_cv: Op = _characteristic("pro_cv", 1)
obl_cv: Op = _characteristic("obl_cv", -1)

# ---- angular functions, as (1 - x²)^(m/2) times polynomials --------------------------------------


def _angular(orders: tuple[int, ...], m: Any, n: Any, t: Any, x: Any) -> Any:
    """Return derivatives in t and x of the factor beside (1 - x²)^(m/2), a series of Gegenbauer's.

    As Flammer has it, its value or, for odd ones, its slope at 0 is the same for all t.  Where that
    is too small beside the terms of the series to have digits, this is nan.
    """
    k, slopes = orders
    found, places = of_distinct(lambda m, n, t: _solve(m, n, t, k)[1], _whole(m, n), n, t)
    rows, result = np.unique(places), np.full(x.shape, np.nan)
    for place in rows:
        vectors = found[place]
        if vectors is not None:
            here = places == place
            m0, n0 = float(m[here].flat[0]), float(n[here].flat[0])
            result[here] = _polynomials(vectors, m0, n0, slopes, x[here])
    return result


def _polynomials(vectors: Any, m: float, n: float, slopes: int, x: Any) -> Any:
    """Return the last derivative in t of the series, at places x."""
    degrees = (n - m) % 2 + 2.0 * np.arange(vectors.shape[1])
    gegenbauer = scipy_function("eval_gegenbauer")
    gammaln, poch = scipy_function("gammaln"), scipy_function("poch")
    sizes = np.exp((gammaln(degrees + 1) - gammaln(degrees + 2 * m + 1)) / 2)
    sizes = sizes * np.sqrt(degrees + m + 0.5)

    def terms(x: Any, slopes: int) -> Any:
        factor = 2.0**slopes * poch(m + 0.5, slopes)
        lower = np.maximum(degrees - slopes, 0)
        values = gegenbauer(lower, m + 0.5 + slopes, np.asarray(x)[..., None])
        return np.where(degrees >= slopes, factor * values, 0)

    odd = int(n - m) % 2
    at_zero = terms(0.0, odd)
    fixed = vectors * sizes @ at_zero
    if abs(fixed[0]) < 1e-6 * np.abs(vectors[0] * sizes * at_zero).max():
        return np.nan
    scale = poch(0.5, m) * 2**m * at_zero[int(n - m) // 2]
    series = terms(x, slopes) @ (vectors * sizes).T
    quotients: list[Any] = []
    for k in range(len(vectors)):
        known = sum(math.comb(k, j) * quotients[j] * fixed[k - j] for j in range(k))
        quotients.append((series[..., k] - known) / fixed[0])
    return scale * quotients[-1]


spheroidal_polynomials: Op = by_order(
    "spheroidal_polynomials",
    _angular,
    None,
    None,
    lambda orders, *xs: spheroidal_polynomials((orders[0] + 1, orders[1]), *xs),
    lambda orders, *xs: spheroidal_polynomials((orders[0], orders[1] + 1), *xs),
)


def _by_parameter(sign: int, slopes: int) -> Op:
    """Return the derivative in c of an angular function, or of its slope."""

    def partial(m: Any, n: Any, c: Any, x: Any, _y: Any) -> Any:
        operands = m, n, sign * c * c, x
        w, polynomial = 1 - x * x, spheroidal_polynomials((1, 0), *operands)
        if slopes:
            slope = spheroidal_polynomials((1, 1), *operands)
            polynomial = slope - m * x / w * polynomial
        return sign * 2 * c * w ** (m / 2) * polynomial

    return partial


# ---- radial functions, as (1 ∓ 1/x²)^(m/2) times series of spherical Bessel functions -----------


def _radial(orders: tuple[int, ...], m: Any, n: Any, c: Any, x: Any) -> Any:
    """Return derivatives in c and x of the factor beside the power, DLMF 30.11.3."""
    kind, sign, k, slopes = orders
    result = np.full(x.shape, np.nan)
    whole = np.where((c > 0) & (x >= 0) & ((x > 1) | (sign < 0)), _whole(m, n), np.nan)
    found, places = of_distinct(lambda m, n, c: _weights(kind, sign, m, n, c, k), whole, n, c)
    for place, parts in enumerate(found):
        here = places == place
        if parts is not None and here.any():
            parameter = float(c[here].flat[0])
            degrees, weights, conditioning = parts
            result[here] = radial_series(
                kind, degrees, weights, parameter, x[here], slopes, conditioning
            )
            near = here & (x < _FAR)
            if kind == 2 and near.any():
                m0, n0 = int(m[near].flat[0]), int(n[near].flat[0])
                result[near] = _near(sign, k, slopes, m0, n0, parameter, parts, x[near])
    return result


def _near(sign: int, k: int, slopes: int, m: int, n: int, c: float, parts: Any, x: Any) -> Any:
    """Return derivatives of a function of the second kind where its series does not converge."""
    degrees, weights, conditioning = parts
    factorials = np.array([math.factorial(j) for j in range(k + 1)])
    start = np.array([_FAR])
    value, slope = (
        np.array([
            radial_series(2, degrees, weights[: j + 1], c, start, order, conditioning)[0]
            for j in range(k + 1)
        ]) / factorials
        for order in (0, 1)
    )  # fmt: skip
    power = _FAR**-m
    values = power * value, power * (slope - m / _FAR * value)
    levels = _solve(m, n, sign * c * c, k, _MORE)[0] / factorials
    level = _in_parameter(levels[:, None], sign, c)[:, 0]
    return factorials[-1] * continue_solution(sign, m, level, c, _FAR, values, x, slopes)


def _in_parameter(series: Any, sign: int, c: float) -> Any:
    """Return power series in c of power series in t = ±c²."""
    moved = np.array([0.0, 2 * c * sign, sign, *[0.0] * len(series)])[: len(series)]
    power, result = np.eye(1, len(series))[0], np.zeros_like(series)
    for row in series:
        result += np.multiply.outer(power, row)
        power = multiply_series(power, moved)
    return result


def _weights(kind: int, sign: int, m: float, n: float, c: float, order: int) -> tuple[Any, ...]:
    """Return degrees, derivatives in c of the weights, and how much cancels in their sum."""
    vectors = _solve(m, n, sign * c * c, order, _MORE * (kind - 1))[1]
    factorials = np.array([math.factorial(k) for k in range(order + 1)])
    gammaln = scipy_function("gammaln")
    degrees = int(m) + int(n - m) % 2 + 2 * np.arange(vectors.shape[1])
    sizes = (gammaln(degrees + m + 1) - gammaln(degrees - m + 1)) / 2
    inner = vectors / factorials[:, None] * np.sqrt(degrees + 0.5) * np.exp(sizes - sizes.max())
    series = _in_parameter(inner, sign, c)
    total = series.sum(1)
    quotients = np.stack([divide_series(column, total) for column in series.T], -1)
    conditioning = max(1.0, float(np.abs(quotients[0]).sum()))
    turns = (-1.0) ** ((degrees - n) // 2)
    return degrees, factorials[:, None] * quotients * turns, conditioning


spheroidal_series: Op = by_order(
    "spheroidal_series",
    _radial,
    None,
    None,
    lambda orders, *xs: spheroidal_series((*orders[:2], orders[2] + 1, orders[3]), *xs),
    lambda orders, *xs: spheroidal_series((*orders[:3], orders[3] + 1), *xs),
)


def _radial_by_parameter(kind: int, sign: int, slopes: int) -> Op:
    """Return the derivative in c of a radial function, or of its slope."""

    def partial(m: Any, n: Any, c: Any, x: Any, _y: Any) -> Any:
        series = spheroidal_series((kind, sign, 1, 0), m, n, c, x)
        place = np.where((m == 0) & (x == 0), 1, x)
        if slopes:
            slope = spheroidal_series((kind, sign, 1, 1), m, n, c, x)
            series = slope + sign * m / (place * (place * place - sign)) * series
        return (1 - sign / (place * place)) ** (m / 2) * series

    return partial


# ---- the functions -------------------------------------------------------------------------------


def _curvature(kind: str, m: Any, c: Any, level: Any, x: Any, y: Any, slope: Any) -> Any:
    """Return y'', of which the equation has a sign of its own for oblate radial functions."""
    turned = -1 if kind == "obl_rad" else 1
    sign = -1 if kind == "obl_ang" else 1
    w = 1 - turned * x * x
    return turned * (2 * x * slope - (level - sign * c * c * x * x - m * m / w) * y) / w


def _declare_trust(name: str) -> Op:
    """Declare what is 1, and nan where SciPy's function of the second kind is wrong.

    There its Wronskian with the first kind is not 1/(c·|w|), DLMF 30.11.8.
    """
    sign = -1 if name.startswith("pro") else 1

    def trust(*operands: Any) -> Any:
        xs = [np.asarray(x, np.float64) for x in operands]
        (y, slope), (first, steepness) = (
            scipy_function(kind)(*xs) for kind in (name, name.replace("2", "1"))
        )
        with np.errstate(all="ignore"):
            wronskian = (first * slope - steepness * y) * xs[2] * (xs[-1] ** 2 + sign)
        return np.where(np.abs(wronskian - 1) < 1e-8, 1, np.nan).astype(operands[0].dtype)[()]

    count = 5 if name.endswith("cv") else 4
    return special(f"{name}_trust", *(None,) * count, run=trust)


def _in_double(name: str, k: int) -> Op:
    """Return a result of a function, whose loops in single precision never end in SciPy."""
    compute = result_of(name, k)

    def run(*xs: Any) -> Any:
        return compute(*(np.asarray(x, np.float64) for x in xs)).astype(xs[-1].dtype)[()]

    return run


def _pair(name: str) -> tuple[Elementwise, Elementwise]:
    """Declare a function and its slope; those that end in cv are given the characteristic value."""
    kind, given = name[:7], name.endswith("cv")
    characteristic = pro_cv if name.startswith("pro") else obl_cv
    trust: Op = _declare_trust(name) if "rad2" in name else lambda *_: 1

    def by_place(*operands: Any) -> Any:
        return trust(*operands[:-1]) * slope(*operands[:-1])

    def curvature(*operands: Any) -> Any:
        *xs, y = operands
        m, n, c, *levels, x = xs
        level = characteristic(m, n, c)
        if given:  # what SciPy makes of other numbers solves no equation
            near = np.abs(levels[0] - level) <= 1e-5 * (1 + np.abs(level))
            level = np.where(near, level, np.nan)
        return trust(*xs) * _curvature(kind, m, c, level, x, value(*xs), y)

    unknown = [undefined(name, p) for p in ("m", "n", "c", *["cv"] * given)]
    in_orders, in_slope = unknown, list(unknown)
    sign = 1 if name.startswith("pro") else -1
    if name in ("pro_ang1", "obl_ang1"):
        in_orders[2], in_slope[2] = _by_parameter(sign, 0), _by_parameter(sign, 1)
    elif not given:
        parts = (_radial_by_parameter(int(name[-1]), sign, slopes) for slopes in (0, 1))
        in_orders[2], in_slope[2] = parts
    value: Elementwise = special(f"{name}_value", *in_orders, by_place, run=_in_double(name, 0))
    slope: Elementwise = special(f"{name}_slope", *in_slope, curvature, run=_in_double(name, 1))
    return value, slope


waves: Final[dict[str, tuple[Elementwise, Elementwise]]] = {
    name: _pair(name)
    for kind in ("pro_ang1", "pro_rad1", "pro_rad2", "obl_ang1", "obl_rad1", "obl_rad2")
    for name in (kind, f"{kind}_cv")
}
"""Name in ``scipy.special`` -> the function and its slope."""
