"""sinc(x) = sin(πx)/(πx), and 1 at 0, with derivatives of any order that do not cancel there."""

from __future__ import annotations

from math import factorial, pi
from typing import Any, Final

import numpy as np

from funcdiff.ops.families import elementwise

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
