"""The gamma function and its relatives: beta, binomial coefficients, polygamma and zeta functions.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF), chapters 5
and 25.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.late import Routine, scipy_function
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.numerics.radial_spheroidal import of_distinct
from funcdiff.scipy.primitives.special.family import Op, by_order, special

_SHIFT: Final = 16
_BERNOULLI: Final = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
"""B₂ⱼ/(2j)!, j = 1, 2, ..."""

LARGE: Final = 1000.0
"""From where on two terms of the asymptotic series of ψ are exact to rounding."""


# ---- polygamma and zeta functions ----------------------------------------------------------------


def _polygamma(n: Any, x: Any) -> Any:
    """Return ψ⁽ⁿ⁾(x); where x is complex, by DLMF 5.15.1 and the sum 25.11.5."""
    if x.dtype.kind != "c":
        return np.asarray(scipy_function("polygamma")(n, x)).astype(x.dtype)[()]
    n = np.real(n)
    with np.errstate(all="ignore"):
        zeta = _hurwitz(n + 1, np.asarray(x, np.complex128))
        series = (-1.0) ** (n + 1) * scipy_function("gamma")(n + 1) * zeta
    return np.where(n == 0, scipy_function("psi")(x), series).astype(x.dtype)[()]


def _hurwitz(s: Any, q: Any, k: int = 0) -> Any:
    """Return ∂ᵏ/∂sᵏ ζ(s, q) by the formula of Euler and Maclaurin, DLMF 25.11.28.

    It is used from Re q >= 16 + 4·|Im s| on.
    """
    s = np.where(s == np.inf, 1e16, s)
    shift = np.max(np.nan_to_num(np.maximum(-np.real(q), 4 * np.abs(np.imag(s)))), initial=0.0)
    total: Any = 0.0
    for _ in range(_SHIFT + int(shift)):
        total = total + (-np.log(q)) ** k * q**-s
        q = q + 1
    for i in range(k + 1):
        rest = (-1) ** i * math.factorial(i) * q / (s - 1) ** (i + 1) + (i == 0) / 2
        rising = np.polynomial.Polynomial([0, 1])
        for j, coefficient in enumerate(_BERNOULLI):
            rest = rest + coefficient * rising.deriv(i)(s) * q ** (-1 - 2 * j)
            rising = rising * [2 * j + 1, 1] * [2 * j + 2, 1]
        total = total + math.comb(k, i) * (-np.log(q)) ** (k - i) * q**-s * rest
    return total


def _hurwitz_derivative(orders: Any, s: Any, q: Any) -> Any:
    return _hurwitz(s, q, *orders)


def _hurwitz_limit(orders: Any, s: Any, q: Any) -> Any:
    """∂/∂q, of each term (-ln q)ᵏ q⁻ˢ."""
    (k,) = orders
    slope = -s * hurwitz_derivatives((k,), s + 1, q)
    return slope - k * hurwitz_derivatives((k - 1,), s + 1, q) if k else slope


hurwitz_derivatives: Op = by_order(
    "hurwitz_derivatives",
    _hurwitz_derivative,
    lambda orders, s, q: hurwitz_derivatives((orders[0] + 1,), s, q),
    _hurwitz_limit,
    kinds="fc",
)


def _powers_of_numbers(orders: Any, s: Any, first: Any, last: Any) -> Any:
    """Return Σ (-ln n)ᵏ n⁻ˢ over whole numbers, nan for too many of them."""
    (k,) = orders

    def total(s: float, first: float, last: float) -> Any:
        n = np.arange(first, last + 1)
        return np.sum((-np.log(n)) ** k * n**-s)

    found, places = of_distinct(total, s, first, last)
    return np.array([np.nan if value is None else value for value in found])[places]


powers_of_numbers: Op = by_order(
    "powers_of_numbers",
    _powers_of_numbers,
    lambda orders, *xs: powers_of_numbers((orders[0] + 1,), *xs),
    None,
    None,
)


def _zeta_exponent(s: Any, q: Any, y: Any) -> Any:
    return np.where(np.isnan(y), y, hurwitz_derivatives((1,), s, convert(q, s.dtype)))


def riemann_slope(s: Any) -> Any:
    """ζ'(s); left of 0 by ζ(s) = 2·(2π)⁻ʳ·cos(πr/2)·Γ(r)·ζ(r) with r = 1 - s, DLMF 25.4.1."""
    left = np.real(s) < 0
    r: Any = np.where(left, 1 - s, s)
    slope = hurwitz_derivatives((1,), r, np.ones_like(r))
    r = np.where(left, r, 2)
    cosine, value = np.cos(np.pi / 2 * r), riemann_zeta(r)
    steepness = (psi(r) - math.log(2 * math.pi)) * cosine - np.pi / 2 * np.sin(np.pi / 2 * r)
    factor = 2 * np.exp(loggamma(r) - math.log(2 * math.pi) * r)
    return np.where(left, -factor * (steepness * value + cosine * slope), slope)


