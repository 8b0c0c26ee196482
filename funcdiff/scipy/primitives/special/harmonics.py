"""Spherical Legendre polynomials, of whole degree and order, as functions of the polar angle.

The slope is half the difference of what the ladder operators make of one, which divides by nothing
at the poles (A. R. Edmonds, "Angular Momentum in Quantum Mechanics", 1957, section 2.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.dependencies import scipy_function
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special.family import Op, special


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
