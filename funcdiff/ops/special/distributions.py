"""Distribution functions, whose derivatives are the densities.

The formulas are those of Abramowitz and Stegun, chapter 26.  On the boundary of its domain a
density is written as a product of powers, and inside by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.ops.special.family import Op, special, with_complement
from funcdiff.ops.special.gamma import gammaln, poch
from funcdiff.ops.special.incomplete import gamma_density

# ---- gamma, χ² and Poisson -----------------------------------------------------------------------


chdtr, chdtrc = with_complement("chdtr", "v", lambda v, x, y: gamma_density(v / 2, x / 2) / 2)
gdtr, gdtrc = with_complement(
    "gdtr",
    lambda a, b, x, y: x * gamma_density(b, a * x),
    "b",
    lambda a, b, x, y: a * gamma_density(b, a * x),
)
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


fdtr, fdtrc = with_complement("fdtr", "dfn", "dfd", _f_density)
bdtr, bdtrc = with_complement("bdtr", _binomial_slope, whole=("k", "n"))
nbdtr, nbdtrc = with_complement("nbdtr", _negative_binomial_slope, whole=("k", "n"))
stdtr: Op = special("stdtr", "df", _student_density)
