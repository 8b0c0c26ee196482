"""The incomplete gamma and beta functions, in their parameters, too.

In `x` the derivative is the density.  In the parameters it has no closed form; it is a
logarithmic moment of the distribution on one side of `x`, which is integrated numerically (see
`quadrature`), to about twelve digits.  First moments of a whole distribution vanish, and all
others cancel in what derivatives are made of, so that it may be the side of the smaller tail.  A
first step to larger parameters (DLMF 8.8.5 and 8.17.20 with 8.17.21) leaves an elementary term and
a moment in which small parameters cancel nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.scipy.primitives.numerics.derivative_integrals import beta_moment, gamma_moment
from funcdiff.scipy.primitives.special.family import Op, by_order, with_complement
from funcdiff.scipy.primitives.special.gamma import betaln, gammaln, polygamma, psi
from funcdiff.scipy.primitives.special.inverse import inverse


def _trigamma(x: Any) -> Any:
    return polygamma(np.ones_like(x), x)


# ---- the gamma distribution ----------------------------------------------------------------------


def gamma_density(a: Any, x: Any) -> Any:
    """xᵃ⁻¹e⁻ˣ/Γ(a), DLMF 8.8.13; at x = 0 as a power, whose derivatives are right there."""
    inside, z = _positive(x)
    infinite = x == np.inf
    power = np.where(infinite, 0, x) ** (a - 1) * np.exp(-gammaln(a) - np.where(infinite, 0, x))
    return np.where(inside, _gamma_kernel(a - 1, z, gammaln(a)), np.where(infinite, 0, power))


def _gamma_kernel(n: Any, x: Any, logarithm: Any) -> Any:
    return np.exp(n * np.log(x) - x - logarithm)


def _positive(x: Any) -> tuple[Any, Any]:
    inside = np.logical_and(x > 0, x < np.inf)
    return inside, np.where(inside, x, 1)


def _gamma_moment_shape(orders: tuple[int, ...], a: Any, x: Any) -> Any:
    """∂Mₖ/∂a = Mₖ₊₁ - k·ψ'(a)·Mₖ₋₁: of (ln t - ψ(a))ᵏ·tᵃ⁻¹e⁻ᵗ/Γ(a) under the integral."""
    (k,) = orders
    slope = gamma_moments((k + 1,), a, x)
    return slope - k * _trigamma(a) * gamma_moments((k - 1,), a, x) if k else slope


def _gamma_moment_limit(orders: tuple[int, ...], a: Any, x: Any) -> Any:
    """∂Mₖ/∂x, the integrand."""
    (k,) = orders
    inside, z = _positive(x)
    return np.where(inside, (np.log(z) - psi(a)) ** k, 0**k) * gamma_density(a, x)


gamma_moments: Op = by_order(
    "gamma_moments", gamma_moment, _gamma_moment_shape, _gamma_moment_limit
)


def gammainc_shape(a: Any, x: Any) -> Any:
    """∂P/∂a, from P(a, x) = P(a+1, x) + xᵃe⁻ˣ/Γ(a+1)."""
    inside, z = _positive(x)
    term = _gamma_kernel(a, z, gammaln(a + 1)) * (np.log(z) - psi(a + 1))
    return np.where(inside, term, 0) + gamma_moments((1,), a + 1, x)


_GAMMA: Final = (lambda a, x, y: gammainc_shape(a, x), lambda a, x, y: gamma_density(a, x))
gammainc, gammaincc = with_complement("gammainc", *_GAMMA)
gammaincinv: Op = inverse("gammaincinv", 1, *_GAMMA)
gammainccinv: Op = inverse("gammainccinv", 1, *_GAMMA, sign=-1)

# ---- the beta distribution -----------------------------------------------------------------------


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """xᵃ⁻¹(1-x)ᵇ⁻¹/B(a, b), DLMF 8.17.1; at x = 0 and 1 by powers."""
    inside, z = _within(x)
    at_ends = x ** (a - 1) * (1 - x) ** (b - 1) * np.exp(-betaln(a, b))
    return np.where(inside, _beta_kernel(a - 1, b - 1, z, -betaln(a, b)), at_ends)


