"""Orthogonal polynomials and hypergeometric functions: derivatives are of their kind.

The formulas are those of the NIST Digital Library of Mathematical Functions, section 18.9 (iii);
they hold for degrees that are not whole, too.  A polynomial of degree 0 is a constant.

Spherical Legendre polynomials are functions of the polar angle: their slope is half the difference
of what the ladder operators make of one, which divides by nothing at the poles (A. R. Edmonds,
"Angular Momentum in Quantum Mechanics", 1957, section 2.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.types import real_dtype
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special.family import Op, special


def _polynomial(name: str, *parameters: str, slope: Op) -> Op:
    """Declare one by its derivative for degrees that are not 0, a function of all operands."""

    def partial(n: Any, *others: Any) -> Any:
        *xs, _y = others
        return np.where(n == 0, 0, slope(n, *xs))

    return special(name, "n", *parameters, partial)


def _number(n: Any, x: Any) -> Any:
    """Return a degree as a factor of what has the dtype of `x`."""
    return convert(n, real_dtype(x.dtype))


def _lower(n: Any) -> Any:
    """Return the degree of the derivative, for a constant any."""
    return np.where(n == 0, 0, n - 1)


def _like(value: float, x: Any) -> Any:
    """Return a parameter for all elements of an array."""
    return np.full_like(np.real(x), value)


def _jacobi_slope(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    factor = (_number(n, x) + alpha + beta + 1) / 2
    return factor * eval_jacobi(_lower(n), alpha + 1, beta + 1, x)


def _shifted_jacobi_slope(n: Any, p: Any, q: Any, x: Any) -> Any:
    return _number(n, x) * eval_sh_jacobi(_lower(n), p + 2, q + 1, x)


def _legendre_slope(n: Any, x: Any) -> Any:
    return (_number(n, x) + 1) / 2 * eval_jacobi(_lower(n), _like(1, x), _like(1, x), x)


def _gegenbauer_slope(n: Any, alpha: Any, x: Any) -> Any:
    return 2 * alpha * eval_gegenbauer(_lower(n), alpha + 1, x)


def _first_kind_slope(n: Any, x: Any) -> Any:
    return _number(n, x) * eval_chebyu(_lower(n), x)


def _second_kind_slope(n: Any, x: Any) -> Any:
    return 2 * eval_gegenbauer(_lower(n), _like(2, x), x)


def _laguerre_slope(n: Any, alpha: Any, x: Any) -> Any:
    return -eval_genlaguerre(_lower(n), alpha + 1, x)


def _hermite_slope(n: Any, x: Any) -> Any:
    return 2 * _number(n, x) * eval_hermite(_lower(n), x)


def _normal_hermite_slope(n: Any, x: Any) -> Any:
    return _number(n, x) * eval_hermitenorm(_lower(n), x)


eval_jacobi: Op = _polynomial("eval_jacobi", "alpha", "beta", slope=_jacobi_slope)
eval_sh_jacobi: Op = _polynomial("eval_sh_jacobi", "p", "q", slope=_shifted_jacobi_slope)
eval_gegenbauer: Op = _polynomial("eval_gegenbauer", "alpha", slope=_gegenbauer_slope)
eval_legendre: Op = _polynomial("eval_legendre", slope=_legendre_slope)
eval_sh_legendre: Op = _polynomial(
    "eval_sh_legendre", slope=lambda n, x: 2 * _legendre_slope(n, 2 * x - 1)
)
eval_chebyt: Op = _polynomial("eval_chebyt", slope=_first_kind_slope)
eval_chebyu: Op = _polynomial("eval_chebyu", slope=_second_kind_slope)
eval_sh_chebyt: Op = _polynomial(
    "eval_sh_chebyt", slope=lambda n, x: 2 * _first_kind_slope(n, 2 * x - 1)
)
eval_sh_chebyu: Op = _polynomial(
    "eval_sh_chebyu", slope=lambda n, x: 2 * _second_kind_slope(n, 2 * x - 1)
)
eval_chebyc: Op = _polynomial("eval_chebyc", slope=lambda n, x: _first_kind_slope(n, x / 2))
eval_chebys: Op = _polynomial("eval_chebys", slope=lambda n, x: _second_kind_slope(n, x / 2) / 2)
eval_genlaguerre: Op = _polynomial("eval_genlaguerre", "alpha", slope=_laguerre_slope)
eval_laguerre: Op = _polynomial(
    "eval_laguerre", slope=lambda n, x: _laguerre_slope(n, _like(0, x), x)
)
eval_hermite: Op = _polynomial("eval_hermite", slope=_hermite_slope)
eval_hermitenorm: Op = _polynomial("eval_hermitenorm", slope=_normal_hermite_slope)


def _associated_slope(_m: Any, _v: Any, _x: Any, _y: Any) -> Any:
    """Return (v·x·P - (v + m)·P of the degree before)/(x² - 1), DLMF 14.10.5."""
    m, v, x, y = _m, _v, _x, _y
    return (v * x * y - (v + m) * lpmv(m, v - 1, x)) / (x * x - 1)


lpmv: Op = special("lpmv", "m", "v", _associated_slope)

# ---- spherical Legendre polynomials --------------------------------------------------------------


def _slope(n: Any, m: Any, theta: Any, _y: Any) -> Any:
    """½·(√((n-m)(n+m+1))·P of order m + 1 - √((n+m)(n-m+1))·P of order m - 1)."""
    degree: Any
    order: Any
    degree, order = (convert(k, theta.dtype) for k in (n, m))
    up, down = ((degree - s * order) * (degree + s * order + 1) for s in (1, -1))
    above, below = (
        np.sqrt(np.maximum(c, 0)) * sph_legendre_p(n, m + s, theta)
        for c, s in ((up, 1), (down, -1))
    )
    turned = np.where(np.sin(theta) < 0, -1, 1).astype(theta.dtype)  # SciPy's are even
    return turned * (above - below) / 2


def _value(n: Any, m: Any, theta: Any) -> Any:
    return scipy_function("sph_legendre_p")(n, m, theta)[0].astype(theta.dtype)


sph_legendre_p: Op = special("sph_legendre_p", None, None, _slope, run=_value)
"""That of degree n and order m, with the factor of normalization of a spherical harmonic."""


# --------------------------------------------------------------------------------------------------
# Hypergeometric functions and those of Wright, whose derivatives mostly have raised parameters.
#
# The formulas are equations 13.3.15, 13.3.22, 15.5.1 and 16.3.1 of the NIST Digital Library of
# Mathematical Functions.


hyp0f1: Op = special("hyp0f1", "v", lambda v, z, y: hyp0f1(v + 1, z) / v)
hyp1f1: Op = special("hyp1f1", "a", "b", lambda a, b, z, y: a / b * hyp1f1(a + 1, b + 1, z))
hyp2f1: Op = special(
    "hyp2f1", "a", "b", "c", lambda a, b, c, z, y: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z)
)
hyperu: Op = special("hyperu", "a", "b", lambda a, b, x, y: -a * hyperu(a + 1, b + 1, x))

# ---- Wright's functions --------------------------------------------------------------------------

wrightomega: Op = special("wrightomega", lambda z, y: y / (1 + y))
"""ω + ln ω = z, so that ω' = ω/(1 + ω): R. M. Corless, D. J. Jeffrey, "The Wright ω function"."""

wright_bessel: Op = special(
    "wright_bessel", "a", "b", lambda a, b, x, y: wright_bessel(a, b + a, x)
)
"""Σ xᵏ/(k! Γ(a·k + b)), of which a term's derivative is the one before (DLMF 10.46.1)."""

log_wright_bessel: Op = special(
    "log_wright_bessel", "a", "b", lambda a, b, x, y: np.exp(log_wright_bessel(a, b + a, x) - y)
)
