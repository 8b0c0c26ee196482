"""Relatives of Bessel functions: Airy, Struve, Kelvin and parabolic cylinder functions.

The formulas are those of the NIST Digital Library of Mathematical Functions.  Airy functions solve
y'' = z·y (section 9.2), with factors exp(ζ) and exp(-|Re ζ|) of ζ = ⅔·z^(3/2).  Struve functions
obey equations 11.4.24 and 11.4.26.  Kelvin functions are parts of a Bessel function of a rotated
argument: they solve w'' = i·w - w'/x (section 10.61).  Of the parabolic ones, D and V solve
w'' = (x²/4 - v - 1/2)·w, and W solves w'' = (a - x²/4)·w (sections 12.2 and 12.14).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.scipy.primitives.special.bessel import i0, j0, k0, y0
from funcdiff.scipy.primitives.special.family import Op, result_of, special
from funcdiff.scipy.primitives.special.gamma import rgamma

# ---- Airy functions ------------------------------------------------------------------------------


def _airy(name: str, k: int, slope: Op) -> Op:
    return special(name, slope, run=result_of("airy", k))


airy_ai: Op = _airy("airy_ai", 0, lambda z, y: airy_ai_slope(z))
airy_ai_slope: Op = _airy("airy_ai_slope", 1, lambda z, y: z * airy_ai(z))
airy_bi: Op = _airy("airy_bi", 2, lambda z, y: airy_bi_slope(z))
airy_bi_slope: Op = _airy("airy_bi_slope", 3, lambda z, y: z * airy_bi(z))

# ---- times exp(ζ), whose logarithmic derivative is √z --------------------------------------------


def _growing(name: str, k: int, slope: Op) -> Op:
    return special(name, lambda z, y: slope(z) + np.sqrt(z) * y, run=result_of("airye", k))


airye_ai: Op = _growing("airye_ai", 0, lambda z: airye_ai_slope(z))
airye_ai_slope: Op = _growing("airye_ai_slope", 1, lambda z: z * airye_ai(z))

# ---- times exp(-|Re ζ|), which is 1 for z < 0 ----------------------------------------------------


def _declare_damped(name: str, k: int, slope: Op) -> Callable[..., Any]:
    def tangent(xs: Tracers, ts: Tangents, y: Any) -> Any:
        (z,), (t,) = xs, ts
        return slope(z) * t + -y * _rate(z, t)

    return special(name, tangent=tangent, run=result_of("airye", k))


def _rate(z: Any, t: Any) -> Any:
    """Return the tangent of |Re ζ|."""
    if z.dtype.kind != "c":
        return np.where(z > 0, np.sqrt(np.where(z > 0, z, 1)), 0) * t
    root = np.sqrt(z)
    return np.sign(np.real(z * root)) * np.real(root * t)


airye_bi: Op = _declare_damped("airye_bi", 2, lambda z: airye_bi_slope(z))
airye_bi_slope: Op = _declare_damped("airye_bi_slope", 3, lambda z: z * airye_bi(z))

# ---- Struve functions ----------------------------------------------------------------------------

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

# ---- Kelvin functions, and integrals from 0 or to infinity ---------------------------------------


def _curvature(x: Any, forcing: Any, slope: Any, at_zero: float) -> Any:
    """Return w'' = forcing - w'/x, at 0 its limit."""
    return np.where(x == 0, at_zero, forcing - slope / np.where(x == 0, 1, x))


ber: Op = special("ber", lambda x, y: berp(x))
bei: Op = special("bei", lambda x, y: beip(x))
ker: Op = special("ker", lambda x, y: kerp(x))
kei: Op = special("kei", lambda x, y: keip(x))
berp: Op = special("berp", lambda x, y: _curvature(x, -bei(x), y, 0.0))
beip: Op = special("beip", lambda x, y: _curvature(x, ber(x), y, 0.5))
kerp: Op = special("kerp", lambda x, y: _curvature(x, -kei(x), y, np.inf))
keip: Op = special("keip", lambda x, y: _curvature(x, ker(x), y, np.inf))

# ---- integrals -----------------------------------------------------------------------------------


def _zero(x: Any) -> Any:
    return constant(0, x.type)


def _integral(function: str, k: int, name: str, integrand: Op) -> Op:
    return special(name, lambda x, y: integrand(x), run=result_of(function, k))


iti0: Op = _integral("iti0k0", 0, "iti0", i0)
itk0: Op = _integral("iti0k0", 1, "itk0", k0)
itj0: Op = _integral("itj0y0", 0, "itj0", j0)
ity0: Op = _integral("itj0y0", 1, "ity0", y0)
it2i0: Op = _integral("it2i0k0", 0, "it2i0", lambda x: _quotient(i0(x) - 1, x))
it2k0: Op = _integral("it2i0k0", 1, "it2k0", lambda x: -k0(x) / x)
it2j0: Op = _integral("it2j0y0", 0, "it2j0", lambda x: _quotient(1 - j0(x), x))
it2y0: Op = _integral("it2j0y0", 1, "it2y0", lambda x: -y0(x) / x)
itairy_ai: Op = _integral("itairy", 0, "itairy_ai", airy_ai)
itairy_bi: Op = _integral("itairy", 1, "itairy_bi", airy_bi)
itairy_turned_ai: Op = _integral("itairy", 2, "itairy_turned_ai", lambda x: airy_ai(-x))
itairy_turned_bi: Op = _integral("itairy", 3, "itairy_turned_bi", lambda x: airy_bi(-x))
itstruve0: Op = special("itstruve0", lambda x, y: struve(_zero(x), x))
it2struve0: Op = special("it2struve0", lambda x, y: -struve(_zero(x), x) / x)
itmodstruve0: Op = special("itmodstruve0", lambda x, y: modstruve(_zero(x), x))


def _quotient(above: Any, x: Any) -> Any:
    """Return a quotient that vanishes at 0, where its slope is 1/4."""
    return np.where(x == 0, x / 4, above / np.where(x == 0, 1, x))


# ---- parabolic cylinder functions ----------------------------------------------------------------


def _pair(name: str, order: str, curvature: Op) -> tuple[Op, Op]:
    """Declare a function of an order and a place, and its slope there."""
    value = special(f"{name}_value", order, lambda v, x, y: slope(v, x), run=result_of(name, 0))
    slope: Op = special(
        f"{name}_slope",
        order,
        lambda v, x, y: curvature(v, x) * value(v, x),
        run=result_of(name, 1),
    )
    return value, slope


def _well(v: Any, x: Any) -> Any:
    return x * x / 4 - v - 0.5


pbdv_value, pbdv_slope = _pair("pbdv", "v", _well)
pbvv_value, pbvv_slope = _pair("pbvv", "v", _well)
pbwa_value, pbwa_slope = _pair("pbwa", "a", lambda a, x: a - x * x / 4)
