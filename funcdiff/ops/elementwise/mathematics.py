"""Elementwise mathematics: each line is a NumPy ufunc and its partial derivatives.

A partial derivative is a number or a formula in plain ``np`` of the operands and the result `y`.
The formulas are elementary (Abramowitz and Stegun, chapters 3 and 4) and hold for complex
operands where the ufunc accepts them, by analytic continuation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, pi
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.primitive import Facts, Tangents, Tracers
from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.logic import (
    equal,
    greater,
    isnan,
    less,
    logical_not,
    logical_or,
    operations,
)
from funcdiff.ops.families import Elementwise, by_ufunc, elementwise
from funcdiff.ops.structure.structural import select
from funcdiff.space import Maybe, add_p, mul_p, neg_p, splat, sum_tangents, zeros

LN2: Final = float(np.log(2.0))
LN10: Final = float(np.log(10.0))
DEGREE: Final = float(np.pi / 180)
LINEAR: Final = Facts(linear=slice(None))

add = by_ufunc[np.add] = Elementwise(add_p, np.add)
mul = by_ufunc[np.multiply] = Elementwise(mul_p, np.multiply)
neg = by_ufunc[np.negative] = Elementwise(neg_p, np.negative)

# ---- arithmetic ------------------------------------------------------------------------------

sub = elementwise("sub", np.subtract, 1, -1, facts=LINEAR)


# the reciprocal is shared, by all orders: one more division than the value has
def _quotient_tangent(xs: Tracers, ts: Tangents, z: Tracer) -> Maybe:
    """dz = (dx - z·dy)/y; a factor z/y might underflow before it meets a large cotangent."""
    (_, y), (tx, ty) = xs, ts
    moved = sum_tangents([tx, None if ty is None else neg(mul(z, ty))])
    return None if moved is None else mul(moved, div(constant(1, y.type), y))


div = elementwise("div", np.divide, tangent=_quotient_tangent)
floor_divide = elementwise("floor_divide", np.floor_divide, None, None)
remainder = elementwise("remainder", np.remainder, 1, lambda x, y, z: -np.floor(x / y))
fmod = elementwise("fmod", np.fmod, 1, lambda x, y, z: -np.trunc(x / y))


def _reciprocal_tangent(_xs: Tracers, ts: Tangents, y: Tracer) -> Maybe:
    """dy = -(dx·y)·y; a factor y² might underflow."""
    (t,) = ts
    return None if t is None else neg(mul(mul(t, y), y))


reciprocal = elementwise("reciprocal", np.reciprocal, tangent=_reciprocal_tangent)
square = elementwise("square", np.square, lambda x, y: 2 * x)
absolute = elementwise("absolute", np.absolute, lambda x, y: np.sign(x))
fabs = elementwise("fabs", np.fabs, lambda x, y: np.sign(x))
sign = elementwise("sign", np.sign, None)
copysign = elementwise(
    "copysign", np.copysign, lambda x, y, z: np.sign(x) * np.copysign(1, y), None
)
heaviside = elementwise(
    "heaviside", np.heaviside, None, lambda x, h, y: np.where(x == 0, _ones(h), 0)
)
nextafter = elementwise("nextafter", np.nextafter, 1, None)
spacing = elementwise("spacing", np.spacing, None)
deg2rad = elementwise("deg2rad", np.deg2rad, DEGREE, facts=LINEAR)
rad2deg = elementwise("rad2deg", np.rad2deg, 1 / DEGREE, facts=LINEAR)
by_ufunc[np.radians], by_ufunc[np.degrees] = deg2rad, rad2deg


def _same(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype


# ---- rounding: zero almost everywhere ----------------------------------------------------------

floor = elementwise("floor", np.floor, None)
ceil = elementwise("ceil", np.ceil, None)
trunc = elementwise("trunc", np.trunc, None)
rint = elementwise("rint", np.rint, None)
modf_integer = elementwise("modf_integer", lambda x: np.modf(x)[1], None, dtypes=_same)
modf_fraction = elementwise("modf_fraction", lambda x: np.modf(x)[0], 1, dtypes=_same)

# ---- powers ----------------------------------------------------------------------------------


def _power_base(x: Any, n: Any, _y: Any) -> Any:
    """∂(xⁿ)/∂x = n·xⁿ⁻¹, and 0 for n = 0 even at x = 0; its derivative by n at n = 0 is 1/x."""
    zero = n == 0
    if splat(n) is None:  # it may have one
        zero = zero & (np.abs(x) < float(np.finfo(x.dtype).tiny))
    return np.where(zero, 0, n * x ** np.where(zero, _ones(n), n - 1))


def _power_exponent(x: Any, n: Any, y: Any) -> Any:
    """∂(xⁿ)/∂n = xⁿ·ln x; at x = 0 the limit, which is 0 for n >= 0."""
    zero = x == 0
    at_zero = np.where(np.real(n) >= 0, 0 * _ones(x), -np.inf)
    return np.where(zero, at_zero, y * np.log(np.where(zero, _ones(x), x)))


power = elementwise("power", np.power, _power_base, _power_exponent)
float_power = elementwise("float_power", np.float_power, _power_base, _power_exponent)
sqrt = elementwise("sqrt", np.sqrt, lambda x, y: 0.5 / y)
# of a sum of squares, whose root has a kink where it is 0: what `passes.kinks` puts for sqrt
root_of_squares = elementwise(
    "root_of_squares",
    lambda s: np.sqrt(s),
    lambda s, y: _over(constant(0.5, y.type), y),
    dtypes=_same,
)
cbrt = elementwise("cbrt", np.cbrt, lambda x, y: 1 / (3 * y * y))

# ---- exponentials and logarithms -----------------------------------------------------------------

exp = elementwise("exp", np.exp, lambda x, y: y)
exp2 = elementwise("exp2", np.exp2, lambda x, y: LN2 * y)
expm1 = elementwise("expm1", np.expm1, lambda x, y: np.exp(x))
log = elementwise("log", np.log, lambda x, y: 1 / x)
log2 = elementwise("log2", np.log2, lambda x, y: 1 / (LN2 * x))
log10 = elementwise("log10", np.log10, lambda x, y: 1 / (LN10 * x))
log1p = elementwise("log1p", np.log1p, lambda x, y: 1 / (1 + x))


# not y·(1 - y), of which nothing is left where y rounds to 1
logistic: Callable[..., Any] = elementwise(
    "logistic", lambda x: 1 / (1 + np.exp(-x)), lambda x, y: y * logistic(-x), dtypes=_same
)


def _share(x: Any, y: Any, scale: float = 1.0) -> Any:
    """1 / (1 + np.exp(scale * (y - x))), the share of x; half at equal infinities."""
    difference = np.where(np.logical_and(np.isinf(x), x == y), 0, x - y)
    return logistic(difference if scale == 1 else scale * difference)


logaddexp = elementwise(
    "logaddexp", np.logaddexp, lambda x, y, z: _share(x, y), lambda x, y, z: _share(y, x)
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    lambda x, y, z: _share(x, y, LN2),
    lambda x, y, z: _share(y, x, LN2),
)

# ---- trigonometric and hyperbolic functions ----------------------------------------------------


def _slope_of_tanh(x: Any, y: Any) -> Any:
    """1 - y².

    Of complex numbers as 4e/(1 + e)² with e = exp(-2|x|) where y is nearly ±1: of the real part
    of 1 - y² rounding leaves no digit there.
    """
    if x.dtype.kind != "c":
        return 1 - y * y
    height = np.real(x)
    far = np.logical_and(np.absolute(height) > 1, np.isfinite(height))
    e = np.exp(-2 * np.sign(height) * np.where(far, x, 1))
    return np.where(far, 4 * e / ((1 + e) * (1 + e)), 1 - y * y)


def _slope_of_tan(x: Any, y: Any) -> Any:
    """1 + y²."""
    # tan(x) = -i tanh(ix)
    return _slope_of_tanh(1j * x, 1j * y) if x.dtype.kind == "c" else 1 + y * y


def _slope_of_arcsin(x: Any, y: Any) -> Any:
    """1/√(1 - x²).

    Of complex numbers by the roots of two factors: each has its cut where arcsin has one, and the
    sign of a zero imaginary part, which says on which side of it x is, outlasts ``x - (-1)`` and
    ``-(x - 1)``.
    """
    if x.dtype.kind != "c":
        return 1 / np.sqrt(1 - x * x)
    return 1 / np.sqrt(-(x - 1)) * (1 / np.sqrt(x - (-1)))


def _slope_of_arccos(x: Any, y: Any) -> Any:
    """-1/√(1 - x²)."""
    return -_slope_of_arcsin(x, y)


def _slope_of_arcsinh(x: Any, _y: Any) -> Any:
    """1/√(1 + x²).

    Of real numbers by a hypotenuse, for the square of a large one would overflow; of complex ones
    ``x * x - (-1)`` keeps the sign of a zero imaginary part, which decides at a branch cut.
    """
    return 1 / (np.hypot(x, _ones(x)) if x.dtype.kind == "f" else np.sqrt(x * x - (-1)))


sin = elementwise("sin", np.sin, lambda x, y: np.cos(x))
cos = elementwise("cos", np.cos, lambda x, y: -np.sin(x))
tan = elementwise("tan", np.tan, _slope_of_tan)
arcsin = elementwise("arcsin", np.arcsin, _slope_of_arcsin)
arccos = elementwise("arccos", np.arccos, _slope_of_arccos)
arctan = elementwise("arctan", np.arctan, lambda x, y: 1 / (1 + x * x))
sinh = elementwise("sinh", np.sinh, lambda x, y: np.cosh(x))
cosh = elementwise("cosh", np.cosh, lambda x, y: np.sinh(x))
tanh = elementwise("tanh", np.tanh, _slope_of_tanh)
arcsinh = elementwise("arcsinh", np.arcsinh, _slope_of_arcsinh)
# here, too, x - (-1) keeps the sign of a zero imaginary part;
# the product of two roots, not the root of x² - 1, has arccosh's branch cut; as a product of two
# factors, of which one is finite at 1, it never has a zero that meets an infinity
arccosh = elementwise(
    "arccosh", np.arccosh, lambda x, y: 1 / np.sqrt(x - 1) * (1 / np.sqrt(x - (-1)))
)
arctanh = elementwise("arctanh", np.arctanh, lambda x, y: 1 / (1 - x * x))


def _over(x: Any, radius: Any) -> Any:
    """x / radius, and 0 where the radius is 0: the minimum-norm subgradient of the norm."""
    zero = radius == 0
    return np.where(zero, 0, x / np.where(zero, _ones(radius), radius))


def _cosine(x: Any, radius: Any) -> Any:
    """x / radius, which at infinity is the sign of what is infinite, and 0 at 0."""
    return np.where(np.isinf(x), np.sign(x), _over(x, radius))


hypot = elementwise("hypot", np.hypot, lambda x, y, z: _cosine(x, z), lambda x, y, z: _cosine(y, z))


def _slope_of_angle(x: Any, radius: Any) -> Any:
    """x / radius**2, divided twice so that the square cannot overflow; 0 at infinity."""
    return np.where(np.isinf(radius), 0, x) / radius / radius


arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda y, x, z: _slope_of_angle(x, np.hypot(x, y)),
    lambda y, x, z: _slope_of_angle(-y, np.hypot(x, y)),
)

# ---- floating point as mantissa and exponent -------------------------------------------------

ldexp = elementwise("ldexp", np.ldexp, lambda x, e, y: np.ldexp(_ones(x), e), None)
frexp_exponent = elementwise(
    "frexp_exponent", lambda x: np.frexp(x)[1], None, dtypes=lambda _: np.dtype(np.intc)
)
frexp_mantissa = elementwise(
    "frexp_mantissa",
    lambda x: np.frexp(x)[0],
    lambda x, y: np.ldexp(_ones(x), -np.frexp(x)[1]),
    dtypes=_same,
)


def _ones(x: Any) -> Any:
    """1, of the type of x."""
    return constant(1, x.type)


# ---- i0 and i1 -----------------------------------------------------------------------------------

# --------------------------------------------------------------------------------------------------
# The special functions that NumPy has itself: sinc(x) = sin(πx)/(πx), and the Bessel function i0.
#
# The derivatives of sinc do not cancel at 0, where it is 1. The formulas of i0, and of i1, which is
# its derivative, are those of Abramowitz and Stegun, section 9.6.


_NODES: Final = 512


def _first_order(x: Any) -> Any:
    """Return I₁(x) = (1/π) ∫₀^π cos θ · sinh(x cos θ) dθ, equation 9.6.19.

    The trapezoidal rule converges exponentially for periodic integrands, and all terms have the
    sign of x, so nothing cancels.  By symmetry a quarter of the period suffices.
    """
    angles = np.arange(1, _NODES // 4 + 1) * (2 * np.pi / _NODES)
    wide = np.asarray(x, np.result_type(x, np.float64))
    total = np.sinh(wide) / 2
    for c in np.cos(angles[:-1]):
        total = total + c * np.sinh(wide * c)
    return (total * (4 / _NODES)).astype(np.asarray(x).dtype)[()]


def _second_derivative(x: Any, y: Any) -> Any:
    """I₁' = I₀ - I₁/x, equation 9.6.26; at 0 its limit, 1/2."""
    zero = x == 0
    return np.where(zero, 0.5, bessel_i0(x) - y / np.where(zero, 1, x))


