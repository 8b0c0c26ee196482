"""The distribution function of the normal distribution by Python's error function.

SciPy computes it faster where it is installed.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

_ROOT: Final = math.sqrt(0.5)
_HIGH: Final = float(np.float32(_ROOT))
_LOW: Final = 1.210161710447897e-08
"""√½ as a sum of a short number and of the rest."""
_erfc: Final = np.frompyfunc(math.erfc, 1, 1)


def normal(x: Any) -> Any:
    """Return Φ(x) = ½·erfc(-x/√2), in double precision to a few units in the last place.

    Parameters
    ----------
    x
        Array or number, float32 or float64.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`.
    """
    given = np.asarray(x)
    points = np.clip(given.astype(np.float64), -40, 40)  # beyond it is 0 or 1
    z = -points * _ROOT
    short = points.astype(np.float32).astype(np.float64)
    rounded = (-short * _HIGH - z) - short * _LOW - (points - short) * _ROOT
    result = 0.5 * np.asarray(_erfc(z), np.float64) * np.exp(-2 * np.maximum(z, 0) * rounded)
    return result.astype(given.dtype)[()]
