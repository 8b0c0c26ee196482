"""The error function, its relatives, and the normal distribution that it integrates.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF), chapter 7, of
exponentials whose derivatives are right where they are 0 or ∞.
"""

from __future__ import annotations

import cmath
import math
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.ops.elementwise.mathematics import exp
from funcdiff.ops.families import by_ufunc, elementwise
from funcdiff.scipy.primitives.numerics.distribution_function import normal
from funcdiff.scipy.primitives.special.family import Op, result_of, special

# ---- exponential decay ---------------------------------------------------------------------------


def _decay_tangent(_xs: Tracers, ts: Tangents, y: Any) -> Any:
    t: Any = ts[0]
    return np.where(y == 0, 0, t) * y


decay: Op = elementwise("decay", np.exp, tangent=_decay_tangent)
"""eˣ, with the derivative 0 where it is 0, however fast the operand goes to -∞."""

by_ufunc[np.exp] = exp


def _exponential_ratio(z: Any) -> Any:
    return np.where(z == np.inf, np.inf, np.exp(z) / z)[()]


exponential_ratio: Op = elementwise(
    "exponential_ratio", _exponential_ratio, lambda z, y: y * (1 - 1 / z)
)
"""eᶻ/z, in which the pole at 0 wins over eᶻ, and eᶻ over z at ∞."""

# ---- the error function --------------------------------------------------------------------------

TWO_BY_ROOT_PI: Final = float(2 / np.sqrt(np.pi))
HALF_ROOT_PI: Final = float(np.sqrt(np.pi) / 2)
ROOT_TWO_PI: Final = float(np.sqrt(2 * np.pi))
ROOT_HALF: Final = float(np.sqrt(0.5))
ROOT_TWO_BY_PI: Final = float(np.sqrt(2 / np.pi))

_FAR: Final = 16.0
_TERMS: Final = 10


def _tail(x: Any) -> Any:
    """1 + 3u + 15u² + 105u³ + ... with u = 1/(2x²), from DLMF 7.12.1.

    Times -2u/√π it is the slope of erfcx, with -u and negated arguments that of Dawson's integral,
    where their differences of nearly equal numbers leave nothing.
    """
    series: Any = 1.0
    for k in range(_TERMS, 0, -1):
        series = 1 + (2 * k + 1) * x * series
    return series


def _far(x: Any) -> tuple[Any, Any]:
    """Return where x is far out, and 1/(2x²) there, 0 elsewhere."""
    far = np.absolute(x) > _FAR
    z = np.where(far, x, _FAR)
    return far, np.where(far, 0.5 / z / z, 0)


def _erfcx_slope(x: Any, y: Any) -> Any:
    """2x·erfcx(x) - 2/√π, DLMF 7.10.2; for large positive x by its asymptotic series."""
    near = 2 * x * y - TWO_BY_ROOT_PI
    if x.dtype.kind == "c":
        return near
    far, u = _far(np.where(x > 0, x, 0))
    return np.where(far, -TWO_BY_ROOT_PI * u * _tail(-u), near)


def _dawsn_slope(x: Any, y: Any) -> Any:
    """1 - 2x·F(x), DLMF 7.10.3; for large real x by its asymptotic series."""
    near = 1 - 2 * x * y
    if x.dtype.kind == "c":
        return near
    far, u = _far(x)
    return np.where(far, -u * _tail(u), near)


erf: Op = special("erf", lambda x, y: TWO_BY_ROOT_PI * decay(-x * x))
erfc: Op = special("erfc", lambda x, y: -TWO_BY_ROOT_PI * decay(-x * x))
erfi: Op = special("erfi", lambda x, y: TWO_BY_ROOT_PI * np.exp(x * x))
erfcx: Op = special("erfcx", _erfcx_slope)
dawsn: Op = special("dawsn", _dawsn_slope)
erfinv: Op = special("erfinv", lambda x, y: HALF_ROOT_PI * np.exp(y * y))
erfcinv: Op = special("erfcinv", lambda x, y: -HALF_ROOT_PI * np.exp(y * y))

# ---- the normal distribution ---------------------------------------------------------------------

ndtr: Op = special("ndtr", lambda x, y: decay(-x * x / 2) / ROOT_TWO_PI, substitute=normal)
ndtri: Op = special("ndtri", lambda p, x: ROOT_TWO_PI * np.exp(x * x / 2))


