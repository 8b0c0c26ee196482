"""Leaves of SciPy's distributions that are compiled or look at values, as formulas in NumPy.

SciPy gives the values; these are for their derivatives.  They are exact where the distribution is
known by a series of elementary steps, and else integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb
from typing import Any, Final

import numpy as np

from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import special
from funcdiff.scipy.primitives.special.incomplete import beta_density
from funcdiff.scipy.primitives.special.powers import log1p_ratio_derivatives
from funcdiff.scipy.stats.counts import COUNT_SLOPES, COUNTS, nothing_stated
from funcdiff.scipy.stats.double_exponential import grid, integral, probability_integral
from funcdiff.scipy.stats.noncentral_integrals import NONCENTRAL

_log1p_ratio: Final = partial(log1p_ratio_derivatives, (0,))

# ---- Von Mises' distribution, on the circle and on a line, as formulas in NumPy ------------------


def log_i0e(k: Any) -> Any:
    """ln(e⁻ᵏI₀(k)) for k >= 0, with the derivative on the right at 0."""
    near = k < 1
    small = np.log(special.i0(np.where(near, k, 0.0))) - k
    return np.where(near, small, np.log(special.i0e(np.where(near, 1.0, k))))


def _vonmises_entropy(_self: Any, kappa: Any) -> Any:
    """ln(2π·I₀(k)) - k·I₁(k)/I₀(k)."""
    ratio = special.i1e(kappa) * np.exp(-log_i0e(kappa))
    return np.log(2 * np.pi) + log_i0e(kappa) + kappa * (1 - ratio)


def _vonmises_cdf(_self: Any, x: Any, kappa: Any) -> Any:
    """½ + ∫₀ˣ eᵏ⁽ᶜᵒˢ ᵗ⁻¹⁾ dt / (2π·e⁻ᵏI₀(k)) within a period, up to where it is complete."""
    turns = np.round(x / (2 * np.pi))
    far = 12 / np.sqrt(kappa + 1)
    end = np.clip(x - 2 * np.pi * turns, -far, far)
    part = integral(lambda t: np.exp(-2 * kappa * np.sin(t / 2) ** 2), 0 * end, end, 0.0, 1.0)
    return turns + 0.5 + part / (2 * np.pi) * np.exp(-log_i0e(kappa))


def _vonmises_munp(self: Any, n: int, kappa: Any) -> Any:
    end = np.pi + 0 * kappa
    return integral(lambda t: t**n * self._pdf(t, kappa), -end, end, 0.0, 1.0)


VONMISES: Final[dict[str, Callable[..., Any]]] = {
    "_logpdf": lambda _self, x, k: (
        -2 * k * np.sin(x / 2) ** 2 - np.log(2 * np.pi) - log_i0e(k)),
    "_cdf": _vonmises_cdf,
    "_munp": _vonmises_munp, "_entropy": _vonmises_entropy,
}  # fmt: skip
"""Leaf -> what computes it, with the distribution in front."""


_ROOT_TWO_PI: Final = float(np.sqrt(2 * np.pi))

# ---- beta, and Student's t -----------------------------------------------------------------------


def _beta_pdf(_self: Any, *operands: Any) -> Any:
    x, a, b = map(array, np.broadcast_arrays(*operands))
    return beta_density(a, b, x, 1 - x)


def _t_entropy(_self: Any, df: Any) -> Any:
    """(ν+1)/2·(ψ((ν+1)/2) - ψ(ν/2)) + ln(√ν·B(ν/2, ½)), and its expansion for large ν."""
    half = df / 2
    gap = special.digamma(half + 0.5) - special.digamma(half)
    near = (half + 0.5) * gap + np.log(df) / 2 + special.betaln(half, 0.5)
    u = 1 / df
    normal = (np.log(2 * np.pi) + 1) / 2
    series = u + u**2 / 4 - u**3 / 6 - u**4 / 8 + 3 / 10 * u**5 + u**6 / 4
    return np.where(df >= 100, normal + series, near)


# ---- normal distributions with a twist -----------------------------------------------------------


def _log_gauss_mass(a: Any, b: Any) -> Any:
    """Return ln(Φ(b) - Φ(a)), of the two equal differences that with smaller numbers."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    far = high <= 0
    upper = special.log_ndtr(np.where(far, high, 0.0))
    lower = special.log_ndtr(np.where(far, low, -1.0))
    tail = upper + np.log(-np.expm1(lower - upper))
    inner = np.where(far, 0.0, low), np.where(far, 1.0, high)
    return np.where(far, tail, np.log1p(-special.ndtr(inner[0]) - special.ndtr(-inner[1])))