def _beta_kernel(m: Any, n: Any, x: Any, logarithm: Any) -> Any:
    return np.exp(m * np.log(x) + n * np.log1p(-x) + logarithm)


def _within(x: Any) -> tuple[Any, Any]:
    inside = np.logical_and(x > 0, x < 1)
    return inside, np.where(inside, x, 0.5)


def _beta_moment_first(orders: tuple[int, ...], a: Any, b: Any, x: Any) -> Any:
    """∂Mⱼₖ/∂a = Mⱼ₊₁ₖ - j·(ψ'(a) - ψ'(a+b))·Mⱼ₋₁ₖ + k·ψ'(a+b)·Mⱼₖ₋₁."""
    j, k = orders
    slope: Any = beta_moments((j + 1, k), a, b, x)
    common = _trigamma(a + b)
    if j:
        slope = slope - j * (_trigamma(a) - common) * beta_moments((j - 1, k), a, b, x)
    return slope + k * common * beta_moments((j, k - 1), a, b, x) if k else slope


def _beta_moment_second(orders: tuple[int, ...], a: Any, b: Any, x: Any) -> Any:
    """∂Mⱼₖ/∂b = Mⱼₖ₊₁ - k·(ψ'(b) - ψ'(a+b))·Mⱼₖ₋₁ + j·ψ'(a+b)·Mⱼ₋₁ₖ."""
    j, k = orders
    slope: Any = beta_moments((j, k + 1), a, b, x)
    common = _trigamma(a + b)
    if k:
        slope = slope - k * (_trigamma(b) - common) * beta_moments((j, k - 1), a, b, x)
    return slope + j * common * beta_moments((j - 1, k), a, b, x) if j else slope


def _beta_moment_limit(orders: tuple[int, ...], a: Any, b: Any, x: Any) -> Any:
    """∂Mⱼₖ/∂x, the integrand."""
    j, k = orders
    inside, z = _within(x)
    weight = (np.log(z) - psi(a) + psi(a + b)) ** j * (np.log1p(-z) - psi(b) + psi(a + b)) ** k
    return np.where(inside, weight, 0 ** (j + k)) * _beta_density(a, b, x)


beta_moments: Op = by_order(
    "beta_moments", beta_moment, _beta_moment_first, _beta_moment_second, _beta_moment_limit
)


def betainc_first(a: Any, b: Any, x: Any) -> Any:
    """∂I/∂a, from I(a, b) = I(a+1, b+1) + D·(b/(a+b) - x) with D = xᵃ(1-x)ᵇ/(a+b+1)/B(a+1, b+1)."""
    inside, z = _within(x)
    slope = np.log(z) + psi(a + b + 1) - psi(a + 1)
    term = slope * (b / (a + b) - z) - b / ((a + b) * (a + b))
    step = np.where(inside, _beta_step(a, b, z) * term, 0)
    return step + beta_moments((1, 0), a + 1, b + 1, x)


def betainc_second(a: Any, b: Any, x: Any) -> Any:
    """∂I/∂b, from the same."""
    inside, z = _within(x)
    slope = np.log1p(-z) + psi(a + b + 1) - psi(b + 1)
    term = slope * (b / (a + b) - z) + a / ((a + b) * (a + b))
    step = np.where(inside, _beta_step(a, b, z) * term, 0)
    return step + beta_moments((0, 1), a + 1, b + 1, x)


def _beta_step(a: Any, b: Any, x: Any) -> Any:
    scale = gammaln(a + b + 1) - gammaln(a + 1) - gammaln(b + 1)
    return _beta_kernel(a, b, x, scale)


_BETA: Final = (
    lambda a, b, x, y: betainc_first(a, b, x),
    lambda a, b, x, y: betainc_second(a, b, x),
    lambda a, b, x, y: _beta_density(a, b, x),
)
betainc, betaincc = with_complement("betainc", *_BETA)
betaincinv: Op = inverse("betaincinv", 2, *_BETA)
betainccinv: Op = inverse("betainccinv", 2, *_BETA, sign=-1)