def _log_ndtr_slope(x: Any, y: Any) -> Any:
    """φ(x)/Φ(x): for negative x √(2/π)/erfcx(-x/√2), as numerator and denominator underflow."""
    right = np.real(x) > 0
    tail = ROOT_TWO_BY_PI / erfcx(-ROOT_HALF * np.where(right, 0, x))
    return np.where(right, decay(-x * x / 2 - y) / ROOT_TWO_PI, tail)


log_ndtr: Op = special("log_ndtr", _log_ndtr_slope)
ndtri_exp: Op = special("ndtri_exp", lambda p, x: erfcx(-ROOT_HALF * x) / ROOT_TWO_BY_PI)


def _owens_height(h: Any, a: Any, _y: Any) -> Any:
    """∂T/∂h = -exp(-h²/2)·erf(ah/√2) / (2√(2π)).

    D. B. Owen, "Tables for Computing Bivariate Normal Probabilities", Ann. Math. Stat. 27 (1956).
    """
    return -decay(-h * h / 2) * erf(ROOT_HALF * a * h) / (2 * ROOT_TWO_PI)


def _owens_slope(h: Any, a: Any, _y: Any) -> Any:
    """∂T/∂a = exp(-h²(1 + a²)/2) / (2π(1 + a²)), the integrand."""
    ah = a * h
    return decay(-(h * h + ah * ah) / 2) / (2 * np.pi * (1 + a * a))


owens_t: Op = special("owens_t", _owens_height, _owens_slope)

# ---- Fresnel's integrals: results of one function ------------------------------------------------


fresnel_sine: Op = special(
    "fresnel_sine", lambda x, y: np.sin(np.pi / 2 * x * x), run=result_of("fresnel", 0)
)
fresnel_cosine: Op = special(
    "fresnel_cosine", lambda x, y: np.cos(np.pi / 2 * x * x), run=result_of("fresnel", 1)
)


# ---- The Faddeeva function, whose real part is the Voigt profile ---------------------------------
#
# The formulas are those of the NIST Digital Library of Mathematical Functions, sections 7.10, 7.12
# and 7.19.  Far from the origin, where w' = -2z·w + 2i/√π cancels, the asymptotic series is used.


_ROOT_PI: Final = math.sqrt(math.pi)
_FADDEEVA_FAR: Final = 12.0
_FADDEEVA_TERMS: Final = 12
"""Terms of a series in 1/z² of which, from `_FAR` on, the rest is below float64's rounding."""


def _is_far(z: Any) -> Any:
    """Whether |z| is large, and z in the sector where the series represents w."""
    return np.logical_and(np.abs(z) > _FADDEEVA_FAR, np.imag(z) >= -0.5 * np.abs(np.real(z)))


def _faddeeva_tail(z: Any, order: int) -> Any:
    """Return the derivative of i/√π Σ (1/2)_k / z^(2k+1), equation 7.12.1, of order 1 or 2."""
    coefficients, product = [], 1.0
    for k in range(_FADDEEVA_TERMS):
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
    return np.where(
        far, _faddeeva_tail(np.where(far, z, _FADDEEVA_FAR), 1), -2 * z * w + 2j / _ROOT_PI
    )


def _curvature(z: Any, w: Any) -> Any:
    """Return w''(z) = -2(w + z·w')."""
    far = _is_far(z)
    return np.where(
        far, _faddeeva_tail(np.where(far, z, _FADDEEVA_FAR), 2), -2 * (w + z * faddeeva_slope(z, w))
    )


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


def _declare_modified(name: str, sign: int) -> tuple[Op, Op]:
    """Declare both results, as functions of a complex argument without imaginary part.

    The second is w(z)/2 with z = ±exp(±iπ/4)·x.  For x < 0, where SciPy has another imaginary part
    of the first, that is √π·exp(±iπ/4) less its value at -x.
    """
    turn = cmath.exp(sign * 0.25j * math.pi)

    def value(x: Any) -> Any:
        right = scipy_function(name)(np.abs(x.real))[0]
        return np.where(x.real < 0, _ROOT_PI * turn - right, right).astype(x.dtype)[()]

    def run_scaled(x: Any) -> Any:
        return scipy_function(name)(x.real)[1].astype(x.dtype)[()]

    def slope(x: Any, _y: Any) -> Any:
        rotated = sign * turn * x
        return sign * turn / 2 * faddeeva_slope(rotated, wofz(rotated))

    integral = special(f"{name}_integral", lambda x, y: -np.exp(sign * 1j * x * x), run=value)
    return integral, special(f"{name}_scaled", slope, run=run_scaled)


modfresnelp_integral, modfresnelp_scaled = _declare_modified("modfresnelp", 1)
modfresnelm_integral, modfresnelm_scaled = _declare_modified("modfresnelm", -1)
