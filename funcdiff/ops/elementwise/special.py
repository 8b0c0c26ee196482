"""The special functions that NumPy has itself: sinc(x) = sin(πx)/(πx), and the Bessel function i0.

The derivatives of sinc do not cancel at 0, where it is 1.  The formulas of i0, and of i1, which is
its derivative, are those of Abramowitz and Stegun, section 9.6.
"""

from __future__ import annotations

from math import factorial, pi
from typing import Any, Final

import numpy as np

from funcdiff.ops.families import Elementwise, elementwise

# ---- i0 and i1 -----------------------------------------------------------------------------------

_NODES: Final = 512


def _first_order(x: Any) -> Any:
    """Return I₁(x) = (1/π) ∫₀^π cos θ · sinh(x cos θ) dθ, equation 9.6.19.

    The trapezoidal rule converges exponentially for periodic integrands, and all terms have the
    sign of x, so nothing cancels.  By symmetry a quarter of the period suffices.
    """
    angles = np.arange(1, _NODES // 4 + 1) * (2 * np.pi / _NODES)
    wide = np.asarray(x, np.result_type(x, np.float64))
    total = np.sinh(wide) / 2
    for c in np.cos(angles[:-1]):
        total = total + c * np.sinh(wide * c)
    return (total * (4 / _NODES)).astype(np.asarray(x).dtype)[()]


def _second_derivative(x: Any, y: Any) -> Any:
    """I₁' = I₀ - I₁/x, equation 9.6.26; at 0 its limit, 1/2."""
    zero = x == 0
    return np.where(zero, 0.5, bessel_i0(x) - y / np.where(zero, 1, x))


bessel_i0: Elementwise = elementwise("bessel_i0", lambda x: np.i0(x)[()], lambda x, y: bessel_i1(x))
bessel_i1: Elementwise = elementwise("bessel_i1", _first_order, _second_derivative)


# ---- sinc ----------------------------------------------------------------------------------------

_RADIUS: Final = 0.5 / pi
_TERMS: Final = 10

_COEFFICIENTS: Final = tuple(
    (-1) ** k * 2 * k * pi ** (2 * k) / factorial(2 * k + 1) for k in range(1, _TERMS + 1)
)
"""Of sinc'(x) = Σ cₖ x²ᵏ⁻¹, from sinc(x) = Σ (-1)ᵏ (πx)²ᵏ/(2k+1)!."""


def _slope(x: Any, y: Any) -> Any:
    """(cos(πx) - sinc(x))/x, whose difference cancels near 0: there the series."""
    near = np.absolute(x) < _RADIUS
    far = np.where(near, 1, x)
    close = np.where(near, x, 0)
    square = np.square(close)
    series: Any = _COEFFICIENTS[-1]
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        series = series * square + coefficient
    return np.where(near, close * series, (np.cos(pi * far) - y) / far)


normalized_sinc: Final = elementwise("sinc", lambda x: np.sinc(x)[()], _slope)