def _truncnorm_logpdf(_self: Any, x: Any, a: Any, b: Any) -> Any:
    return -(x**2) / 2 - np.log(2 * np.pi) / 2 - _log_gauss_mass(a, b)


def _truncnorm_slopes(method: str) -> Callable[..., tuple[Any, ...]]:
    """Return F_a = -f(a)·(1 - F) and F_b = -f(b)·F, which lose no digits at the ends.

    Those of 1 - F, ln F or ln(1 - F) follow: factors are F, 1 - F or their quotients.
    """
    sign = -1 if method.endswith("cdf") else 1

    def partials(apply: Any, x: Any, a: Any, b: Any) -> tuple[Any, ...]:
        if method.startswith("log"):
            total = apply(method, x, a, b)
            shares = (np.exp(apply(m, x, a, b) - total) for m in ("logsf", "logcdf"))
        else:
            shares = (apply(m, x, a, b) for m in ("sf", "cdf"))
        heights = (np.where(np.isinf(z), 0.0, apply("pdf", z, a, b)) for z in (a, b))
        return tuple(sign * f * share for f, share in zip(heights, shares, strict=True))

    return partials


def _fold_slope(_apply: Any, x: Any, c: Any) -> Any:
    """Return F_c of a folded normal distribution, φ(x + c) - φ(x - c)."""
    return np.exp(-((x - c) ** 2) / 2) * np.expm1(-2 * x * c) / _ROOT_TWO_PI


def _truncnorm_munp(self: Any, n: int, a: Any, b: Any) -> Any:
    """Mₙ = (n-1)·Mₙ₋₂ + aⁿ⁻¹f(a) - bⁿ⁻¹f(b), by parts; an infinite end adds nothing."""
    low, high = np.isinf(a), np.isinf(b)
    a_, b_ = np.where(low, 0.0, a), np.where(high, 0.0, b)
    at_a = np.where(low, 0.0, self._pdf(a_, a, b))
    at_b = np.where(high, 0.0, self._pdf(b_, a, b))
    moments: list[Any] = [0.0, 1.0]
    for k in range(1, n + 1):
        moments.append((k - 1) * moments[-2] + a_ ** (k - 1) * at_a - b_ ** (k - 1) * at_b)
    return moments[-1]


# ---- families with a member in their midst that has another formula ------------------------------


def _genextreme_logpdf(self: Any, x: Any, c: Any) -> Any:
    y = self._loglogcdf(x, c)
    return y - np.exp(y) - np.log1p(-c * x)


def _genextreme_near(c: Any) -> tuple[Any, Any, Any, Any]:
    """Return where c is near 0, c elsewhere, and values (1 - eᶜᵘ)/c with weights in its place.

    They are those of the trapezoidal rule over u, which has the density exp(u - eᵘ).
    """
    near = np.abs(c) < 0.1
    u = grid(-70.0, 0.2, 374, np.ndim(c))
    values = -u * special.exprel(np.where(near, c, 0.0) * u)
    return near, np.where(near, 1.0, c), values, 0.2 * np.exp(u - np.exp(u))


def _genextreme_munp(_self: Any, n: int, c: Any) -> Any:
    near, large, values, weights = _genextreme_near(c)
    terms: Any = sum((-1) ** k * comb(n, k) * special.gamma(k * large + 1) for k in range(n + 1))
    found = np.where(near, np.sum(weights * values**n, axis=0), terms / large**n)
    return np.where(n * c > -1, found, np.inf)


def _genextreme_stats(_self: Any, c: Any, **_moments: Any) -> tuple[Any, ...]:
    near, large, values, weights = _genextreme_near(c)
    mean = np.sum(weights * values, axis=0)
    g1, g2, g3, g4 = (special.gamma(k * large + 1) for k in range(1, 5))
    central = (
        (g2 - g1**2) / large**2,
        (3 * g2 * g1 - g3 - 2 * g1**3) / large**3,
        (g4 - 4 * g3 * g1 + 6 * g2 * g1**2 - 3 * g1**4) / large**4,
    )
    variance, third, fourth = (
        np.where(near, np.sum(weights * (values - mean) ** k, axis=0), of_gamma)
        for k, of_gamma in zip((2, 3, 4), central, strict=True)
    )
    first = np.where(near, mean, (1 - g1) / large)
    found = first, variance, third / variance**1.5, fourth / variance**2 - 3
    return tuple(np.where(k * c > -1, y, np.nan) for k, y in enumerate(found, 1))


