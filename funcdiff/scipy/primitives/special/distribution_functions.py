"""Distribution functions, whose derivatives are the densities.

The formulas are those of Abramowitz and Stegun, chapter 26.  On the boundary of its domain a
density is written as a product of powers, and inside by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.scipy.primitives.special.family import Op, special, with_complement
from funcdiff.scipy.primitives.special.gamma import gammaln, poch, psi
from funcdiff.scipy.primitives.special.incomplete import (
    betainc,
    betainc_first,
    betainc_second,
    gamma_density,
    gammainc_shape,
    gammaincc,
)
from funcdiff.scipy.primitives.special.inverse import inverse, inverses
from funcdiff.scipy.primitives.special.normal import ndtr

# ---- gamma, χ² and Poisson -----------------------------------------------------------------------


def _chi_freedom(v: Any, x: Any, _y: Any) -> Any:
    return gammainc_shape(v / 2, x / 2) / 2


def _chi_density(v: Any, x: Any, _y: Any) -> Any:
    return gamma_density(v / 2, x / 2) / 2


def _gamma_shape(a: Any, b: Any, x: Any, _y: Any) -> Any:
    return gammainc_shape(b, a * x)


def _gamma_density(a: Any, b: Any, x: Any, _y: Any) -> Any:
    return a * gamma_density(b, a * x)


def _gamma_rate(a: Any, b: Any, x: Any, _y: Any) -> Any:
    return x * gamma_density(b, a * x)


chdtr, chdtrc = with_complement("chdtr", _chi_freedom, _chi_density)
gdtr, gdtrc = with_complement("gdtr", _gamma_rate, _gamma_shape, _gamma_density)
chdtri: Op = inverse("chdtri", 1, _chi_freedom, _chi_density, sign=-1)
gdtrix: Op = inverse("gdtrix", 2, _gamma_rate, _gamma_shape, _gamma_density)
inverses(("chdtriv", ""), chdtr, _chi_freedom, _chi_density)
inverses(("gdtria", "gdtrib", ""), gdtr, _gamma_rate, _gamma_shape, _gamma_density)
inverses(
    ("pdtrik", ""),
    lambda k, m: gammaincc(k + 1, m),
    lambda k, m, y: -gammainc_shape(k + 1, m),
    lambda k, m, y: -gamma_density(k + 1, m),
)
pdtri: Op = special("pdtri", lambda k, y, m: -1 / gamma_density(k + 1, m), whole=("k",))
pdtr, pdtrc = with_complement("pdtr", lambda k, m, y: -gamma_density(k + 1, m), whole=("k",))

# ---- beta, F, binomial and Student ---------------------------------------------------------------


def _beta_density(a: Any, b: Any, p: Any, q: Any) -> Any:
    """Return p^(a-1) q^(b-1) / B(a, b), where q = 1 - p."""
    edge = np.logical_or(p == 0, q == 0)
    both: Any = gammaln(a + b)
    scale = both - gammaln(a) - gammaln(b)
    logs = (a - 1) * np.log(np.where(edge, 1, p)) + (b - 1) * np.log(np.where(edge, 1, q))
    powers = p ** (a - 1) * q ** (b - 1) * np.exp(scale)
    return np.where(edge, powers, np.exp(logs + scale))


def _f_density(m: Any, n: Any, x: Any, _y: Any) -> Any:
    total = n + m * x
    return _beta_density(m / 2, n / 2, m * x / total, n / total) * m * n / total**2


def _binomial_slope(k: Any, n: Any, p: Any, _y: Any) -> Any:
    """Return -n!/(k! (n-k-1)!) p^k (1-p)^(n-k-1), equation 26.5.24; 0 for k = n."""
    certain = k >= n
    failures = np.where(certain, 1, n - k)
    return -np.where(certain, 0, _beta_density(k + 1, failures, p, 1 - p))


def _negative_binomial_slope(k: Any, n: Any, p: Any, _y: Any) -> Any:
    """Return the density of the waiting time, equation 26.5.26."""
    return _beta_density(n, k + 1, p, 1 - p)


def _student_density(df: Any, t: Any, _y: Any) -> Any:
    """Return Γ((ν+1)/2) / (√(νπ) Γ(ν/2)) (1 + t²/ν)^(-(ν+1)/2); for infinite ν the normal one."""
    normal = np.isinf(df)
    v: Any = np.where(normal, 1, df)
    scale = poch(v / 2, constant(0.5, v.type)) / np.sqrt(v * np.pi)
    density = scale * np.exp(-(v + 1) / 2 * np.log1p(t * t / v))
    return np.where(normal, np.exp(-t * t / 2) / math.sqrt(2 * math.pi), density)


def _f_freedoms(m: Any, n: Any, x: Any) -> tuple[Any, Any]:
    """Return ∂/∂m and ∂/∂n of I(z; m/2, n/2) with z = m·x/(n + m·x) <= 1/2, equation 26.6.2."""
    a, b, z = m / 2, n / 2, m * x / (n + m * x)
    moved = _f_density(m, n, x, None) * x
    return betainc_first(a, b, z) / 2 + moved / m, betainc_second(a, b, z) / 2 - moved / n


def _f_freedom(m: Any, n: Any, x: Any, _y: Any, which: int = 0) -> Any:
    """Return ∂/∂m; where z > 1/2 of the probability of a greater quotient, that of 1/x."""
    near = m * x <= n
    inner = _f_freedoms(m, n, np.where(near, x, n / m))[which]
    outer = _f_freedoms(n, m, np.where(near, m / n, 1 / x))[1 - which]
    return np.where(near, inner, -outer)


def _f_other_freedom(m: Any, n: Any, x: Any, _y: Any) -> Any:
    return _f_freedom(m, n, x, _y, 1)


def _student_freedom(df: Any, t: Any, _y: Any) -> Any:
    """Return ∂/∂ν of 1 - I(z; ν/2, 1/2)/2 with z = ν/(ν + t²), odd in t; 26.7.1.

    Near t = 0, where that cancels, it is the integral of the density's derivative from 0 to t.
    """
    trivial = np.isinf(df)
    v = np.where(trivial, 1, df)
    near = np.abs(t) <= np.minimum(np.sqrt(v), 3)
    x = np.where(near, 1, t)
    first = betainc_first(v / 2, np.full_like(v, 0.5), v / (v + x * x))
    slope = -np.sign(x) * first / 4 - x / (2 * v) * _student_density(v, x, _y)
    return np.where(trivial, 0, np.where(near, _student_inside(v, np.where(near, t, 0)), slope))


def _student_inside(v: Any, t: Any) -> Any:
    """Return ∫ ∂f(u)/∂ν du from 0 to t by the rule of Gauss, for t² ≤ ν, where that is exact.

    The integrand is analytic up to u = ±i√ν, so that the error falls as 4.6⁻²ⁿ with n nodes.
    """
    gap = _digamma_gap(v)
    total: Any = 0.0 * t
    for node, weight in zip(*np.polynomial.legendre.leggauss(14), strict=True):
        u = float(node + 1) / 2 * t
        w = u * u / v
        logarithm, ratio = np.log1p(w), w / (1 + w)
        score = (gap + ratio / v + (ratio - logarithm)) / 4
        total = total + float(weight) * np.exp(-(v + 1) / 2 * logarithm) * score
    return t * _student_density(v, 0.0 * t, None) * total


def _digamma_gap(v: Any) -> Any:
    """Return ψ((ν+1)/2) - ψ(ν/2) - 1/ν, for large ν by Stirling's series: 6.3.8 and 6.3.18."""
    far = v > 20
    small, z = np.where(far, 1, v), np.where(far, 1 / (v * v), 0)
    series = z * 0
    for coefficient in (2730.5, -172.75, 15.5, -17 / 8, 1 / 2, -1 / 4, 1 / 2):
        series = (series + coefficient) * z
    return np.where(far, series, psi((small + 1) / 2) - psi(small / 2) - 1 / small)


