"""Radial spheroidal wave functions as series of spherical Bessel functions, in NumPy and float64.

NIST Digital Library of Mathematical Functions, section 30.11.  Those of the second kind converge
like powers of 1/x².
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.core.dependencies import scipy_function

_LOST: Final = 1e-8
"""The relative error from which on a sum is nan."""


def radial_series(
    kind: int, degrees: Any, weights: Any, c: float, x: Any, slopes: int, conditioning: float
) -> Any:
    """Return a derivative of Σ w(c)·z(cx) by c and x, where z are spherical Bessel functions.

    Parameters
    ----------
    kind
        1 where z are jₖ, 2 where they are yₖ.
    degrees
        Vector of k, every second number.
    weights
        Derivatives of w by c along the first axis; the last of the sum is what is returned.
    x
        Vector of places.
    slopes
        The derivative in x.
    conditioning
        The relative error of all weights, as a multiple of the precision.
    """
    by_c = len(weights) - 1
    waves = _slopes(kind, degrees, c * x[:, None], by_c + slopes)
    terms: Any = 0.0
    with np.errstate(all="ignore"):
        for i in range(by_c + 1):
            wave: Any = 0.0
            for r in range(min(i, slopes) + 1):
                count = math.comb(i, r) * math.perm(slopes, r) * c ** (slopes - r)
                wave = wave + count * x[:, None] ** (i - r) * waves[slopes + i - r]
            terms = terms + math.comb(by_c, i) * weights[by_c - i] * wave
    known = np.logical_and.accumulate(np.isfinite(terms), axis=1)
    terms = np.where(known, terms, 0)
    last = np.abs(np.take_along_axis(terms, np.maximum(known.sum(1) - 1, 0)[:, None], 1))[:, 0]
    total, size = terms.sum(1), np.abs(terms).sum(1)
    error = (size + conditioning * np.abs(total)) * np.finfo(float).eps + last
    return np.where(known.any(1) & (error <= _LOST * np.abs(total)), total, np.nan)


def _slopes(kind: int, degrees: Any, u: Any, count: int) -> list[Any]:
    """Return derivatives of spherical Bessel functions, DLMF 10.51.2, up to a count."""
    function = scipy_function("spherical_jn" if kind == 1 else "spherical_yn")
    every = np.arange(int(degrees[-1]) + count + 1)
    with np.errstate(all="ignore"):
        values = function(every, u)
        results = [values[:, degrees]]
        for _ in range(count):
            k = every[1 : values.shape[1] - 1]
            inner = (k * values[:, :-2] - (k + 1) * values[:, 2:]) / (2 * k + 1)
            values = np.concatenate([-values[:, 1:2], inner], 1)
            results.append(values[:, degrees])
    return results
