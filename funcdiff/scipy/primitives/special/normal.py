"""The error function, its relatives, and the normal distribution that it integrates.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF), chapter 7, of
exponentials whose derivatives are right where they are 0 or ∞.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

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
    "exponential_ratio",
    _exponential_ratio,
    lambda z, y: y * (1 - 1 / z),
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
