"""Distributions of the largest distance between distribution functions, and Tukey's lambda one.

Kolmogorov's and Smirnov's functions are probabilities of a larger one: A. N. Kolmogorov, "Sulla
determinazione empirica di una legge di distribuzione", G. Ist. Ital. Attuari 4 (1933), and Z. W.
Birnbaum, F. H. Tingey, "One-sided confidence contours", Ann. Math. Stat. 22 (1951).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.scipy.primitives.numerics.derivative_integrals import smirnov_derivative
from funcdiff.scipy.primitives.special.family import Op, by_order, special
from funcdiff.scipy.primitives.special.losses import log_expit
from funcdiff.scipy.primitives.special.normal import decay
from funcdiff.scipy.primitives.special.powers import boxcox_exponent

_MIDDLE: Final = 0.82
"""Where one of the two series of the limit takes over from the other."""

_SMALLEST, _LARGEST = 0.03, 30.0
"""Beyond them the density is less than float64 has."""


def _kolmogorov_density(x: Any) -> Any:
    """-8 Σ (-1)ᵏ k² x exp(-2k²x²), and below the derivative of √2π/x Σ exp(-(2k-1)²π²/8x²)."""
    far = x > _MIDDLE
    z = np.minimum(np.where(far, x, _MIDDLE), _LARGEST)
    tail: Any = 0
    for k in range(1, 7):
        tail = tail - (-1) ** k * 8 * k * k * z * decay(-2 * k * k * z * z)
    inside = x > _SMALLEST
    u = 1 / np.where(far, _MIDDLE, np.where(inside, x, 1))
    near: Any = 0
    for k in (1, 3, 5):
        rate = (k * math.pi) ** 2 / 8 * u * u
        near = near + (2 * rate - 1) * u * u * np.exp(-rate)
    return np.where(far, tail, np.where(inside, math.sqrt(2 * math.pi) * near, 0))


kolmogorov: Op = special("kolmogorov", lambda x, y: -_kolmogorov_density(x))
kolmogi: Op = special("kolmogi", lambda p, y: -1 / _kolmogorov_density(y))

smirnov_derivatives: Op = by_order(
    "smirnov_derivatives",
    smirnov_derivative,
    None,
    lambda orders, n, d: smirnov_derivatives((orders[0] + 1,), n, d),
)
smirnov: Op = special("smirnov", lambda n, d, y: smirnov_derivatives((1,), n, d), whole=("n",))
smirnovi: Op = special(
    "smirnovi", lambda n, p, y: 1 / smirnov_derivatives((1,), n, y), whole=("n",)
)

# ---- Tukey's lambda distribution, by its quantiles (p^λ - q^λ)/λ with q = 1 - p ------------------


def _log_odds(x: Any, lmbda: Any) -> Any:
    """Return ln(p/q), by bisection."""
    boxcox, expit = scipy_function("boxcox"), scipy_function("expit")
    with np.errstate(all="ignore"):
        place, shape = np.asarray(x, np.float64), np.asarray(lmbda, np.float64)
        low, high = np.full(place.shape, -745.0), np.full(place.shape, 745.0)
        for _ in range(64):
            middle = (low + high) / 2
            above = boxcox(expit(middle), shape) - boxcox(expit(-middle), shape) > place
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.where(np.isnan(place + shape), np.nan, middle).astype(x.dtype)[()]


def _tukey_density(u: Any, lmbda: Any, power: int) -> Any:
    """Return (pq)^(power - 1)/(p^(λ-1) + q^(λ-1)) of log-odds u."""
    p, q = log_expit(u), log_expit(-u)
    return np.exp((power - 1) * (p + q) - np.logaddexp((lmbda - 1) * p, (lmbda - 1) * q))


def _tukey_shape(u: Any, lmbda: Any) -> Any:
    """Return the derivative of the quantile by λ."""
    return boxcox_exponent(log_expit(u), lmbda) - boxcox_exponent(log_expit(-u), lmbda)


tukey_log_odds: Op = special(
    "tukey_log_odds",
    lambda x, lmbda, u: _tukey_density(u, lmbda, 0),
    lambda x, lmbda, u: -_tukey_shape(u, lmbda) * _tukey_density(u, lmbda, 0),
    run=_log_odds,
)


def _tukey_slope(x: Any, lmbda: Any, _y: Any) -> Any:
    """Return the density, which is 0 from x = ±1/λ on if λ > 0."""
    outside = np.abs(x) * lmbda >= 1
    density = _tukey_density(tukey_log_odds(np.where(outside, 0, x), lmbda), lmbda, 1)
    return np.where(outside, 0, density)


def _tukey_in_shape(x: Any, lmbda: Any, y: Any) -> Any:
    outside = np.abs(x) * lmbda >= 1
    u = tukey_log_odds(np.where(outside, 0, x), lmbda)
    return -_tukey_slope(x, lmbda, y) * _tukey_shape(u, lmbda)


tklmbda: Op = special("tklmbda", _tukey_slope, _tukey_in_shape)
