"""Numerical integrals behind derivatives that have no closed form, in plain NumPy and float64.

Every integrand is analytic, so the rules converge exponentially: the trapezoidal rule after a
double exponential substitution (H. Takahasi, M. Mori, "Double Exponential Formulas for Numerical
Integration", Publ. RIMS Kyoto 9, 1974) and that of Gauss and Legendre.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.late import scipy_function

Order: TypeAlias = tuple[int, ...]

_STEP: Final = 1 / 16
_BLOCK: Final = 1 << 13
"""How many values of an integrand are computed at once: what fits the cache."""
_DIGITS: Final = 38.0
"""Natural logarithm of what the largest value of an integrand is divided by where it is cut off."""

_NARROWEST: Final = 1e-3
"""How near, as an angle, a path between two poles may come to them."""


@cache
def _of_half_line() -> tuple[Any, Any]:
    """Return points and weights of the trapezoidal rule in u, where v = exp(u - exp(-u))."""
    grid = np.arange(-3.6, 4.4, _STEP)
    points = np.exp(grid - np.exp(-grid))
    return points, _STEP * points * (1 + np.exp(-grid))


@cache
def _of_unit_interval() -> tuple[Any, Any]:
    """Return points and weights of the rule of Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(32)
    return (points + 1) / 2, weights / 2


