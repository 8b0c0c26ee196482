"""Powers, roots and exponentials, and the transformations of Box and Cox.

G. E. P. Box, D. R. Cox, "An Analysis of Transformations", J. R. Stat. Soc. B 26 (1964).  In λ
they are ln x · E(λ·ln x) with E(u) = (eᵘ - 1)/u, and the inverse is exp(y·L(λy)) with
L(w) = ln(1 + w)/w: both analytic at λ = 0, and so are the derivatives that are computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.ops.elementwise.mathematics import DEGREE, LN2, LN10
from funcdiff.ops.families import elementwise
from funcdiff.scipy.primitives.numerics.derivative_integrals import (
    exprel_derivative,
    log1p_ratio_derivative,
)
from funcdiff.scipy.primitives.special.family import Op, by_order, special
from funcdiff.scipy.primitives.special.losses import xlog1py, xlogy

exprel_derivatives: Op = by_order(
    "exprel_derivatives",
    exprel_derivative,
    lambda orders, u: exprel_derivatives((orders[0] + 1,), u),
)
log1p_ratio_derivatives: Op = by_order(
    "log1p_ratio_derivatives",
    log1p_ratio_derivative,
    lambda orders, w: log1p_ratio_derivatives((orders[0] + 1,), w),
)
exprel: Op = special("exprel", lambda x, y: exprel_derivatives((1,), x))

# ---- the transformations of Box and Cox ----------------------------------------------------------


def boxcox_exponent(logarithm: Any, lmbda: Any) -> Any:
    """∂/∂λ (xᵗ - 1)/t at t = λ: ln²x · E'(λ·ln x), and at x = 0 1/λ², or -∞ for λ <= 0."""
    zero = logarithm == -np.inf
    log_x = np.where(zero, 0, logarithm)
    at_zero = np.where(lmbda > 0, 1 / (lmbda * lmbda), -np.inf)
    return np.where(zero, at_zero, log_x * log_x * exprel_derivatives((1,), lmbda * log_x))


boxcox: Op = special(
    "boxcox",
    lambda x, lmbda, y: x ** (lmbda - 1),
    lambda x, lmbda, y: boxcox_exponent(np.log(x), lmbda),
)
boxcox1p: Op = special(
    "boxcox1p",
    lambda x, lmbda, y: (1 + x) ** (lmbda - 1),
    lambda x, lmbda, y: boxcox_exponent(np.log1p(x), lmbda),
)


def _inverse_slope(y: Any, lmbda: Any, x: Any) -> Any:
    """∂x/∂y = x/(1 + λy), at λy = -1 as the power of 1 + λy that it is."""
    power = 1 + lmbda * y
    zero = power == 0
    at_zero = power ** (1 / np.where(zero, lmbda, 1) - 1)
    return np.where(zero, at_zero, x / np.where(zero, 1, power))


def _inverse_exponent(y: Any, lmbda: Any, x: Any) -> Any:
    """∂x/∂λ = x·y²·L'(λy), at λy = -1 (y/λ)·∂x/∂y."""
    zero = lmbda * y == -1
    at_zero = y / np.where(zero, lmbda, 1) * _inverse_slope(y, lmbda, x)
    slope = log1p_ratio_derivatives((1,), np.where(zero, 0, lmbda * y))
    return np.where(zero, at_zero, x * y * y * slope)


inv_boxcox: Op = special("inv_boxcox", _inverse_slope, _inverse_exponent)
inv_boxcox1p: Op = special(
    "inv_boxcox1p",
    lambda y, lmbda, x: _inverse_slope(y, lmbda, 1 + x),
    lambda y, lmbda, x: _inverse_exponent(y, lmbda, 1 + x),
)
powm1: Op = special("powm1", lambda x, y, z: y * x ** (y - 1), lambda x, y, z: xlogy(x**y, x))

# ---- powers of 1 + u, and less 1, with the digits of u -------------------------------------------

pow1p: Op = elementwise(
    "pow1p",
    lambda u, p: np.power(1 + u, p),
    lambda u, p, _y: p * pow1p(u, p - 1),
    lambda u, _p, y: xlog1py(y, u),
)
pow1pm1: Op = elementwise(
    "pow1pm1",
    lambda u, p: np.expm1(p * np.log1p(u)),
    lambda u, p, _y: p * pow1p(u, p - 1),
    lambda u, p, _y: xlog1py(pow1p(u, p), u),
)

# ---- exponentials and roots, as NumPy has them ---------------------------------------------------

cbrt: Op = special("cbrt", lambda x, y: 1 / (3 * y * y), primitive="special_cbrt")
exp2: Op = special("exp2", lambda x, y: LN2 * y, primitive="special_exp2")
exp10: Op = special("exp10", lambda x, y: LN10 * y)
expm1: Op = special("expm1", lambda x, y: np.exp(x), primitive="special_expm1")
log1p: Op = special("log1p", lambda x, y: 1 / (1 + x), primitive="special_log1p")
rounded: Op = special("round", None, primitive="special_round")

# ---- angles in degrees ---------------------------------------------------------------------------

cosm1: Op = special("cosm1", lambda x, y: -np.sin(x))
sindg: Op = special("sindg", lambda x, y: DEGREE * cosdg(x))
cosdg: Op = special("cosdg", lambda x, y: -DEGREE * sindg(x))
tandg: Op = special("tandg", lambda x, y: DEGREE * (1 + y * y))
cotdg: Op = special("cotdg", lambda x, y: -DEGREE * (1 + y * y))
radian: Op = special("radian", DEGREE, DEGREE / 60, DEGREE / 3600)
