"""Distribution functions, whose derivatives are the densities.

The formulas are those of Abramowitz and Stegun, chapter 26.  On the boundary of its domain a
density is written as a product of powers, and inside by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.scipy.primitives.numerics.derivative_integrals import beta_kernel
from funcdiff.scipy.primitives.special.family import Op, special, with_complement
from funcdiff.scipy.primitives.special.gamma import poch
from funcdiff.scipy.primitives.special.incomplete import (
    BETA_SLOPES,
    beta_density,
    betainc,
    betainc_first,
    betainc_second,
    gamma_density,
    gammainc_shape,
    gammaincc,
    quotient_scores,
    quotient_slope,
)
from funcdiff.scipy.primitives.special.inverse import inverse, inverses
from funcdiff.scipy.primitives.special.normal import ndtr

# ---- gamma, χ² and Poisson -----------------------------------------------------------------------


_CHI: Final = (
    lambda v, x, y: gammainc_shape(v / 2, x / 2) / 2,
    lambda v, x, y: gamma_density(v / 2, x / 2) / 2,
)
_GAMMA: Final = (
    lambda a, b, x, y: x * gamma_density(b, a * x),
    lambda a, b, x, y: gammainc_shape(b, a * x),
    lambda a, b, x, y: a * gamma_density(b, a * x),
)
chdtr, chdtrc = with_complement("chdtr", *_CHI)
gdtr, gdtrc = with_complement("gdtr", *_GAMMA)
chdtri: Op = inverse("chdtri", 1, *_CHI, sign=-1)
gdtrix: Op = inverse("gdtrix", 2, *_GAMMA)
inverses(("chdtriv", ""), chdtr, *_CHI)
inverses(("gdtria", "gdtrib", ""), gdtr, *_GAMMA)
inverses(
    ("pdtrik", ""),
    lambda k, m: gammaincc(k + 1, m),
    lambda k, m, y: -gammainc_shape(k + 1, m),
    lambda k, m, y: -gamma_density(k + 1, m),
)
pdtri: Op = special("pdtri", lambda k, y, m: -1 / gamma_density(k + 1, m), whole=("k",))
pdtr, pdtrc = with_complement("pdtr", lambda k, m, y: -gamma_density(k + 1, m), whole=("k",))

# ---- beta, F, binomial and Student ---------------------------------------------------------------


def _f_density(m: Any, n: Any, x: Any, _y: Any) -> Any:
    edge, none = np.logical_not(np.logical_and(x > 0, x < np.inf)), 0 * m
    at_zero = np.where(x == 0, np.where(m > 2, none, np.where(m == 2, 1 + none, np.inf)), none)
    return np.where(edge, at_zero, beta_kernel(1, m / 2, n / 2, x))


_F: Final = (
    lambda m, n, x, y: quotient_slope(m / 2, n / 2, x) / 2,
    lambda m, n, x, y: -quotient_slope(n / 2, m / 2, 1 / x) / 2,
    _f_density,
)


def _binomial_slope(k: Any, n: Any, p: Any, _y: Any) -> Any:
    """Return -n!/(k! (n-k-1)!) p^k (1-p)^(n-k-1), equation 26.5.24; 0 for k = n."""
    certain = k >= n
    failures = np.where(certain, 1, n - k)
    return -np.where(certain, 0, beta_density(k + 1, failures, p, 1 - p))


def _negative_binomial_slope(k: Any, n: Any, p: Any, _y: Any) -> Any:
    """Return the density of the waiting time, equation 26.5.26."""
    return beta_density(n, k + 1, p, 1 - p)


def _student_density(df: Any, t: Any, _y: Any) -> Any:
    """Return Γ((ν+1)/2) / (√(νπ) Γ(ν/2)) (1 + t²/ν)^(-(ν+1)/2); for infinite ν the normal one."""
    normal = np.isinf(df)
    v: Any = np.where(normal, 1, df)
    scale = poch(v / 2, constant(0.5, v.type)) / np.sqrt(v * np.pi)
    density = scale * np.exp(-(v + 1) / 2 * np.log1p(t * t / v))
    return np.where(normal, np.exp(-t * t / 2) / math.sqrt(2 * math.pi), density)


def _student_freedom(df: Any, t: Any, _y: Any) -> Any:
    """Return ∂/∂ν of (1 + F)/2, where t² has an F distribution; odd in t, near 0 as a series."""
    normal = np.isinf(df)
    v: Any = np.where(normal, 1, df)
    half, near = np.full_like(v, 0.5), np.abs(t) < 1e-15
    x, z = np.where(near, 1, t), np.where(near, t, 0)
    slope = -np.sign(x) * quotient_slope(v / 2, half, 1 / (x * x)) / 4
    score = quotient_scores(half, v / 2, 1e-30 * half)[2] / 2
    cube = z * z * z / 6
    series = (score * (z - (1 + 1 / v) * cube) + cube / (v * v)) * _student_density(v, 0 * t, None)
    return np.where(normal, 0, np.where(near, series, slope))


fdtr, fdtrc = with_complement("fdtr", *_F)
fdtri: Op = inverse("fdtri", 2, *_F)
bdtr, bdtrc = with_complement("bdtr", _binomial_slope, whole=("k", "n"))
nbdtr, nbdtrc = with_complement("nbdtr", _negative_binomial_slope, whole=("k", "n"))
bdtri: Op = special("bdtri", lambda k, n, y, p: 1 / _binomial_slope(k, n, p, y), whole=("k", "n"))
nbdtri: Op = special(
    "nbdtri", lambda k, n, y, p: 1 / _negative_binomial_slope(k, n, p, y), whole=("k", "n")
)
stdtr: Op = special("stdtr", _student_freedom, _student_density)
stdtrit: Op = inverse("stdtrit", 1, _student_freedom, _student_density)

# ---- of which the parameters are found, numbers of trials and successes as real ones -------------

inverses(("", "fdtridfd", ""), fdtr, *_F)
inverses(("stdtridf", ""), stdtr, _student_freedom, _student_density)
inverses(("btdtria", "btdtrib", ""), betainc, *BETA_SLOPES)
inverses(
    ("bdtrik", "bdtrin", ""),
    lambda k, n, p: betainc(n - k, k + 1, 1 - p),
    lambda k, n, p, y: betainc_second(n - k, k + 1, 1 - p) - betainc_first(n - k, k + 1, 1 - p),
    lambda k, n, p, y: betainc_first(n - k, k + 1, 1 - p),
    lambda k, n, p, y: -beta_density(k + 1, n - k, p, 1 - p),
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
