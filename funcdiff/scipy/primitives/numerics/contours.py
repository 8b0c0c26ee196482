"""Derivatives of noncentral distribution functions as integrals, in plain NumPy and float64.

The generating functions of moments are elementary, and so are their derivatives by all parameters:
each derivative of a distribution function is the inversion integral with one more factor, which
also cancels the pole.  It is taken from the saddle point to infinity near the path of steepest
descent, where nothing cancels in either tail, by the trapezoidal rule: A. Gil, J. Segura, N. M.
Temme, "Computation of the Marcum Q-function", ACM Trans. Math. Softw. 40, 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.scipy.primitives.numerics.derivative_integrals import Order, in_blocks

_STEP: Final = 1 / 32
_END: Final = 7.0
_BLOCK: Final = 16
"""How many integrals are taken at once: what fits the cache."""
_NEARLY_ZERO: Final = 1e-30
"""In place of zero where a zero cancels a pole."""


def chi_square_derivative(order: Order, a: Any, nc: Any, x: Any) -> Any:
    """Return a derivative of the distribution function of χ², of halves of its arguments.

    That is the integral of exp(xt)·w⁻ᵃ·exp(-nc·t/w)/t with w = 1 + t, and with powers of -ln w,
    -t/w and t.
    """
    return _inside(_chi_square, order, a, nc, x)


def chi_square_log_density(order: Order, a: Any, nc: Any, x: Any) -> Any:
    """Return a derivative of ln f, where f is the density of χ² of halves of its arguments.

    f is the integral of exp(xt)·w⁻ᵃ·exp(-nc·t/w), so these are the joint cumulants of t, -ln w and
    -t/w; they are found from moments about the saddle point, so that few digits cancel.
    """
    by_a, by_nc, by_x = order
    valid = _valid(a, nc, x)
    ends = np.where(valid & (sum(order) == 0), -np.inf, np.nan)
    low: Any = np.nan if by_a or by_x else -1.0 * (by_nc == 1)
    if sum(order) == 0:
        low = np.where(a == 1, -nc, np.where(a < 1, np.inf, -np.inf))
    result = np.where(valid & (x == 0), low, ends)
    return _fill_in(result, partial(_log_density, order), a, nc, x)


def beta_derivative(order: Order, a: Any, nc: Any, odds: Any, b: Any) -> Any:
    """Return a member of a family that has the derivatives of the noncentral beta distribution.

    That is the integral of w⁻ᵃ·v⁻ᵇ·exp(-nc·t/w)/t with w = 1 + t and v = 1 - odds·t, and with
    powers of -ln w, -t/w, t/v and -ln v.
    """
    return _inside(_beta, order, a, nc, odds, b)


def _inside(compute: Callable[..., Any], order: Order, *xs: Any) -> Any:
    """Return integrals for a, nc and x inside their domain, and their limits on its boundary.

    Near x = 0 the distribution function is that of nc = 0 times exp(-nc), like xᵃ.
    """
    by_a, by_nc, by_x, *others = order
    a, nc, x, *more = xs
    valid = _valid(a, nc, x, *more)
    result = np.where(valid, 0.0, np.nan)
    if by_x:
        unknown = np.nan if by_a or any(others) else (-1.0) ** by_nc * np.exp(-nc)
        low = np.where(a == by_x, unknown, unknown * np.inf if by_x == 1 else np.nan)
        result = np.where(valid & (x == 0) & (a <= by_x), low, result)
    return _fill_in(result, partial(compute, order), *xs)


def _valid(a: Any, nc: Any, x: Any, *more: Any) -> Any:
    valid = (a > 0) & (nc >= 0) & (x >= 0) & np.isfinite(a) & np.isfinite(nc)
    for b in more:
        valid &= (b > 0) & np.isfinite(b)
    return valid


def _fill_in(result: Any, compute: Callable[..., Any], *xs: Any) -> Any:
    """Return results on the boundary, with those inside of the domain filled in."""
    inside = _valid(*xs) & (xs[2] > 0) & np.isfinite(xs[2])
    result[inside] = in_blocks(compute, _BLOCK, *(v[inside] for v in xs))
    return result


def _chi_square(order: Order, a: Any, nc: Any, x: Any) -> Any:
    by_a, by_nc, by_x = order
    root = np.hypot(a, 2 * np.sqrt(x) * np.sqrt(nc))
    start = (a + nc - x) / (x * (1 + 2 * nc / (root + a)))

    def integrand(t: Any, w: Any, logarithm: Any) -> Any:
        exponent = x * t - a * logarithm - nc * t / w
        return np.exp(exponent) * (-logarithm) ** by_a * (-t / w) ** by_nc * t**by_x / t

    return _integral(integrand, start, _path(0 * x, root))


def _log_density(order: Order, a: Any, nc: Any, x: Any) -> Any:
    root = np.hypot(a, 2 * np.sqrt(x) * np.sqrt(nc))
    start = (a + nc - x) / (x * (1 + 2 * nc / (root + a)))
    saddle = (a + root) / (2 * x)
    along, weights = _path(0 * x, root)
    expm1 = scipy_function("expm1")
    above, below = saddle * expm1(along), expm1(-along) / saddle
    common = np.exp(x * above - a * along + nc * below + along) * weights

    @cache
    def moment(*orders: int) -> Any:
        by_a, by_nc, by_x = orders
        values = (common * (-along) ** by_a * below**by_nc * above**by_x).imag
        return np.sum(np.where(np.isfinite(values), values, 0), axis=0)

    if sum(order):
        centers = (-np.log1p(start), -start / saddle, start)
        center = centers[order.index(1)] if sum(order) == 1 else 0
        return center + _cumulant(lambda n: moment(*n) / moment(0, 0, 0), order)
    height = x * start - a * np.log1p(start) - nc * start / saddle
    return height + np.log(saddle * moment(0, 0, 0))


def _cumulant(moment: Callable[[Order], Any], order: Order) -> Any:
    """Return the joint cumulant of an order from moments, by their recurrence."""
    place = next(k for k, n in enumerate(order) if n)
    rest = tuple(n - (k == place) for k, n in enumerate(order))
    total = moment(order)
    for lower in product(*(range(n + 1) for n in rest)):
        if lower != rest:
            raised = tuple(n + (k == place) for k, n in enumerate(lower))
            ways = math.prod(map(math.comb, rest, lower))
            others = tuple(n - m for n, m in zip(rest, lower, strict=True))
            total = total - ways * _cumulant(moment, raised) * moment(others)
    return total


def _beta(order: Order, a: Any, nc: Any, odds: Any, b: Any) -> Any:
    by_a, by_nc, by_odds, by_b = order
    log1p = scipy_function("log1p")
    x = odds / (1 + odds)
    root = np.hypot(a - nc * x, 2 * np.sqrt((a + b) * nc * x))
    gap = nc * x - a
    saddle = np.where(gap > 0, 2 * nc * x / (root + np.abs(gap)), (root - gap) / (2 * (a + b)))
    ratio = (a + nc * x / saddle) / b

    def integrand(t: Any, w: Any, logarithm: Any) -> Any:
        v, other = 1 - odds * t, log1p(-odds * t)
        exponent = -a * logarithm - b * other - nc * t / w
        factor = (-logarithm) ** by_a * (-t / w) ** by_nc * (t / v) ** by_odds * (-other) ** by_b
        return np.exp(exponent) * factor / t

    curvature = a + b * ratio * ratio + 2 * nc * x / saddle
    return _integral(integrand, (saddle - x) / x, _path(ratio, curvature))


def _path(ratio: Any, curvature: Any) -> tuple[Any, Any]:
    """Return logarithms of y/y₀ on the path from a saddle point y₀ upwards, with weights.

    It is that of steepest descent of y⁻ᵃ(1 - y)⁻ᵇ for `ratio` a/b, y₀ = a/(a + b): the angles of
    the triangle 0, 1, y are α at 0 and α·a/b at 1.  For a ratio of zero, y is small beside 1, and
    the path that of y⁻ᵃeᵇʸ.
    """
    reach = np.pi / (1 + ratio)
    width = np.minimum(1, 1 / (reach * np.sqrt(curvature)))
    u = np.arange(0, _END, _STEP)[:, None]
    v = width * np.sinh(u)
    rest = 2 / (1 + np.exp(2 * v))  # 1 - tanh v
    near, angle, beyond = v < 1, np.pi * np.tanh(v), np.pi * rest
    alpha = angle / (1 + ratio)
    sine = np.where(near, np.sinc(np.tanh(v)), np.sin(beyond) / np.where(near, 1, angle))
    logarithm = np.log(np.sinc(ratio * alpha / np.pi) / sine) + 1j * alpha
    a = np.where(v == 0, 1, alpha)
    left = np.where(ratio == 0, 1 / a, ratio / np.tan(np.where(ratio == 0, 1, ratio * a)))
    cotangent = np.where(near, 1 / np.tan(np.where(v == 0, 1, angle)), -1 / np.tan(beyond))
    growth = np.where(v == 0, 0, left - (1 + ratio) * cotangent) + 1j
    weights = growth * reach * rest * (2 - rest) * width * np.cosh(u) * _STEP / np.pi
    weights[0] /= 2
    return logarithm, weights


def _integral(integrand: Callable[..., Any], start: Any, path: tuple[Any, Any]) -> Any:
    """Return ∫ f(t, w, ln w) dw/2πi with w = 1 + t along a path through w = 1 + `start`."""
    along, weights = path
    expm1, log1p = scipy_function("expm1"), scipy_function("log1p")
    t = expm1(np.log1p(start) + along)
    t = np.where(t == 0, _NEARLY_ZERO, t)
    values = (integrand(t, 1 + t, log1p(t)) * (1 + t) * weights).imag
    return np.sum(np.where(np.isfinite(values), values, 0), axis=0)
