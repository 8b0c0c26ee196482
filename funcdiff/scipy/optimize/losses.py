"""Losses ρ(z) of squared residuals z, with ρ' and ρ'', under SciPy's names.

Reference: B. Triggs and others, "Bundle adjustment: a modern synthesis", 1999, section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np


def _soft_l1(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z
    return 2 * (t**0.5 - 1), t**-0.5, -0.5 * t**-1.5


def _huber(z: Any) -> tuple[Any, Any, Any]:
    inner = z <= 1
    return (
        np.where(inner, z, 2 * z**0.5 - 1),
        np.where(inner, 1.0, z**-0.5),
        np.where(inner, 0.0, -0.5 * z**-1.5),
    )


def _cauchy(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z
    return np.log1p(z), 1 / t, -1 / t**2


def _arctan(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z**2
    return np.arctan(z), 1 / t, -2 * z / t**2


LOSSES: Final[dict[Any, Callable[[Any], tuple[Any, Any, Any]]]] = {
    "linear": lambda z: (z, np.ones_like(z), np.zeros_like(z)),
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}
"""``rho(z) -> (ρ, ρ', ρ'')`` by name."""
