"""The distribution function of the normal distribution by NumPy alone.

SciPy computes it faster where it is installed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_NEAR, _FAR, _NOTHING = 0.46875, 4.0, 40.0
"""Where one approximation takes over from another; beyond the last, exp(-x²/2) is zero."""

# W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23 (1969):
# numerators and denominators by falling powers of z² for erf(z)/z up to _NEAR, of z for
# exp(z²)·erfc(z) up to _FAR, and of 1/z² for what the latter differs by from 1/(z·√π) beyond.
_NEAR_ABOVE: Final = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_NEAR_BELOW: Final = (
    1.0,
    2.36012909523441209e1,
    2.44024637934444173e2,
    1.28261652607737228e3,
    2.84423683343917062e3,
)
_MIDDLE_ABOVE: Final = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_MIDDLE_BELOW: Final = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
_FAR_ABOVE: Final = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_FAR_BELOW: Final = (
    1.0,
    2.56852019228982242e0,
    1.87295284992346047e0,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)


def normal(x: Any) -> Any:
    """Return Φ(x) = ½·erfc(-x/√2), in double precision to a few units in the last place.

    Parameters
    ----------
    x
        Array or number, float32 or float64.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`.

    References
    ----------
    W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23 (1969).
    """
    given = np.asarray(x)
    points = np.clip(np.ravel(given).astype(np.float64), -_NOTHING, _NOTHING)
    z = np.absolute(points) * np.sqrt(0.5)
    result = np.empty_like(points)
    near, far = z <= _NEAR, z > _FAR
    squares = z[near] ** 2
    halves = _quotient(_NEAR_ABOVE, _NEAR_BELOW, squares) * np.sqrt(0.5) / 2
    result[near] = 0.5 + points[near] * halves
    tail, left = ~near, points < 0
    scaled = np.empty_like(points)
    middle = tail & ~far
    scaled[middle] = _quotient(_MIDDLE_ABOVE, _MIDDLE_BELOW, z[middle])
    inverse = 1 / z[far]
    beyond = inverse**2 * _quotient(_FAR_ABOVE, _FAR_BELOW, inverse**2)
    scaled[far] = (1 / np.sqrt(np.pi) - beyond) * inverse
    upper = 0.5 * _bell(points[tail]) * scaled[tail]
    result[tail] = np.where(left[tail], upper, 1 - upper)
    return result.reshape(given.shape).astype(given.dtype)[()]


def _quotient(above: tuple[float, ...], below: tuple[float, ...], x: Any) -> Any:
    return _polynomial(above, x) / _polynomial(below, x)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    result = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        result *= x
        result += c
    return result


def _bell(x: Any) -> Any:
    """Return exp(-x²/2), of which the square of x to few digits is exact."""
    short = np.trunc(x * 16) / 16
    return np.exp(-short * short / 2) * np.exp(-(x - short) * (x + short) / 2)