def _kappa4_logcdf(_self: Any, x: Any, h: Any, k: Any) -> Any:
    """ln(1 - h·eᵛ)/h with v = ln(1 - kx)/k."""
    powered = np.exp(-x * _log1p_ratio(-k * x))
    return -powered * _log1p_ratio(-h * powered)


def _kappa4_logpdf(self: Any, x: Any, h: Any, k: Any) -> Any:
    v = -x * _log1p_ratio(-k * x)
    return (1 - h) * self._logcdf(x, h, k) + v - np.log1p(-k * x)


def _kappa4_support(_self: Any, h: Any, k: Any) -> tuple[Any, Any]:
    """From (1 - h⁻ᵏ)/k, or 1/k, to 1/k; each is infinite for some signs."""
    logarithm = np.log(np.where(h > 0, h, 1.0))
    inverse = 1 / np.where(np.abs(k) > 0, k, 1.0)
    low = np.where(h > 0, logarithm * special.exprel(-k * logarithm), -np.inf)
    return np.where((h <= 0) & (k < 0), inverse, low), np.where(k > 0, inverse, np.inf)


def _pearson3_logpdf(_self: Any, x: Any, skew: Any) -> Any:
    """Of a gamma distribution of shape a = 4/s² in standard units, without what cancels at s = 0.

    With t = sx/2 > -1 and Stirling's remainder d(a) of ln Γ(a) it is

        x²·(ln(1 + t) - t)/t² - ln(1 + t) - d(a) - ln(2π)/2.
    """
    t = skew * x / 2
    inside = t > -1
    t, u = np.where(inside, t, 0.0), skew**2 / 4
    near = u < 0.05
    large, a = np.where(near, u, 0.0), 1 / np.where(near, 1.0, u)
    series = large * (1 / 12 - large**2 * (1 / 360 - large**2 * (1 / 1260 - large**2 / 1680)))
    exact = special.gammaln(a) - (a - 0.5) * np.log(a) + a - np.log(2 * np.pi) / 2
    quotient = -1 / (1 + t) - log1p_ratio_derivatives((1,), array(t))
    remainder = np.where(near, series, exact) + np.log(2 * np.pi) / 2
    return np.where(inside, x**2 * quotient - np.log1p(t) - remainder, -np.inf)


def _pearson3_share(*, upper: bool) -> Callable[..., Any]:
    """Return F or 1 - F, of a strong skew by the gamma distribution, and else an integral.

    The integral cannot tell points near a singular end of the support apart.
    """
    of_density = probability_integral("pearson3", upper=upper)

    def share(_self: Any, x: Any, skew: Any) -> Any:
        strong = np.abs(skew) > 1
        s, weak = np.where(strong, skew, 1.0), np.where(strong, 0.5, skew)
        t: Any = np.maximum(4 / s**2 + 2 * x / s, 0.0)
        shares = special.gammaincc(4 / s**2, t), special.gammainc(4 / s**2, t)
        exact = np.where((s > 0) == upper, *shares)
        return np.where(strong, exact, of_density(np.where(strong, 0.0, x), weak))

    return share


def _triang_pdf(_self: Any, x: Any, c: Any) -> Any:
    left = (x < c) | (c >= 1)
    return np.where(left, 2 * x / np.where(left, c, 1), 2 * (1 - x) / np.where(left, 1, 1 - c))


def _triang_cdf(_self: Any, x: Any, c: Any) -> Any:
    left = (x < c) | (c >= 1)
    falling = 1 - (1 - x) ** 2 / np.where(left, 1, 1 - c)
    return np.where(left, x**2 / np.where(left, c, 1), falling)


def _rice_logpdf(_self: Any, x: Any, b: Any) -> Any:
    near = x * b < 1
    small = np.log(special.i0(np.where(near, x * b, 0.0))) - (x * x + b * b) / 2
    large = log_i0e(np.where(near, 1.0, x * b)) - (x - b) ** 2 / 2
    return np.log(x) + np.where(near, small, large)