polygamma: Op = special("polygamma", "n", lambda n, x, y: polygamma(n + 1, x), run=_polygamma)
psi: Op = special("psi", lambda x, y: polygamma(np.ones_like(x), x))
zeta: Op = special(
    "_zeta",
    _zeta_exponent,
    lambda s, q, y: -s * zeta(s + 1, q),  # DLMF 25.11.17
    run=Routine("zeta"),
    primitive="zeta",
)
riemann_zeta: Op = special(
    "_riemann_zeta", lambda s, y: riemann_slope(s), run=Routine("zeta"), primitive="riemann_zeta"
)
zetac: Op = special("zetac", lambda s, y: riemann_slope(s))

# ---- gamma functions -----------------------------------------------------------------------------


def _rgamma_slope(x: Any) -> Any:
    """Return (1/Γ)'(x), at the poles of Γ, too: by 1/Γ(x) = sin(πx)·Γ(1 - x)/π, DLMF 5.5.3."""
    left = np.real(x) < 0.5
    mirror = np.where(left, 1 - x, 0.5)
    turn = np.cos(np.pi * x) - np.sin(np.pi * x) * psi(mirror) / np.pi
    infinite = x == np.inf
    right = np.where(np.logical_or(left, infinite), 1, x)
    slope = np.where(left, turn * gamma(mirror), -psi(right) * rgamma(right))
    return np.where(infinite, 0, slope)


gamma: Op = special("gamma", lambda x, y: y * psi(x))
gammaln: Op = special("gammaln", lambda x, y: psi(x))
loggamma: Op = special("loggamma", lambda x, y: psi(x))
rgamma: Op = special("rgamma", lambda x, y: _rgamma_slope(x))
gammasgn: Op = special("gammasgn", None)

# ---- quotients of gamma functions ----------------------------------------------------------------


def psi_fall(x: Any, step: Any) -> Any:
    """Return ψ(x + step) - ψ(x) - ln(1 + step/x) of large numbers, by DLMF 5.11.2.

    Each term of the asymptotic series is subtracted in closed form.
    """
    v, w = 1 / x, 1 / (x + step)
    return step * v * w * (0.5 + (v + w) / 12 * (1 - (v * v + w * w) / 10))


def psi_excess(x: Any) -> Any:
    """Return ψ(x) - ln x, which is about -1/(2x)."""
    large = x >= LARGE
    v = 1 / np.where(large, x, LARGE)
    small = np.where(large, 1, x)
    return np.where(large, -v * (0.5 + v / 12 * (1 - v * v / 10)), psi(small) - np.log(small))


def psi_difference(
    x: Any, step: Any, logarithm: Any = None, excess: Any = None, *, short: bool = True
) -> Any:
    """Return ψ(x + step) - ψ(x), and a logarithm more where that is given.

    Where arguments are large ψ itself has lost the digits of 1/x, and differences of these are all
    there is of a slope by many degrees of freedom.  What is left of the logarithms is then
    ln(1 + excess) = logarithm + ln((x + step)/x).  Where steps may be short, for x far from large,
    they have a series of their own.
    """
    large = np.logical_and(x >= LARGE, x + step >= LARGE)
    plain = psi(x + step) - psi(x)
    rest = _over_short_steps(x, step, plain) if short else plain
    first, by = np.where(large, x, LARGE), np.where(large, step, 0)
    whole = np.log1p(by / first) + psi_fall(first, by)
    if logarithm is None:
        return np.where(large, whole, rest)
    near = np.logical_and(large, abs(excess) < 0.5)
    joined = np.log1p(np.where(near, excess, 0)) + psi_fall(first, by)
    return np.where(near, joined, np.where(large, whole, rest) + logarithm)


