"""The Faddeeva function, whose real part is the Voigt profile.

The formulas are those of the NIST Digital Library of Mathematical Functions, sections 7.10, 7.12
and 7.19.  Far from the origin, where w' = -2z·w + 2i/√π cancels, the asymptotic series is used.
"""

from __future__ import annotations

import cmath
import math
from typing import Any, Final

import numpy as np

from funcdiff.core.dependencies import scipy_function
from funcdiff.scipy.primitives.special.family import Op, special

_ROOT_PI: Final = math.sqrt(math.pi)
_FAR: Final = 12.0
_TERMS: Final = 12
"""Terms of a series in 1/z² of which, from `_FAR` on, the rest is below float64's rounding."""


def _is_far(z: Any) -> Any:
    """Whether |z| is large, and z in the sector where the series represents w."""
    return np.logical_and(np.abs(z) > _FAR, np.imag(z) >= -0.5 * np.abs(np.real(z)))


def _tail(z: Any, order: int) -> Any:
    """Return the derivative of i/√π Σ (1/2)_k / z^(2k+1), equation 7.12.1, of order 1 or 2."""
    coefficients, product = [], 1.0
    for k in range(_TERMS):
        raised = 2 * k + 1 if order == 1 else (2 * k + 1) * (2 * k + 2)
        coefficients.append(product * raised)
        product *= 0.5 + k
    u, total = 1 / (z * z), np.zeros_like(z)
    for c in reversed(coefficients):
        total = total * u + c
    return 1j / _ROOT_PI * total * (-u if order == 1 else u / z)


def faddeeva_slope(z: Any, w: Any) -> Any:
    """Return w'(z)."""
    far = _is_far(z)
    return np.where(far, _tail(np.where(far, z, _FAR), 1), -2 * z * w + 2j / _ROOT_PI)


def _curvature(z: Any, w: Any) -> Any:
    """Return w''(z) = -2(w + z·w')."""
    far = _is_far(z)
    return np.where(far, _tail(np.where(far, z, _FAR), 2), -2 * (w + z * faddeeva_slope(z, w)))


wofz: Op = special("wofz", faddeeva_slope)


# ---- the profile: Re w(z) / (σ√2π) with z = (x + iγ) / (σ√2), and Lorentz's where σ = 0 ----------


def _point(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any, Any]:
    """Return where the profile is Lorentz's, a width that is not 0, z and w(z)."""
    zero = sigma == 0
    width = np.where(zero, 1, sigma)
    z = (x + 1j * gamma) / (width * math.sqrt(2))
    return zero, width, z, wofz(z)


def _in_position(x: Any, sigma: Any, gamma: Any, _y: Any) -> Any:
    zero, width, z, w = _point(x, sigma, gamma)
    lorentz = -2 * x * gamma / (np.pi * (x * x + gamma * gamma) ** 2)
    return np.where(zero, lorentz, np.real(faddeeva_slope(z, w)) / (2 * _ROOT_PI * width**2))


def _in_deviation(x: Any, sigma: Any, gamma: Any, _y: Any) -> Any:
    """∂V/∂σ = σ·∂²V/∂x²: the Gaussian spreads as heat does."""
    zero, width, z, w = _point(x, sigma, gamma)
    lorentz = gamma * (6 * x * x - 2 * gamma * gamma) / (np.pi * (x * x + gamma * gamma) ** 3)
    gaussian = np.real(_curvature(z, w)) / (math.sqrt(8) * _ROOT_PI * width**3)
    return sigma * np.where(zero, lorentz, gaussian)


def _in_width(x: Any, sigma: Any, gamma: Any, _y: Any) -> Any:
    zero, width, z, w = _point(x, sigma, gamma)
    lorentz = (x * x - gamma * gamma) / (np.pi * (x * x + gamma * gamma) ** 2)
    return np.where(zero, lorentz, -np.imag(faddeeva_slope(z, w)) / (2 * _ROOT_PI * width**2))


voigt_profile: Op = special("voigt_profile", _in_position, _in_deviation, _in_width)

# ---- Fresnel's integrals to infinity, F(x) = ∫ exp(±it²) dt, and K = exp(∓i(x² + π/4))·F/√π ------


def _modified(name: str, sign: int) -> tuple[Op, Op]:
    """Declare both results, as functions of a complex argument without imaginary part.

    The second is w(z)/2 with z = ±exp(±iπ/4)·x.  For x < 0, where SciPy has another imaginary part
    of the first, that is √π·exp(±iπ/4) less its value at -x.
    """
    turn = cmath.exp(sign * 0.25j * math.pi)

    def value(x: Any) -> Any:
        right = scipy_function(name)(np.abs(x.real))[0]
        return np.where(x.real < 0, _ROOT_PI * turn - right, right).astype(x.dtype)[()]

    def scaled(x: Any) -> Any:
        return scipy_function(name)(x.real)[1].astype(x.dtype)[()]

    def scaled_slope(x: Any, _y: Any) -> Any:
        rotated = sign * turn * x
        return sign * turn / 2 * faddeeva_slope(rotated, wofz(rotated))

    integral = special(f"{name}_integral", lambda x, y: -np.exp(sign * 1j * x * x), run=value)
    return integral, special(f"{name}_scaled", scaled_slope, run=scaled)


modfresnelp_integral, modfresnelp_scaled = _modified("modfresnelp", 1)
modfresnelm_integral, modfresnelm_scaled = _modified("modfresnelm", -1)
