"""The incomplete gamma and beta functions, in their parameters, too.

In `x` the derivative is the density.  In the parameters it has no closed form; it is a moment of
the scores, the slopes of the logarithm of the density, on one side of `x`, which is integrated
numerically (see `derivative_integrals`), to about twelve digits.  First moments of a whole
distribution vanish, and all others cancel in what derivatives are made of, so that it may be the
side of the smaller tail.  Where a parameter is small, a first step to a larger one (DLMF 8.8.5 and
8.17.20) leaves an elementary term and a moment in which it cancels nothing.

The beta distribution is taken as that of a quotient x = bz/(a(1 - z)), whose mean does not move
with the parameters: of Fisher's F and Student's t nothing is left but small differences.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.scipy.primitives.numerics import derivative_integrals as integrals
from funcdiff.scipy.primitives.numerics.derivative_integrals import beta_kernel, gamma_kernel
from funcdiff.scipy.primitives.special.family import Op, by_order, with_complement
from funcdiff.scipy.primitives.special.gamma import betaln, gammaln, polygamma, psi
from funcdiff.scipy.primitives.special.inverse import inverse
from funcdiff.scipy.primitives.special.losses import log_ratio

digamma_gaps: Op = by_order(
    "digamma_gaps",
    integrals.digamma_gap,
    lambda orders, x: digamma_gaps((orders[0] + 1,), x),
)
"""Derivatives of ln x - ψ(x), which is about 1/(2x)."""
digamma_falls: Op = by_order(
    "digamma_falls",
    integrals.digamma_fall,
    lambda orders, x, step: digamma_falls((orders[0] + 1,), x, step),
    lambda orders, x, step: -digamma_gaps((orders[0] + 1,), x + step),
)
"""What these fall by in a step."""

# ---- the gamma distribution ----------------------------------------------------------------------


def _gamma_score(a: Any, x: Any) -> Any:
    """Return ln x - ψ(a), the slope of the logarithm of the density."""
    return log_ratio(x, a) + digamma_gaps((0,), a)


def gamma_density(a: Any, x: Any) -> Any:
    """xᵃ⁻¹e⁻ˣ/Γ(a), DLMF 8.8.13; at x = 0 as a power, whose derivatives are right there."""
    inside, z = _positive(x)
    infinite = x == np.inf
    power = np.where(infinite, 0, x) ** (a - 1) * np.exp(-gammaln(a) - np.where(infinite, 0, x))
    return np.where(inside, gamma_kernel(1, a, z), np.where(infinite, 0, power))


def _positive(x: Any) -> tuple[Any, Any]:
    inside = np.logical_and(x > 0, x < np.inf)
    return inside, np.where(inside, x, 1)


def _gamma_moment_shape(orders: tuple[int, ...], a: Any, x: Any) -> Any:
    """∂Mₖ/∂a = Mₖ₊₁ - k·ψ'(a)·Mₖ₋₁: of (ln t - ψ(a))ᵏ·tᵃ⁻¹e⁻ᵗ/Γ(a) under the integral."""
    (k,) = orders
    slope = gamma_moments((k + 1,), a, x)
    return slope - k * polygamma(np.ones_like(a), a) * gamma_moments((k - 1,), a, x) if k else slope


gamma_moments: Op = by_order(
    "gamma_moments",
    integrals.gamma_moment,
    _gamma_moment_shape,
    lambda orders, a, x: _gamma_score(a, _positive(x)[1]) ** orders[0] * gamma_density(a, x),
)


def gammainc_shape(a: Any, x: Any) -> Any:
    """∂P/∂a, from P(a, x) = P(a+1, x) + xᵃe⁻ˣ/Γ(a+1)."""
    z = _positive(x)[1]
    term = gamma_kernel(1, a + 1, x) * _gamma_score(a + 1, z)
    return term + gamma_moments((1,), a + 1, x)


_GAMMA: Final = (lambda a, x, y: gammainc_shape(a, x), lambda a, x, y: gamma_density(a, x))
gammainc, gammaincc = with_complement("gammainc", *_GAMMA)
gammaincinv: Op = inverse("gammaincinv", 1, *_GAMMA)
gammainccinv: Op = inverse("gammainccinv", 1, *_GAMMA, sign=-1)

# ---- the beta distribution -----------------------------------------------------------------------