def _geninvgauss_logpdf(_self: Any, x: Any, p: Any, b: Any) -> Any:
    """Less a factor e⁻ᵇ, which Bessel's function has, too."""
    scale = np.log(2 * special.kve(p, b))
    return (p - 1) * np.log(x) - b * (x - 1) ** 2 / (2 * x) - scale


def _genhyperbolic_logpdf(_self: Any, x: Any, p: Any, a: Any, b: Any) -> Any:
    """Less exponentials, which Bessel's functions have, too."""
    square, far = (a - b) * (a + b), np.sqrt(1 + x**2)
    root, order = np.sqrt(square), p - 0.5
    norm = p / 2 * np.log(square) - np.log(_ROOT_TWO_PI) - order * np.log(a)
    bessel = np.log(special.kve(order, a * far)) - np.log(special.kve(p, root))
    return norm + bessel + order * np.log(far) + root - a * far + b * x


def _gennorm_cdf(_self: Any, x: Any, beta: Any) -> Any:
    """½ + ½ sgn(x)·P(1/β, |x|ᵝ), and its tangent at the median, x·f(0)."""
    median, half = x == 0, 0.5 * np.sign(x)
    z = np.where(median, 1.0, np.abs(x))
    side = (0.5 + half) - half * special.gammaincc(1 / beta, z**beta)
    return np.where(median, 0.5 + x * beta / special.gamma(1 / beta) / 2, side)


_STATED: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "beta": {"_pdf": _beta_pdf},
    "t": {"_entropy": _t_entropy},
    "skewnorm": {  # with Owen's function
        "_cdf": lambda _self, x, a: special.ndtr(x) - 2 * special.owens_t(x, a),
        "_sf": lambda _self, x, a: special.ndtr(-x) + 2 * special.owens_t(x, a),
        "_logpdf": lambda _self, x, a: (
            np.log(2 / _ROOT_TWO_PI) - x**2 / 2 + special.log_ndtr(a * x))},
    "genpareto": {"_logpdf": lambda self, x, c: (c + 1) * self._logsf(x, c),
                  "_logsf": lambda _self, x, c: -x * _log1p_ratio(c * x)},
    "genextreme": {"_loglogcdf": lambda _self, x, c: -x * _log1p_ratio(-c * x),
                   "_logpdf": _genextreme_logpdf,
                   "_stats": _genextreme_stats, "_munp": _genextreme_munp},
    "kappa4": {"_logcdf": _kappa4_logcdf, "_logpdf": _kappa4_logpdf,
               "_get_support": _kappa4_support},
    "pearson3": {"_logpdf": _pearson3_logpdf, "_cdf": _pearson3_share(upper=False),
                 "_sf": _pearson3_share(upper=True)},
    "triang": {"_pdf": _triang_pdf, "_cdf": _triang_cdf},
    "genlogistic": {  # smooth at 0, too, where SciPy's is put together of two
        "_logpdf": lambda _self, x, c: np.log(c) - x - (c + 1) * np.logaddexp(0.0, -x)},
    "geninvgauss": {"_logpdf": _geninvgauss_logpdf},
    "genhyperbolic": {"_logpdf": _genhyperbolic_logpdf},
    "rice": {"_logpdf": _rice_logpdf},
    "truncnorm": {"_logpdf": _truncnorm_logpdf, "_munp": _truncnorm_munp,
                  "_stats": nothing_stated},
    "gennorm": {"_cdf": _gennorm_cdf, "_sf": lambda self, x, beta: self._cdf(-x, beta)},
    "vonmises": VONMISES, "vonmises_line": VONMISES,
    **COUNTS,
    **NONCENTRAL,
}  # fmt: skip
_OF_LOGARITHM: Final = {"_pdf": lambda self, *xs: np.exp(self._logpdf(*xs))}
formulas: Final = {
    name: (_OF_LOGARITHM if "_logpdf" in leaves else {}) | leaves
    for name, leaves in _STATED.items()
}
"""Distribution -> leaf -> what computes it, with the distribution in front."""
slopes: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "truncnorm": {f"_{m}": _truncnorm_slopes(m) for m in ("cdf", "sf", "logcdf", "logsf")},
    "foldnorm": {"_cdf": lambda *xs: (_fold_slope(*xs),), "_sf": lambda *xs: (-_fold_slope(*xs),)},
    **COUNT_SLOPES,
}
"""Distribution -> leaf -> its partial derivatives in the shape parameters, by its methods."""