def _weighted_sum(integrand: Callable[[Any], Any], points: Any, weights: Any, shape: Any) -> Any:
    """Return Σ w·f(p), for f that gives arrays of a shape, at several points at once."""
    total: Any = 0.0
    count = max(1, _BLOCK // max(1, int(np.prod(shape, dtype=int))))
    for start in range(0, len(points), count):
        block = points[start : start + count].reshape(-1, *(1,) * len(shape))
        values = integrand(block)
        total = total + np.tensordot(weights[start : start + count], values, 1)
    return total


def over_unit_interval(integrand: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """Return ∫₀¹ f(t) dt of a function that gives arrays of a shape."""
    return _weighted_sum(integrand, *_of_unit_interval(), shape)


def over_half_line(integrand: Callable[[Any], Any], slope: Any, curvature: Any) -> Any:
    """Return ∫₀^∞ f(v) dv for f decaying like exp(-slope·v - curvature·v²/2), or faster."""
    width = np.asarray(2 / (slope + np.sqrt(slope * slope + 2 * curvature)))
    return width * _weighted_sum(lambda v: integrand(width * v), *_of_half_line(), width.shape)


def in_blocks(compute: Callable[..., Any], count: int, *xs: Any) -> Any:
    """Return a function of vectors of one length, of which it takes `count` elements at once."""
    starts = range(0, max(1, len(xs[0])), count)
    return np.concatenate([compute(*(x[k : k + count] for x in xs)) for k in starts], axis=-1)


# ---- logarithmic moments of the gamma and beta distributions -------------------------------------


def gamma_moment(order: Order, a: Any, x: Any) -> Any:
    """Return Mₖ(a, x), the part of the k-th moment of ln t - ψ(a) on one side of x, with a sign.

    That is ∫₀ˣ (ln t - ψ(a))ᵏ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) for x below a, and elsewhere the same integral
    from infinity down to x: what is left of the distribution without its bulk, so that derivatives
    keep their digits in both tails.  With t = x·exp(±v) the integrand is log-concave in v.
    """
    (k,) = order
    sign = np.where(x < a, -1.0, 1.0)
    inside = (x > 0) & np.isfinite(x)
    z = np.where(inside, x, 1.0)
    digamma = scipy_function("psi")(a)

    def integrand(v: Any) -> Any:
        away = sign * v
        return np.exp(a * away - z * np.expm1(away)) * (np.log(z) + away - digamma) ** k

    density = np.exp(a * np.log(z) - z - scipy_function("gammaln")(a))
    tail = density * over_half_line(integrand, np.abs(a - z), z)
    return np.where(inside, -sign * tail, 0.0 * (a - a))


def beta_moment(order: Order, a: Any, b: Any, x: Any) -> Any:
    """Return Mⱼₖ(a, b, x), the part of a moment Lʲ Rᵏ on one side of x, as in `gamma_moment`.

    Here L = ln t - ψ(a) + ψ(a + b), and R = ln(1 - t) - ψ(b) + ψ(a + b).  The integral is taken
    over the logarithm of the odds t/(1 - t), where it is log-concave.
    """
    j, k = order
    sign = np.where(x * (a + b) < a, -1.0, 1.0)
    inside = (x > 0) & (x < 1)
    z = np.where(inside, x, 0.5)
    psi = scipy_function("psi")
    left = np.log(z) - psi(a) + psi(a + b)
    right = np.log1p(-z) - psi(b) + psi(a + b)

    def integrand(v: Any) -> Any:
        away = sign * v
        growth = np.log1p(z * np.expm1(away))
        density = np.exp(a * away - (a + b) * growth)
        return density * (left + away - growth) ** j * (right - growth) ** k

    scale = np.exp(a * np.log(z) + b * np.log1p(-z) - scipy_function("betaln")(a, b))
    slope = np.abs(a - (a + b) * z)
    tail = scale * over_half_line(integrand, slope, (a + b) * z * (1 - z))
    return np.where(inside, -sign * tail, 0.0 * (a - b))


# ---- symmetric elliptic integrals ----------------------------------------------------------------


def carlson_integral(order: Order, *xs: Any) -> Any:
    """Return ∫₀^∞ tᵏ Π (t + xⱼ)^(-hⱼ/2) dt of orders k, h₁, h₂, ...

    Where the last factor has a pole on the way, that is the principal value, the mean of what
    there is on both sides.
    """
    k, *halves = order
    z = np.stack(np.broadcast_arrays(*xs))
    infinite = np.isinf(z).any(0)
    pole = (z[-1].real < 0) & (z[-1].imag == 0) & (halves[-1] % 2 == 0)
    known = ~(np.isnan(z).any(0) | infinite)
    if z.dtype.kind == "f":
        known &= (z[:-1] >= 0).all(0) & (pole | (z[-1] >= 0))
    z = np.where(known, z, 1)
    angles = np.angle(z)
    result = _around(k, halves, np.log(np.abs(z)), angles)
    if pole.any():
        angles[-1] *= np.where(pole, -1, 1)
        result = (result + _around(k, halves, np.log(np.abs(z)), angles)) / 2
    result = result if z.dtype.kind == "c" else result.real
    return np.where(known, result, np.where(infinite, 0, np.nan))


def _around(k: int, halves: list[int], sizes: Any, angles: Any) -> Any:
    """Return the integral along a ray in the middle of arguments of these logarithms and angles.

    In u = ln t it is one over an analytic function, whose poles have the distance `width`.
    """
    total = sum(halves) / 2
    h = np.reshape(halves, (-1, *(1,) * (sizes.ndim - 1))) / 2
    turn = (angles.min(0) + angles.max(0)) / 2
    width = np.pi - np.ptp(angles, 0) / 2
    last = sizes.max(0)
    first = np.where(np.isinf(sizes), last, sizes).min(0)
    fall = k + 1 - (h * np.isinf(sizes)).sum(0)
    known = (width > _NARROWEST) & (fall > 0) & np.isfinite(last)
    outside = np.where(fall > 0, np.nan, np.inf)
    sizes, last, first, fall, width = (
        np.where(known, x, 1) for x in (sizes, last, first, fall, width)
    )
    start, end = first - last - _DIGITS / fall, _DIGITS / (total - k - 1)
    count = int(np.ceil(np.max(7.5 * (end - start) / width, initial=1)))
    step = (end - start) / count
    z = np.exp(sizes - last + 1j * (angles - turn)) if angles.any() else np.exp(sizes - last)

    def integrand(j: Any) -> Any:
        u = start + step * j
        logarithm = (k + 1) * u
        for x, half in zip(z, halves, strict=True):
            logarithm = logarithm - half / 2 * np.log(np.exp(u) + x)
        return np.exp(logarithm)

    points = np.arange(count + 1.0)
    integral = step * _weighted_sum(integrand, points, np.ones_like(points), start.shape)
    result = integral * np.exp((k + 1 - total) * (last + 1j * turn))
    return np.where(known, result, outside)


# ---- sums ----------------------------------------------------------------------------------------


def smirnov_derivative(order: Order, n: Any, d: Any) -> Any:
    """Return the k-th derivative in d of Σ C(n, j) d (d + j/n)^(j-1) (1 - d - j/n)^(n-j).

    The sum is over j <= n(1 - d), or for small d, where it is nearly 1, minus that over all others.
    """
    (k,) = order
    gammaln, xlogy = scipy_function("gammaln"), scipy_function("xlogy")
    upper = n * d > 2
    last = np.minimum(np.floor(n * (1 - d)), n - 1)

    def term(j: Any) -> Any:
        within = (j <= n) & np.where(upper, j <= last, j > last)
        i = np.where(within, j, 0)
        a, b = d + i / n, 1 - d - i / n
        b = np.where(upper, np.maximum(b, 0), np.minimum(b, 0))
        count = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)

        def product(m: int) -> Any:
            """Return the m-th derivative of the product of the two powers."""
            total: Any = 0.0
            for r in range(m + 1):
                factor = np.full(i.shape, float(math.comb(m, r)))
                for step in range(r):
                    factor = factor * (i - 1 - step)
                for step in range(m - r):
                    factor = factor * (i - n + step)
                power = n - i - m + r
                size = np.exp(count + (i - 1 - r) * np.log(a) + xlogy(power, np.abs(b)))
                total = total + np.where(factor == 0, 0, factor * size * np.sign(b) ** power)
            return total

        return np.where(within, d * product(k) + k * product(k - 1), 0)

    points = np.arange(np.max(n, initial=0, where=np.isfinite(n)) + 1)
    result = _weighted_sum(term, points, np.ones_like(points), n.shape)
    return np.where((d >= 0) & (d <= 1), np.where(upper, result, -result), np.nan)


# ---- quotients with a removable singularity ------------------------------------------------------


def exprel_derivative(order: Order, u: Any) -> Any:
    """Return Eₙ(u) = ∫₀¹ tⁿ eᵘᵗ dt, the n-th derivative of (eᵘ - 1)/u.

    Away from 0 by the recurrence u·Eₙ = eᵘ - n·Eₙ₋₁.
    """
    (n,) = order
    limit = 10.0 + 2 * n
    small = np.abs(u) < limit
    inner = np.where(small, u, 0.0)
    outer = np.where(small, limit, u)
    result = np.expm1(outer) / outer
    power = np.exp(outer)
    for k in range(1, n + 1):
        result = np.where(np.isinf(power), power, (power - k * result) / outer)
    near = over_unit_interval(lambda t: t**n * np.exp(inner * t), u.shape)
    return np.where(small, near, result)


def log1p_ratio_derivative(order: Order, w: Any) -> Any:
    """Return the n-th derivative of ln(1 + w)/w, which is (-1)ⁿ n! ∫₀¹ tⁿ (1 + wt)⁻ⁿ⁻¹ dt.

    Away from 0 by the recurrence w·Lₙ + n·Lₙ₋₁ = (ln(1 + w))⁽ⁿ⁾.
    """
    (n,) = order
    small = (w > -0.9) & (w < 4)
    inner, outer = np.where(small, w, 0.0), np.where(small, 4.0, w)
    result = np.log1p(outer) / outer
    logarithm = 1 / (1 + outer)
    factorial = 1.0
    for k in range(1, n + 1):
        result = (logarithm - k * result) / outer
        logarithm = -k * logarithm / (1 + outer)
        factorial *= -k
    series = over_unit_interval(lambda t: t**n / (1 + inner * t) ** (n + 1), w.shape)
    return np.where(small, factorial * series, result)