def quotient_scores(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return 1 - w and the slopes by a and by b of the log density of F, as in `beta_moment`."""
    whole = a + b
    total = b + a * x
    gap = (1 - x) / total
    left = integrals.log1p_rest(-b * gap, np.log(whole * x / total))
    right = integrals.log1p_rest(a * gap, np.log(whole / total))
    return b * gap, left + digamma_falls((0,), a, b), right + digamma_falls((0,), b, a)


def beta_density(a: Any, b: Any, p: Any, q: Any) -> Any:
    """pᵃ⁻¹qᵇ⁻¹/B(a, b) for q = 1 - p, DLMF 8.17.1; at the ends by powers."""
    edge = np.logical_not(np.logical_and(p > 0, q > 0))
    at_ends = p ** (a - 1) * q ** (b - 1) * np.exp(-betaln(a, b))
    p, q = np.where(edge, 0.5, p), np.where(edge, 0.5, q)
    odds = b / (a * q)
    return np.where(edge, at_ends, beta_kernel(1, a, b, odds * p) * odds / q)


def _beta_moment_slope(place: int) -> Op:
    """Return ∂/∂a or ∂/∂b of LʲRᵏdⁱ and the density, under the integral.

    For slopes S and T by parameters p and q it is ∂S/∂q = fₚ·f_q·d²/(a + b), less what ψ adds, and
    ∂d/∂q = -f_q·d·(1 - d)/(a + b), where f is 1 for a and -a/b for b.
    """

    def slope(orders: tuple[int, ...], a: Any, b: Any, x: Any) -> Any:
        def moment(*steps: int) -> Any:
            return beta_moments(tuple(map(sum, zip(orders, steps, strict=True))), a, b, x)

        whole, factors = a + b, (1, -a / b)
        by = factors[place] / whole
        total = moment(1 - place, place, 0)
        for k, parameter in enumerate((a, b)):
            if count := orders[k]:
                falls = digamma_falls((1,), parameter, (b, a)[k])
                bend = falls if k == place else -digamma_gaps((1,), whole)
                bent = by * factors[k] * moment(k - 1, -k, 2) + bend * moment(k - 1, -k, 0)
                total = total + count * bent
        count = orders[2]
        return total + count * by * (moment(0, 0, 1) - moment(0, 0, 0)) if count else total

    return slope


def _beta_moment_limit(orders: tuple[int, ...], a: Any, b: Any, x: Any) -> Any:
    fall, left, right = quotient_scores(a, b, _positive(x)[1])
    j, k, i = orders
    return left**j * right**k * fall**i * beta_kernel(1, a, b, x)


_SLOPES: Final = *map(_beta_moment_slope, range(2)), _beta_moment_limit
beta_moments: Op = by_order("beta_moments", integrals.beta_moment, *_SLOPES)


def quotient_slope(a: Any, b: Any, x: Any, *, fixed_odds: bool = False) -> Any:
    """∂F/∂a, where F is the probability that a quotient with 2a and 2b degrees is less than x.

    With `fixed_odds` ax/b is kept, not x.  By b it is minus that of b, a and 1/x, the probability
    of a greater one.  A small parameter is raised by F(a, b) = F(a+1, b) + D/a or F(a, b+1) - D/b
    on the side where it makes the density flat; D is the density in ln x, and ax/b stays.
    """
    inside, x = _positive(x)
    below = x < 1
    low, high = np.logical_and(below, a < 1), np.logical_and(np.logical_not(below), b < 1)
    first, second = np.where(low, a + 1, a), np.where(high, b + 1, b)
    at, z = x * (a / first), a * x / (b + a * x)
    found = beta_moments((1, 0, 0), first, second, at * (second / b))
    step = np.log(z) - psi(a + 1) + psi(a + b)
    density = beta_kernel(0, first, b, at)
    other = density * quotient_scores(first, b, at)[1] / b
    if fixed_odds:
        found = found - density / first
    else:
        step = step + 1 - z * (a + b) / (a + 1)
    step = np.where(low, beta_kernel(0, a, b, x) * step / a, 0)
    return np.where(inside, found + step - np.where(high, other, 0), 0)


def _to_quotient(a: Any, b: Any, p: Any) -> Any:
    """Return bp/(a(1-p)), and 0 at both ends."""
    inside = np.logical_and(p > 0, p < 1)
    z = np.where(inside, p, 0.5)
    return np.where(inside, z * b / ((1 - z) * a), 0)


def betainc_first(a: Any, b: Any, p: Any) -> Any:
    """∂I/∂a."""
    return quotient_slope(a, b, _to_quotient(a, b, p), fixed_odds=True)


def betainc_second(a: Any, b: Any, p: Any) -> Any:
    """∂I/∂b."""
    return -quotient_slope(b, a, 1 / _to_quotient(a, b, p), fixed_odds=True)


BETA_SLOPES: Final = (
    lambda a, b, x, y: betainc_first(a, b, x),
    lambda a, b, x, y: betainc_second(a, b, x),
    lambda a, b, x, y: beta_density(a, b, x, 1 - x),
)
betainc, betaincc = with_complement("betainc", *BETA_SLOPES)
betaincinv: Op = inverse("betaincinv", 2, *BETA_SLOPES)
betainccinv: Op = inverse("betainccinv", 2, *BETA_SLOPES, sign=-1)