bessel_i0: Elementwise = elementwise("bessel_i0", lambda x: np.i0(x)[()], lambda x, y: bessel_i1(x))
bessel_i1: Elementwise = elementwise("bessel_i1", _first_order, _second_derivative)


# ---- sinc ----------------------------------------------------------------------------------------

_RADIUS: Final = 0.5 / pi
_TERMS: Final = 10

_COEFFICIENTS: Final = tuple(
    (-1) ** k * 2 * k * pi ** (2 * k) / factorial(2 * k + 1) for k in range(1, _TERMS + 1)
)
"""Of sinc'(x) = Σ cₖ x²ᵏ⁻¹, from sinc(x) = Σ (-1)ᵏ (πx)²ᵏ/(2k+1)!."""


def _slope(x: Any, y: Any) -> Any:
    """(cos(πx) - sinc(x))/x, whose difference cancels near 0: there the series."""
    near = np.absolute(x) < _RADIUS
    far = np.where(near, 1, x)
    close = np.where(near, x, 0)
    square = np.square(close)
    series: Any = _COEFFICIENTS[-1]
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        series = series * square + coefficient
    return np.where(near, close * series, (np.cos(pi * far) - y) / far)


normalized_sinc: Final = elementwise("sinc", lambda x: np.sinc(x)[()], _slope)


