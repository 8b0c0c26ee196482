"""Exponential decay: exponentials whose derivatives are right where they are 0 or ∞."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.ops.elementwise.mathematics import exp
from funcdiff.ops.families import by_ufunc, elementwise
from funcdiff.scipy.primitives.special.family import Op


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
