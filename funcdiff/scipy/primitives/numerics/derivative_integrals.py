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

_BLOCK: Final = 1 << 13
"""How many values of an integrand are computed at once: what fits the cache."""
_DIGITS: Final = 38.0
"""Natural logarithm of what the largest value of an integrand is divided by where it is cut off."""

_NARROWEST: Final = 1e-3
"""How near, as an angle, a path between two poles may come to them."""


@cache
def _of_unit_interval(count: int = 32) -> tuple[Any, Any]:
    """Return points and weights of the rule of Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(count)
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


def over_decline(
    integrand: Callable[[Any], Any],
    decline: Callable[[Any], tuple[Any, Any]],
    start: Any,
    count: int = 60,
) -> Any:
    """Return ∫₀^∞ f(v) dv for f of the size of exp(-g(v)), where g is convex and g(0) = 0.

    `decline` gives g and its slope.  The end, where g is `_DIGITS`, is found by Newton's iteration
    from a point beyond it, which it does not pass.
    """
    end = start
    for _ in range(12):
        value, slope = decline(end)
        end = end - (value - _DIGITS) / slope
    rule = _of_unit_interval(count)
    return end * _weighted_sum(lambda part: integrand(end * part), *rule, end.shape)


def in_blocks(compute: Callable[..., Any], count: int, *xs: Any) -> Any:
    """Return a function of vectors of one length, of which it takes `count` elements at once."""
    starts = range(0, max(1, len(xs[0])), count)
    return np.concatenate([compute(*(x[k : k + count] for x in xs)) for k in starts], axis=-1)


# ---- Stirling's series, and what is left of functions without their tangents ---------------------


def log1p_rest(s: Any, logarithm: Any) -> Any:
    """Return ln(1 + s) - s, with ln(1 + s) given: near 0 by ln(1 + s) = 2·artanh(s/(2 + s))."""
    near = np.abs(s) < 0.25
    small = np.where(near, s, 0.0)
    r = small / (2 + small)
    square, total = r * r, 0.0
    for k in range(7, -1, -1):
        total = total * square + 2 / (2 * k + 3)
    return np.where(near, r * (square * total - small), logarithm - s)


def exp_excess(w: Any) -> Any:
    """Return (e²ʷ - 1 - 2w)/2, where 2w is ln(1 + s) of s = e²ʷ - 1."""
    return -log1p_rest(np.expm1(2 * w), 2 * w) / 2


@cache
def _bernoulli() -> Any:
    """Return Bernoulli's numbers B₂₀, B₁₈, ..., B₂."""
    return scipy_function("bernoulli")(20)[:1:-2]


_TWICE: Final = np.arange(20.0, 0.0, -2.0)
"""Their indices."""


def stirling_scale(a: Any) -> Any:
    """Return the logarithm of aᵃe⁻ᵃ/Γ(a), of arrays or tracers, for large a by DLMF 5.11.1."""
    far = a > 8
    small, v = np.where(far, 8, a), 1 / np.where(far, a, 8)
    series = 0 * v
    for number in (_bernoulli() / (_TWICE * (_TWICE - 1))).tolist():
        series = series * v * v + number
    series = -np.log(2 * math.pi * v) / 2 - v * series
    near = small * np.log(small) - small - scipy_function("gammaln")(small)
    return np.where(far, series, near)


@cache
def _digamma_series(n: int) -> Any:
    """Return the coefficients of the n-th derivative of ln a - ψ(a), but for the first, in a⁻²."""
    rising = [math.prod(range(k, k + n)) for k in _TWICE.astype(int).tolist()]
    return _bernoulli() / _TWICE * rising


def digamma_gap(order: Order, a: Any) -> Any:
    """Return the n-th derivative of ln a - ψ(a), for large a by DLMF 5.11.2."""
    (n,) = order
    far = a > 8 + n
    small, v = np.where(far, 8 + n, a), 1 / np.where(far, a, 8 + n)
    rest = v * v * np.polyval(_digamma_series(n), v * v)
    found = v**n * (math.factorial(n) / 2 * v + rest)
    if not far.all() and n:
        zeta = math.factorial(n) * scipy_function("zeta")(n + 1, small)
        found = np.where(far, found, zeta - math.factorial(n - 1) / small**n)
    elif not far.all():
        found = np.where(far, found, np.log(small) - scipy_function("psi")(small))
    return (-1) ** n * found


def digamma_fall(order: Order, a: Any, step: Any) -> Any:
    """Return the n-th derivative by a of ln a - ψ(a) minus that at a + step.

    The asymptotic series has a divided difference in closed form, and where the step is short there
    is Taylor's series about the middle.
    """
    (n,) = order
    far = (a > 8 + n) & (a + step > 8 + n)
    v, w = 1 / np.where(far, a, 8 + n), 1 / np.where(far, a + step, 8 + n)
    value, slope = np.zeros_like(v), np.zeros_like(v)
    for coefficient in (*_digamma_series(n), 0.0):
        value, slope = value * (w * w) + coefficient, slope * (v * v) + value
    powers, more = (sum(v ** (m - 1 - k) * w**k for k in range(m)) for m in (n, n + 1))
    series = math.factorial(n) / 2 * more + v**n * (v + w) * slope + powers * value
    series = (-1) ** n * step * v * w * series
    if far.all():
        return series
    found = np.where(far, series, digamma_gap(order, a) - digamma_gap(order, a + step))
    short = ~far & (np.abs(step) < 1e-2 * a)
    if not short.any():
        return found
    middle, way = np.where(short, a + step / 2, 1), np.where(short, step, 0)
    near = digamma_gap((n + 5,), middle) / 1920
    for k, factor in ((3, 24), (1, 1)):
        near = near * way * way + digamma_gap((n + k,), middle) / factor
    return np.where(short, -way * near, found)


