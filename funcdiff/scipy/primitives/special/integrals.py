"""Exponential, trigonometric and logarithmic integrals, whose derivatives are elementary.

The formulas are those of the NIST Digital Library of Mathematical Functions, sections 6.2, 8.19
and 25.12.  Quotients that are smooth at 0 are written as functions that are computed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.late import Routine
from funcdiff.core.recording.builder import constant
from funcdiff.core.types import INT
from funcdiff.scipy.primitives.special.bessel import spherical_in, spherical_jn, spherical_yn
from funcdiff.scipy.primitives.special.family import Op, result_of, special
from funcdiff.scipy.primitives.special.normal import exponential_ratio
from funcdiff.scipy.primitives.special.orthogonal_polynomials import hyp2f1

# ---- exponential integrals -----------------------------------------------------------------------


def _expn_slope(n: Any, x: Any, y: Any) -> Any:
    """E_n' = -E_{n-1}, equation 8.19.13; from E_{-1} on by the recurrence 8.19.12."""
    zero = n == 0
    lower = -expn(np.where(zero, n, n - 1), x)
    return np.where(zero, -(np.exp(-x) + y) / x, lower)


expi: Op = special("expi", lambda z, y: exponential_ratio(z))
exp1: Op = special("exp1", lambda z, y: exponential_ratio(-z))
expn: Op = special("expn", _expn_slope, whole=("n",))

# ---- integrals of sin z / z and its like ---------------------------------------------------------


def _part(name: str, function: str, k: int, slope: Op) -> Op:
    """Declare one of the two results of a function."""
    return special(name, lambda z, y: slope(z), run=result_of(function, k))


def _order_zero(z: Any) -> Any:
    return constant(0, z.type.with_dtype(INT))


sine_integral: Op = _part("sine_integral", "sici", 0, lambda z: spherical_jn(_order_zero(z), z))
cosine_integral: Op = _part(
    "cosine_integral", "sici", 1, lambda z: -spherical_yn(_order_zero(z), z)
)
hyperbolic_sine_integral: Op = _part(
    "hyperbolic_sine_integral", "shichi", 0, lambda z: spherical_in(_order_zero(z), z)
)
hyperbolic_cosine_integral: Op = _part(
    "hyperbolic_cosine_integral",
    "shichi",
    1,
    lambda z: (exponential_ratio(z) - exponential_ratio(-z)) / 2,
)

# ---- the dilogarithm -----------------------------------------------------------------------------


def _spence_slope(z: Any, y: Any) -> Any:
    """Return ln z / (1 - z); near 1, where that is 0/0, -F(1, 1; 2; 1 - z), equation 15.4.1."""
    u = 1 - z
    near = np.abs(u) < 0.5
    one = constant(1, np.real(z).type)
    two = constant(2, one.type)
    series = -hyp2f1(one, one, two, np.where(near, u, 0))
    return np.where(near, series, np.log(z) / np.where(near, 1, u))


spence: Op = special("spence", _spence_slope)

# ---- the inverse of w·exp(w) ---------------------------------------------------------------------


def _complex(z: np.dtype[Any], _branch: Any, _tolerance: Any) -> np.dtype[Any]:
    return z


def _lambertw_slope(z: Any, branch: Any, tolerance: Any, w: Any) -> Any:
    """W' = exp(-W) / (1 + W), equation 4.13.4 without its quotient W/z."""
    return np.exp(-w) / (1 + w)


lambertw: Op = special(
    "_lambertw",
    _lambertw_slope,
    None,
    None,
    run=Routine("lambertw"),
    dtypes=_complex,
    primitive="lambertw",
)
