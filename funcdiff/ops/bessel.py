"""Modified Bessel functions of the first kind, of order 0 (NumPy's) and 1 (its derivative).

The formulas are those of Abramowitz and Stegun, section 9.6.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.ops.families import Elementwise, elementwise

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
