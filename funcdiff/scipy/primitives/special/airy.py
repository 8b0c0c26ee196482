"""Airy functions and their derivatives, plain and times an exponential.

The formulas are those of the NIST Digital Library of Mathematical Functions, section 9.2: both
functions solve y'' = z·y.  The factors are exp(ζ) and exp(-|Re ζ|) with ζ = ⅔·z^(3/2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.scipy.primitives.special.family import Op, result_of, special


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
