"""Struve functions, differentiated by recurrences between neighbouring orders.

The formulas are equations 11.4.24 and 11.4.26 of the NIST Digital Library of Mathematical
Functions.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.scipy.primitives.special.family import Op, special
from funcdiff.scipy.primitives.special.gamma import rgamma

_ROOT_PI: Final = math.sqrt(math.pi)


def _power(v: Any, x: Any) -> Any:
    """Return (x/2)^v / (√π Γ(v + 3/2))."""
    return (x / 2) ** v * rgamma(v + 1.5) / _ROOT_PI


def _lower(op: Op, v: Any, x: Any, at_zero: Any) -> Any:
    """Return the function of order v - 1; of order -1 as 11.4.23 and 11.4.25 have it, at 0 too."""
    zero = v == 0
    return np.where(zero, at_zero, op(np.where(zero, v, v - 1), x))


def _struve_slope(v: Any, x: Any, y: Any) -> Any:
    upper, power = struve(v + 1, x), _power(v, x)
    return (_lower(struve, v, x, power - upper) - upper + power) / 2


def _modstruve_slope(v: Any, x: Any, y: Any) -> Any:
    upper, power = modstruve(v + 1, x), _power(v, x)
    return (_lower(modstruve, v, x, power + upper) + upper + power) / 2


struve: Op = special("struve", "v", _struve_slope)
modstruve: Op = special("modstruve", "v", _modstruve_slope)
