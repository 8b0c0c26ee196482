"""Kelvin functions, and integrals of Bessel, Airy and Struve functions from 0 or to infinity.

Kelvin functions are parts of a Bessel function of a rotated argument: they solve
w'' = i·w - w'/x (NIST Digital Library of Mathematical Functions, section 10.61).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.scipy.primitives.special.airy import airy_ai, airy_bi
from funcdiff.scipy.primitives.special.bessel import i0, j0, k0, y0
from funcdiff.scipy.primitives.special.family import Op, result_of, special
from funcdiff.scipy.primitives.special.struve import modstruve, struve


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