# ---- Elementwise maximum and minimum: the derivative follows the operand that wins ---------------
#
# Equal operands share the derivative equally.  The rule selects between tangents instead of
# multiplying them by 0 and 1, so that an infinite slope of the loser does not matter.


Compare: TypeAlias = Callable[[Tracer, Tracer], Tracer]


def _extremum(name: str, ufunc: np.ufunc, wins: Compare, holds: Compare) -> Elementwise:
    """Declare one by two predicates of its operands.

    ``wins(x, y)`` says where `x` alone decides; ``holds(x, y)`` where `x` decides or ties with a
    `y` that is a number and not NaN, by one comparison.
    """

    def tangent(xs: Tracers, ts: Tangents, z: Tracer) -> Maybe:
        (x, y), (tx, ty) = xs, ts
        tie, zero = equal(x, y), zeros(z.type)
        if ty is None and _is_number(y):
            sides = [select(holds(x, y), tx, zero) if tx is not None else None]
        elif tx is None and _is_number(x):
            sides = [select(holds(y, x), ty, zero) if ty is not None else None]
        else:
            winner = wins(x, y)
            sides = [
                None if tx is None else select(logical_or(winner, tie), tx, zero),
                None if ty is None else select(logical_not(winner), ty, zero),
            ]
        share = select(tie, constant(0.5, z.type), constant(1, z.type))
        total = sum_tangents(sides)
        return None if total is None else mul(total, share)

    return elementwise(name, ufunc, None, None, tangent=tangent)


def _is_number(y: Tracer) -> bool:
    value = splat(y)
    return value is not None and not np.isnan(value)


maximum = _extremum(
    "maximum",
    np.maximum,
    wins=lambda x, y: logical_or(greater(x, y), isnan(x)),
    holds=lambda x, y: logical_not(less(x, y)),
)
minimum = _extremum(
    "minimum",
    np.minimum,
    wins=lambda x, y: logical_or(less(x, y), isnan(x)),
    holds=lambda x, y: logical_not(greater(x, y)),
)
fmax = _extremum(
    "fmax",
    np.fmax,
    wins=lambda x, y: logical_or(greater(x, y), isnan(y)),
    holds=operations["greater_equal"],
)
fmin = _extremum(
    "fmin",
    np.fmin,
    wins=lambda x, y: logical_or(less(x, y), isnan(y)),
    holds=operations["less_equal"],
)