def _over_short_steps(x: Any, step: Any, otherwise: Any) -> Any:
    """Return ψ(x + step) - ψ(x) by two terms of Taylor's series from the middle, if it is near."""
    is_short = np.logical_and(np.logical_and(x > 0, x < LARGE), abs(step) < 1e-3 * x)
    way = np.where(is_short, step, 0)
    middle = np.where(is_short, x, 1) + way / 2
    one = np.ones_like(middle)
    slope = polygamma(one, middle) + way * way / 24 * polygamma(3 * one, middle)
    return np.where(is_short, way * slope, otherwise)


def _step(a: Any, b: Any) -> Any:
    """Return ψ(a) - ψ(a + b), DLMF 5.12.1; 0 where a is infinite."""
    infinite = a == np.inf
    return np.where(infinite, 0, -psi_difference(np.where(infinite, 1, a), b))


beta: Op = special("beta", lambda a, b, y: y * _step(a, b), lambda a, b, y: y * _step(b, a))
betaln: Op = special("betaln", lambda a, b, y: _step(a, b), lambda a, b, y: _step(b, a))


def _is_near_pole(x: Any) -> Any:
    """Return whether Γ(x) is near a pole, and Γ(1 - x) finite.

    ψ(x) is about -1/ε at a distance of ε, so that terms of 1/ε² cancel in second derivatives of
    1/Γ(x) where its slope is -ψ(x)/Γ(x).
    """
    near = np.abs(x - np.round(x)) < 0.25
    return np.logical_and(near, np.logical_and(x < 0.5, x > -150))


def _binom_upper(n: Any, k: Any, y: Any) -> Any:
    """∂/∂n Γ(n+1)/(Γ(k+1)·Γ(n-k+1)); near a pole of Γ(n-k+1) the reciprocal has a slope."""
    alone = np.logical_and(_is_near_pole(n - k + 1), np.logical_not(_is_near_pole(n + 1)))
    zero = np.logical_or(y == 0, np.logical_and(alone, n < 150))
    at_zero = gamma(n + 1) * rgamma(k + 1) * _rgamma_slope(n - k + 1) + y * psi(n + 1)
    return np.where(zero, at_zero, y * psi_difference(n - k + 1, k))


def _binom_lower(n: Any, k: Any, y: Any) -> Any:
    """∂/∂k; both reciprocals have a slope where they vanish, and near there."""
    near = np.logical_or(_is_near_pole(k + 1), _is_near_pole(n - k + 1))
    alone = np.logical_and(near, np.logical_not(_is_near_pole(n + 1)))
    zero = np.logical_or(y == 0, np.logical_and(alone, n < 150))
    first = _rgamma_slope(k + 1) * rgamma(n - k + 1)
    second = rgamma(k + 1) * _rgamma_slope(n - k + 1)
    return np.where(zero, gamma(n + 1) * (first - second), y * (psi(n - k + 1) - psi(k + 1)))


binom: Op = special("binom", _binom_upper, _binom_lower)


def _poch_base(z: Any, m: Any, y: Any) -> Any:
    """∂/∂z Γ(z+m)/Γ(z).

    For integer m, where z and z + m may be poles both, the reflected ψ(1-z-m) - ψ(1-z) is the
    same (DLMF 5.5.4); where only Γ(z) has one, and near there, the reciprocal has a slope.
    """
    reflected = np.logical_and(np.logical_and(z < 0.5, z + m < 0.5), m == np.floor(m))
    left = np.where(reflected, z, 0.5)
    ratio = np.where(
        reflected, psi_difference(1 - left, np.where(reflected, -m, 0)), psi_difference(z, m)
    )
    at_zero = gamma(z + m) * _rgamma_slope(z) + y * psi(z + m)
    alone = np.logical_and(_is_near_pole(z), np.logical_not(reflected))
    zero = np.logical_or(y == 0, np.logical_and(alone, z + m < 150))
    return np.where(zero, at_zero, y * ratio)


poch: Op = special("poch", _poch_base, lambda z, m, y: y * psi(z + m))
