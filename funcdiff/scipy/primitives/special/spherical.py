"""Spherical Bessel functions of whole order.

The formulas are equations 10.51.1 and 10.51.4 of the NIST Digital Library of Mathematical
Functions, which divide by nothing.  SciPy computes the derivatives by others, as functions of
their own: so here there is an operation for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.dependencies import scipy_function
from funcdiff.core.types import real_dtype
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special.family import Op, special


def _in_dtype_of(z: Any, result: Any) -> Any:
    """Return the result in the argument's dtype: of float32, SciPy makes float64 here and there."""
    return np.asarray(result).astype(np.asarray(z).dtype)[()]


def _neighbours(op: Callable[[Any, Any], Any], below: int, above: int) -> Callable[..., Any]:
    """Return the slope (± n f_{n-1} ± (n+1) f_{n+1}) / (2n + 1)."""

    def slope(n: Any, z: Any, y: Any) -> Any:
        k: Any = convert(n, real_dtype(z.dtype))
        first = n == 0
        lower = np.where(first, 0, k * op(np.where(first, n, n - 1), z))
        total = (below * lower + above * ((k + 1) * op(n + 1, z))) / (2 * k + 1)
        return np.where(np.isinf(y), above * y, total)

    return slope


def _spherical(name: str, below: int, above: int) -> tuple[Op, Op]:
    """Declare a spherical Bessel function and its derivative, which obeys the same recurrence."""

    def function(n: Any, z: Any) -> Any:
        return _in_dtype_of(z, scipy_function(name)(n, z))

    def derivative(n: Any, z: Any) -> Any:
        return _in_dtype_of(z, scipy_function(name)(n, z, derivative=True))

    value = special(
        name,
        None,
        _neighbours(lambda n, z: value(n, z), below, above),
        run=function,
    )
    slope = special(
        f"{name}_slope",
        None,
        _neighbours(lambda n, z: slope(n, z), below, above),
        run=derivative,
    )
    return value, slope


spherical_jn, spherical_jn_slope = _spherical("spherical_jn", 1, -1)
spherical_yn, spherical_yn_slope = _spherical("spherical_yn", 1, -1)
spherical_in, spherical_in_slope = _spherical("spherical_in", 1, 1)
spherical_kn, spherical_kn_slope = _spherical("spherical_kn", -1, -1)
