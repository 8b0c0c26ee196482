"""Derivatives by central differences, to hold derivatives against of which no formula is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Return the Jacobian, the axes of the result first; of complex numbers that of real f."""
    units, shape = np.eye(x.size).reshape(x.size, *x.shape), np.shape(f(x))
    parts = (1.0, 1j) if x.dtype.kind == "c" else (1.0,)
    columns = [
        sum(part * (f(x + step * part * e) - f(x - step * part * e)) / (2 * step) for part in parts)
        for e in units
    ]
    return np.moveaxis(np.reshape(columns, (x.size, *shape)), 0, -1).reshape(*shape, *x.shape)