# ---- densities of the gamma and F distributions, and moments of their scores ---------------------


def gamma_kernel(k: int, a: Any, x: Any) -> Any:
    """Return xᵃ⁻ᵏe⁻ˣ/Γ(a), which is the density for k = 1, and 0 where x is 0 or infinite.

    The operands are arrays or tracers, of which this and `beta_kernel` have all derivatives.
    """
    inside = (x > 0) & (x < np.inf)
    z = np.where(inside, x, a)
    exponent = a * log1p_rest((z - a) / a, np.log(z) - np.log(a)) + stirling_scale(a)
    return np.where(inside, np.exp(exponent - k * np.log(z)), 0 * a)


def _quadratic_end(slope: Any, curvature: Any, sign: Any = -1) -> Any:
    """Return a point beyond the end of a decline with a slope and a curvature at 0.

    The curvature grows, or where the sign is negative it falls, at most as e⁻ᵛ.
    """
    bound = np.sqrt(2 * _DIGITS / curvature)
    bound = np.where(sign > 0, bound, np.where(2 * bound < 1, 2 * bound, np.inf))
    return np.minimum(bound, _DIGITS / slope)


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
    s, slope = (z - a) / a, np.abs(a - z)
    middle = log1p_rest(s, np.log(z) - np.log(a)) + s + digamma_gap((0,), a)

    def decline(v: Any) -> tuple[Any, Any]:
        return slope * v + 2 * z * exp_excess(sign * v / 2), slope + z * np.abs(np.expm1(sign * v))

    def integrand(v: Any) -> Any:
        return np.exp(-decline(v)[0]) * (sign * v + middle) ** k

    start = np.minimum(_quadratic_end(slope, z, sign), (_DIGITS + z) / a)
    tail = gamma_kernel(0, a, z) * over_decline(integrand, decline, start)
    return np.where(inside, -sign * tail, 0.0 * (a - a))


def beta_kernel(k: int, a: Any, b: Any, x: Any) -> Any:
    """Return the density of F in ln x, of 2a and 2b degrees of freedom, divided by xᵏ.

    The two factors z and 1 - z of z = ax/(b + ax) are taken as quotients to their means.
    """
    inside = (x > 0) & (x < np.inf)
    z = np.where(inside, x, 1.0)
    total = b + a * z
    whole = np.log((a + b) / total)
    left = log1p_rest(b * (z - 1) / total, whole + np.log(z))
    right = log1p_rest(-a * (z - 1) / total, whole)
    scale = stirling_scale(a) + stirling_scale(b) - stirling_scale(a + b)
    density = np.exp(scale + a * left + b * right - k * np.log(z))
    return np.where(inside, density, 0 * (a - b))


def beta_moment(order: Order, a: Any, b: Any, x: Any) -> Any:
    """Return Mⱼₖᵢ(a, b, x), the part of a moment LʲRᵏdⁱ of F on one side of x, with a sign.

    L and R are the slopes of the logarithm of the density by a and by b, with 2a and 2b degrees of
    freedom: ln w - w + 1 + ln a - ψ(a) - ln(a + b) + ψ(a + b), where w is the quotient of
    z = ax/(b + ax) to its mean, and for R that of 1 - z.  Neither loses digits where parameters
    are large, since d = 1 - w does not.  The part is taken from 0, above 1 of 1/x.
    """
    j, k, i = order
    below = x < 1
    inside = (x > 0) & (x < np.inf)
    z = np.where(inside, np.where(below, x, 1 / np.where(below, 1.0, x)), 0.5)
    a, b = np.where(below, a, b), np.where(below, b, a)
    total, mean = b + a * z, a + b
    share, whole = a * z / total, np.log(mean / total)
    left, right = digamma_fall((0,), a, b), digamma_fall((0,), b, a)
    slope, curvature = a * b * (1 - z) / total, mean * share * b / total
    low = share < 0.5
    part, sign, rate = np.where(low, share, b / total), np.where(low, -1, 1), np.where(low, a, -b)
    scores = [
        (
            np.where(own, -b, a), whole + np.where(own, np.log(z), 0),
            np.where(own, -1 * low, 1 - low), np.where(own, left, right), power,
        )
        for own, power in ((below, j), (~below, k)) if power
    ]  # fmt: skip

    def decline(v: Any) -> tuple[Any, Any]:
        grown = part * np.expm1(sign * v)
        growing = sign * mean * (grown + part) / (1 + grown)
        return rate * v + mean * np.log1p(grown), rate + growing

    def integrand(v: Any) -> Any:
        fall = np.log1p(part * np.expm1(sign * v))
        values = np.exp(-rate * v - mean * fall)
        t = z * np.exp(-v)
        gap = (1 - t) / (b + a * t)
        for factor, start, tilt, shift, power in scores:
            score = log1p_rest(factor * gap, start + tilt * v - fall) + shift
            values = values * score**power
        return values * np.where(below, b * gap, -a * gap) ** i if i else values

    ends = _quadratic_end(slope, curvature), (_DIGITS - mean * np.log(b / total)) / a
    count = 120 if (b < 0.01).any() else 60  # where a density is flat and then falls
    tail = over_decline(integrand, decline, np.minimum(*ends), count)
    tail = np.where(below, 1, -1) * beta_kernel(0, a, b, z) * tail
    return np.where(inside, tail, 0 * (a - b))


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