fdtr, fdtrc = with_complement("fdtr", _f_freedom, _f_other_freedom, _f_density)
fdtri: Op = inverse("fdtri", 2, _f_freedom, _f_other_freedom, _f_density)
bdtr, bdtrc = with_complement("bdtr", _binomial_slope, whole=("k", "n"))
nbdtr, nbdtrc = with_complement("nbdtr", _negative_binomial_slope, whole=("k", "n"))
bdtri: Op = special("bdtri", lambda k, n, y, p: 1 / _binomial_slope(k, n, p, y), whole=("k", "n"))
nbdtri: Op = special(
    "nbdtri", lambda k, n, y, p: 1 / _negative_binomial_slope(k, n, p, y), whole=("k", "n")
)
stdtr: Op = special("stdtr", _student_freedom, _student_density)
stdtrit: Op = inverse("stdtrit", 1, _student_freedom, _student_density)

# ---- of which the parameters are found, numbers of trials and successes as real ones -------------

inverses(("", "fdtridfd", ""), fdtr, _f_freedom, _f_other_freedom, _f_density)
inverses(("stdtridf", ""), stdtr, _student_freedom, _student_density)
inverses(
    ("btdtria", "btdtrib", ""),
    betainc,
    lambda a, b, x, y: betainc_first(a, b, x),
    lambda a, b, x, y: betainc_second(a, b, x),
    lambda a, b, x, y: _beta_density(a, b, x, 1 - x),
)
inverses(
    ("bdtrik", "bdtrin", ""),
    lambda k, n, p: betainc(n - k, k + 1, 1 - p),
    lambda k, n, p, y: betainc_second(n - k, k + 1, 1 - p) - betainc_first(n - k, k + 1, 1 - p),
    lambda k, n, p, y: betainc_first(n - k, k + 1, 1 - p),
    lambda k, n, p, y: -_beta_density(k + 1, n - k, p, 1 - p),
)
inverses(
    ("nbdtrik", "nbdtrin", ""),
    lambda k, n, p: betainc(n, k + 1, p),
    lambda k, n, p, y: betainc_second(n, k + 1, p),
    lambda k, n, p, y: betainc_first(n, k + 1, p),
    _negative_binomial_slope,
)


def _normal_density(mean: Any, deviation: Any, x: Any, _y: Any) -> Any:
    z = (x - mean) / deviation
    return np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * deviation)


inverses(
    ("nrdtrimn", "nrdtrisd", ""),
    lambda mean, deviation, x: ndtr((x - mean) / deviation),
    lambda *operands: -_normal_density(*operands),
    lambda mean, deviation, x, y: (mean - x) / deviation * _normal_density(mean, deviation, x, y),
    _normal_density,
)
