"""Von Mises' distribution, on the circle and on a line, as formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.scipy import special
from funcdiff.scipy.stats.quadrature import integral


def log_i0e(k: Any) -> Any:
    """ln(e⁻ᵏI₀(k)) for k >= 0, with the derivative on the right at 0."""
    near = k < 1
    small = np.log(special.i0(np.where(near, k, 0.0))) - k
    return np.where(near, small, np.log(special.i0e(np.where(near, 1.0, k))))


def _vonmises_logpdf(_self: Any, x: Any, kappa: Any) -> Any:
    return -2 * kappa * np.sin(x / 2) ** 2 - np.log(2 * np.pi) - log_i0e(kappa)


def _vonmises_pdf(self: Any, x: Any, kappa: Any) -> Any:
    return np.exp(self._logpdf(x, kappa))


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


def _vonmises_sf(self: Any, x: Any, kappa: Any) -> Any:
    return 1 - self._cdf(x, kappa)


VONMISES: Final[dict[str, Callable[..., Any]]] = {
    "_logpdf": _vonmises_logpdf, "_pdf": _vonmises_pdf, "_cdf": _vonmises_cdf,
    "_sf": _vonmises_sf, "_munp": _vonmises_munp, "_entropy": _vonmises_entropy,
}  # fmt: skip
"""Leaf -> what computes it, with the distribution in front."""
