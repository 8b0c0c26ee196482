"""Distribution functions, whose derivatives are the densities.

The formulas are those of Abramowitz and Stegun, chapter 26.  On the boundary of its domain a
density is written as a product of powers, and inside by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.ops.special.family import special
from funcdiff.ops.special.gamma import gamma, gammaln, poch
from funcdiff.ops.special.parameters import undefined
from funcdiff.ops.structural import convert

# ---- gamma, χ² and Poisson -----------------------------------------------------------------------


def _gamma_density(a: Any, x: Any) -> Any:
    """Return x^(a-1) exp(-x) / Γ(a)."""
    zero = x == 0
    inside = np.exp((a - 1) * np.log(np.where(zero, 1, x)) - x - gammaln(a))
    return np.where(zero, x ** (a - 1) * np.exp(-x) / gamma(a), inside)


chdtr: Callable[..., Any] = special(
    "chdtr", undefined("chdtr", "v"), lambda v, x, y: _gamma_density(v / 2, x / 2) / 2
)
chdtrc: Callable[..., Any] = special(
    "chdtrc", undefined("chdtrc", "v"), lambda v, x, y: -_gamma_density(v / 2, x / 2) / 2
)
gdtr: Callable[..., Any] = special(
    "gdtr",
    lambda a, b, x, y: x * _gamma_density(b, a * x),
    undefined("gdtr", "b"),
    lambda a, b, x, y: a * _gamma_density(b, a * x),
)
gdtrc: Callable[..., Any] = special(
    "gdtrc",
    lambda a, b, x, y: -x * _gamma_density(b, a * x),
    undefined("gdtrc", "b"),
    lambda a, b, x, y: -a * _gamma_density(b, a * x),
)
pdtr: Callable[..., Any] = special(
    "pdtr", undefined("pdtr", "k"), lambda k, m, y: -_gamma_density(np.floor(k) + 1, m)
)
pdtrc: Callable[..., Any] = special(
    "pdtrc", undefined("pdtrc", "k"), lambda k, m, y: _gamma_density(np.floor(k) + 1, m)
)

# ---- beta, F, binomial and Student ---------------------------------------------------------------


def _beta_density(a: Any, b: Any, p: Any, q: Any) -> Any:
    """Return p^(a-1) q^(b-1) / B(a, b), where q = 1 - p."""
    edge = np.logical_or(p == 0, q == 0)
    both: Any = gammaln(a + b)
    scale = both - gammaln(a) - gammaln(b)
    logs = (a - 1) * np.log(np.where(edge, 1, p)) + (b - 1) * np.log(np.where(edge, 1, q))
    powers = p ** (a - 1) * q ** (b - 1) * np.exp(scale)
    return np.where(edge, powers, np.exp(logs + scale))


def _f_density(m: Any, n: Any, x: Any) -> Any:
    total = n + m * x
    return _beta_density(m / 2, n / 2, m * x / total, n / total) * m * n / total**2


def _binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """Return n!/(k! (n-k-1)!) p^k (1-p)^(n-k-1), equation 26.5.24; 0 for k = n."""
    successes, trials = np.floor(k), convert(n, p.dtype)
    certain = successes >= trials
    failures = np.where(certain, 1, trials - successes)
    return np.where(certain, 0, _beta_density(successes + 1, failures, p, 1 - p))


def _negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """Return the density of the waiting time, equation 26.5.26."""
    failures: Any = convert(k, p.dtype)
    return _beta_density(convert(n, p.dtype), failures + 1, p, 1 - p)


def _student_density(df: Any, t: Any) -> Any:
    """Return Γ((ν+1)/2) / (√(νπ) Γ(ν/2)) (1 + t²/ν)^(-(ν+1)/2); for infinite ν the normal one."""
    normal = np.isinf(df)
    v: Any = np.where(normal, 1, df)
    scale = poch(v / 2, constant(0.5, v.type)) / np.sqrt(v * np.pi)
    density = scale * np.exp(-(v + 1) / 2 * np.log1p(t * t / v))
    return np.where(normal, np.exp(-t * t / 2) / math.sqrt(2 * math.pi), density)


fdtr: Callable[..., Any] = special(
    "fdtr",
    undefined("fdtr", "dfn"),
    undefined("fdtr", "dfd"),
    lambda m, n, x, y: _f_density(m, n, x),
)
fdtrc: Callable[..., Any] = special(
    "fdtrc",
    undefined("fdtrc", "dfn"),
    undefined("fdtrc", "dfd"),
    lambda m, n, x, y: -_f_density(m, n, x),
)
bdtr: Callable[..., Any] = special(
    "bdtr",
    undefined("bdtr", "k"),
    undefined("bdtr", "n"),
    lambda k, n, p, y: -_binomial_slope(k, n, p),
)
bdtrc: Callable[..., Any] = special(
    "bdtrc",
    undefined("bdtrc", "k"),
    undefined("bdtrc", "n"),
    lambda k, n, p, y: _binomial_slope(k, n, p),
)
nbdtr: Callable[..., Any] = special(
    "nbdtr",
    undefined("nbdtr", "k"),
    undefined("nbdtr", "n"),
    lambda k, n, p, y: _negative_binomial_slope(k, n, p),
)
nbdtrc: Callable[..., Any] = special(
    "nbdtrc",
    undefined("nbdtrc", "k"),
    undefined("nbdtrc", "n"),
    lambda k, n, p, y: -_negative_binomial_slope(k, n, p),
)
stdtr: Callable[..., Any] = special(
    "stdtr", undefined("stdtr", "df"), lambda df, t, y: _student_density(df, t)
)
