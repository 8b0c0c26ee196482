"""Bessel functions and their relatives: derivatives are functions of neighbouring orders.

The formulas are those of the NIST Digital Library of Mathematical Functions, sections 10.6 and
10.29, in the form that divides by nothing, so that all derivatives are right at 0 as well.  A
second kind is infinite there, with an infinite slope of known sign.  Spherical ones are of whole
order (equations 10.51.1 and 10.51.4), and SciPy computes their derivatives by other formulas, as
functions of their own: so here there is an operation for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import real_dtype
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special.family import Op, by_order, result_of, special, undefined
from funcdiff.scipy.primitives.special.gamma import rgamma


def _whole(n: int, x: Tracer) -> Tracer:
    return constant(n, x.type)


def _from_pole(y: Any, slope: Any) -> Any:
    """Return the slope; at a pole, from which a function of the second kind recedes, -y."""
    return np.where(np.isinf(y), -y, slope)


# ---- orders 0 and 1 ------------------------------------------------------------------------------

j0: Op = special("j0", lambda x, y: -j1(x))
j1: Op = special("j1", lambda x, y: (j0(x) - jv(_whole(2, x), x)) / 2)
y0: Op = special("y0", lambda x, y: -y1(x))
y1: Op = special("y1", lambda x, y: _from_pole(y, (y0(x) - yv(_whole(2, x), x)) / 2))
i0: Op = special("i0", lambda x, y: i1(x))
i1: Op = special("i1", lambda x, y: (i0(x) + iv(_whole(2, x), x)) / 2)
k0: Op = special("k0", lambda x, y: -k1(x))
k1: Op = special("k1", lambda x, y: -(k0(x) + kv(_whole(2, x), x)) / 2)

# ---- modified functions times an exponential -----------------------------------------------------
#
# Where z is large, ln(exp(-z)·I(z)) changes by about -1/(2z): the difference of ln I and of z has
# lost those digits.


_FAR: Final = 300.0
"""From where on six terms of the expansion are exact to rounding."""


def _expand(count: int) -> list[list[float]]:
    """Return the coefficients of mₙ(q), which obey Riccati's equation; q = v²/R², R² = v² + z².

    With L = z·I'(z)/I(z) it is z·L' + L² = R², and L = R + (1 - q)·Σ mₙ(q)·R¹⁻ⁿ from n = 1 on: the
    logarithmic derivative of Debye's expansions, DLMF 10.41.
    """
    q = np.polynomial.Polynomial([0, 1])
    terms = [0 * q - 0.5]
    for n in range(1, count):
        m = terms[-1]
        squares = sum((terms[i] * terms[-1 - i] for i in range(n)), 0 * q)
        moved = (1 - n) * (1 - q) * m - 2 * q * ((1 - q) * m).deriv()
        terms.append(-(moved + (1 - q) * squares) / 2)
    return [m.coef[::-1].tolist() for m in terms]


_TERMS: Final = _expand(6)


def _drift(sign: int, v: Any, z: Any) -> Any:
    """Return the logarithmic derivative of exp(-z)·Iᵥ(z), or of exp(z)·Kᵥ(z), for large z.

    It is that of DLMF 10.41.3 or 10.41.4, in which z is replaced by -R for K.
    """
    small = 1 / z
    square = (v * small) ** 2
    root = np.sqrt(1 + square)
    q, u = square / (1 + square), sign * small / root
    total = 0.0
    for coefficients in reversed(_TERMS):
        term = 0.0
        for coefficient in coefficients:
            term = term * q + coefficient
        total = total * u + term
    return sign * square / (1 + root) + total * small / (1 + square)


def _slope(sign: int, v: Any, z: Any, y: Any, next_order: Op | None = None) -> Any:
    """Return the slope of exp(-|z|)·Iᵥ(z) or exp(z)·Kᵥ(z), by neighbours or, far out, by `_drift`.

    For order 0 both neighbours are that of order 1.
    """
    side: Any = np.sign(np.real(z)) if sign > 0 else 1  # I is even or odd
    is_far = np.abs(z) >= np.maximum(_FAR, 2 * np.abs(v))
    if z.dtype.kind == "c" and sign > 0:  # K, which is a part of I beside the imaginary axis, falls
        is_far = np.logical_and(is_far, np.abs(np.real(z)) > 20)
    far = y * side * _drift(sign, np.where(is_far, v, 0), side * np.where(is_far, z, _FAR))
    x, op = np.where(is_far, 1, z), ive if sign > 0 else kve
    mean = next_order(x) if next_order else (op(v - 1, x) + op(v + 1, x)) / 2
    found = np.where(is_far, far, sign * (mean - side * y))
    return found if sign > 0 else _from_pole(y, found)


i0e: Op = special("i0e", lambda x, y: _slope(1, _whole(0, x), x, y, i1e))
i1e: Op = special("i1e", lambda x, y: _slope(1, _whole(1, x), x, y))
k0e: Op = special("k0e", lambda x, y: _slope(-1, _whole(0, x), x, y, k1e))
k1e: Op = special("k1e", lambda x, y: _slope(-1, _whole(1, x), x, y))


# ---- any order -----------------------------------------------------------------------------------


def _of_order(name: str, slope: Op) -> Op:
    """Declare a function of an order and an argument, differentiable in the argument."""
    return special(name, "v", slope)


def _y_slope(v: Any, x: Any, y: Any) -> Any:
    return _from_pole(y, (yv(v - 1, x) - yv(v + 1, x)) / 2)


def _k_slope(v: Any, x: Any, y: Any) -> Any:
    return -(kv(v - 1, x) + kv(v + 1, x)) / 2


jv: Op = _of_order("jv", lambda v, x, y: (jv(v - 1, x) - jv(v + 1, x)) / 2)
yv: Op = _of_order("yv", _y_slope)
iv: Op = _of_order("iv", lambda v, x, y: (iv(v - 1, x) + iv(v + 1, x)) / 2)
kv: Op = _of_order("kv", _k_slope)
hankel1: Op = _of_order("hankel1", lambda v, z, y: (hankel1(v - 1, z) - hankel1(v + 1, z)) / 2)
hankel2: Op = _of_order("hankel2", lambda v, z, y: (hankel2(v - 1, z) - hankel2(v + 1, z)) / 2)
yn: Op = special("yn", _y_slope, whole=("n",))
kn: Op = special("kn", _k_slope, whole=("n",))

# ---- any order, times an exponential that is holomorphic -----------------------------------------

kve: Op = _of_order("kve", partial(_slope, -1))


def _hankel_slope(turn: complex, v: Any, z: Any, y: Any) -> Any:
    """Return the slope of a Hankel function times exp(-z·turn), far out that of Kᵥ(-z·turn).

    Those are DLMF 10.27.8.
    """
    op: Op = hankel1e if turn.imag > 0 else hankel2e
    is_far = np.logical_and(np.abs(z) >= np.maximum(_FAR, 2 * np.abs(v)), np.real(z) > 0)
    drift = _drift(-1, np.where(is_far, v, 0), -turn * np.where(is_far, z, _FAR))
    near = (op(v - 1, z) - op(v + 1, z)) / 2 - turn * y
    return np.where(is_far, -turn * y * drift, near)


hankel1e: Op = _of_order("hankel1e", partial(_hankel_slope, 1j))
hankel2e: Op = _of_order("hankel2e", partial(_hankel_slope, -1j))

# ---- any order, times exp(-|Re z|) or exp(-|Im z|), which is not ---------------------------------


def _declare_damped(name: str, slope: Op, turn: Callable[[Any, Any], Any]) -> Op:
    """Declare a function times a factor whose logarithm moves by turn(z, t) beside the slope.

    At the kink of the factor its slope is 0.
    """
    refuse = undefined(name, "v")

    def tangent(xs: Tracers, ts: Tangents, y: Any) -> Any:
        (v, z), (order, t) = xs, ts
        if order is not None:
            refuse()
        moved = slope(v, z, y) * t
        return moved + turn(z, t) * y if z.dtype.kind == "c" else moved

    return special(name, tangent=tangent)


def _fall(z: Any, t: Any) -> Any:
    """Return the tangent of -|Im z|."""
    return -np.sign(np.imag(z)) * np.imag(t)


jve: Op = _declare_damped("jve", lambda v, z, y: (jve(v - 1, z) - jve(v + 1, z)) / 2, _fall)
yve: Op = _declare_damped(
    "yve", lambda v, z, y: _from_pole(y, (yve(v - 1, z) - yve(v + 1, z)) / 2), _fall
)
ive: Op = _declare_damped(  # exp(-|Re z|) is exp(-z) or exp(z), turned
    "ive", partial(_slope, 1), lambda z, t: 1j * np.sign(np.real(z)) * np.imag(t)
)

# ---- B = ∫ xᶫ Jᵥ(2ax) dx from 0 to 1 -------------------------------------------------------------


_LARGEST: Final = 30.0
"""The largest a, and size of a negative order, whose series is tried."""


def _reciprocal_gamma(order: int, z: Any) -> tuple[Any, list[Any]]:
    """Return a logarithm, and derivatives of 1/Γ at z divided by its exponential.

    For z < 1/2 by the recurrence 1/Γ(z) = z/Γ(z + 1), so that the zeros of 1/Γ are no poles.
    """
    steps = np.maximum(np.ceil(0.5 - z), 0)
    w = z + steps
    psi, zeta = scipy_function("psi"), scipy_function("zeta")
    slopes = [psi(w) if k == 0 else -((-1) ** k) * math.factorial(k) * zeta(k + 1, w)
              for k in range(order)]  # fmt: skip
    ratios = [np.ones_like(w)]
    for n in range(order):
        ratios.append(-sum(math.comb(n, k) * slopes[k] * ratios[n - k] for k in range(n + 1)))
    logarithm = -scipy_function("gammaln")(w)
    for step in range(int(np.max(steps, initial=0))):
        down = step < steps
        w = np.where(down, w - 1, w)
        lower = [w * ratios[0], *(w * ratios[r] + r * ratios[r - 1] for r in range(1, order + 1))]
        ratios = [np.where(down, new, old) for new, old in zip(lower, ratios, strict=True)]
    return logarithm, ratios


def _besselpoly_series(orders: tuple[int, ...], a: Any, lmb: Any, nu: Any) -> Any:
    """Return a derivative by l and v of Σ (-1)ᵐ aᵛ⁺²ᵐ/(m! Γ(v + m + 1)(l + v + 2m + 1)).

    That is the integral of DLMF 10.2.2; nan where less than six digits are left of the sum.
    """
    by_lmb, by_nu = orders
    known = (a >= 0) & (a <= _LARGEST) & (nu >= -_LARGEST) & np.isfinite(nu) & np.isfinite(lmb)
    a, lmb, nu = (np.where(known, x, 1) for x in (a, lmb, nu))
    lost = (-nu).max(initial=0)
    total, size = np.zeros(a.shape), np.zeros(a.shape)
    gammaln, xlogy = scipy_function("gammaln"), scipy_function("xlogy")
    for m in range(20 + int(4 * a.max(initial=0) + 2 * lost)):
        logarithm, gammas = _reciprocal_gamma(by_nu, nu + m + 1)
        power = np.exp(xlogy(nu + 2 * m, a) - gammaln(m + 1) + logarithm)
        place, term = lmb + nu + 2 * m + 1, np.zeros(a.shape)
        for r, t in product(range(by_nu + 1), repeat=2):
            last = by_lmb + by_nu - r - t
            if r + t <= by_nu:
                count = math.comb(by_nu, r) * math.comb(by_nu - r, t) * math.factorial(last)
                factor = (-1) ** last * count * gammas[r] * power
                vanishes = (gammas[r] == 0) | (power == 0)
                moved = factor * np.log(a) ** t / place ** (last + 1)
                term = term + np.where(vanishes, 0, moved)
        total, size = total + (-1) ** m * term, size + np.abs(term)
    error = size * np.finfo(float).eps
    return np.where(known & ~(error > 1e-6 * np.maximum(1, np.abs(total))), total, np.nan)


def _by_a(orders: tuple[int, ...], a: Any, lmb: Any, nu: Any) -> Any:
    """Return ∂B/∂a by DLMF 10.6.1."""
    return besselpoly_series(orders, a, lmb + 1, nu - 1) - besselpoly_series(
        orders, a, lmb + 1, nu + 1
    )


besselpoly_series: Op = by_order(
    "besselpoly_series",
    _besselpoly_series,
    _by_a,
    lambda orders, *xs: besselpoly_series((orders[0] + 1, orders[1]), *xs),
    lambda orders, *xs: besselpoly_series((orders[0], orders[1] + 1), *xs),
)
besselpoly: Op = special(
    "besselpoly",
    lambda a, lmb, nu, y: _by_a((0, 0), a, lmb, nu),
    lambda a, lmb, nu, y: besselpoly_series((1, 0), a, lmb, nu),
    lambda a, lmb, nu, y: besselpoly_series((0, 1), a, lmb, nu),
)

# ---- spherical ones ------------------------------------------------------------------------------


def _in_dtype_of(z: Any, result: Any) -> Any:
    """Return the result in the argument's dtype: of float32, SciPy makes float64 here and there."""
    return np.asarray(result).astype(np.asarray(z).dtype)[()]


def _neighbours(op: Callable[[Any, Any], Any], below: int, above: int) -> Callable[..., Any]:
    """Return the slope (± n f_{n-1} ± (n+1) f_{n+1}) / (2n + 1)."""

    def slope(n: Any, z: Any, y: Any) -> Any:
        k: Any = convert(n, real_dtype(z.dtype))
        first = n == 0
        lower = np.where(first, 0, k * op(np.where(first, n, n - 1), z))
        total = (below * lower + above * ((k + 1) * op(n + 1, z))) / (2 * k + 1)
        return np.where(np.isinf(y), above * y, total)

    return slope


def _spherical(name: str, below: int, above: int) -> tuple[Op, Op]:
    """Declare a spherical Bessel function and its derivative, which obeys the same recurrence."""

    def function(n: Any, z: Any) -> Any:
        return _in_dtype_of(z, scipy_function(name)(n, z))

    def derivative(n: Any, z: Any) -> Any:
        return _in_dtype_of(z, scipy_function(name)(n, z, derivative=True))

    value = special(name, None, _neighbours(lambda n, z: value(n, z), below, above), run=function)
    slope = special(
        f"{name}_slope", None, _neighbours(lambda n, z: slope(n, z), below, above), run=derivative
    )
    return value, slope


spherical_jn, spherical_jn_slope = _spherical("spherical_jn", 1, -1)
spherical_yn, spherical_yn_slope = _spherical("spherical_yn", 1, -1)
spherical_in, spherical_in_slope = _spherical("spherical_in", 1, 1)
spherical_kn, spherical_kn_slope = _spherical("spherical_kn", -1, -1)


# ---- Airy functions ------------------------------------------------------------------------------


# ---- Relatives of Bessel functions: Airy, Struve, Kelvin and parabolic cylinder functions --------
#
# The formulas are those of the NIST Digital Library of Mathematical Functions. Airy functions solve
# y'' = z·y (section 9.2), with factors exp(ζ) and exp(-|Re ζ|) of ζ = ⅔·z^(3/2). Struve functions
# obey equations 11.4.24 and 11.4.26. Kelvin functions are parts of a Bessel function of a rotated
# argument: they solve w'' = i·w - w'/x (section 10.61). Of the parabolic ones, D and V solve w'' =
# (x²/4 - v - 1/2)·w, and W solves w'' = (a - x²/4)·w (sections 12.2 and 12.14).


def _airy(name: str, k: int, slope: Op) -> Op:
    return special(name, slope, run=result_of("airy", k))


airy_ai: Op = _airy("airy_ai", 0, lambda z, y: airy_ai_slope(z))
airy_ai_slope: Op = _airy("airy_ai_slope", 1, lambda z, y: z * airy_ai(z))
airy_bi: Op = _airy("airy_bi", 2, lambda z, y: airy_bi_slope(z))
airy_bi_slope: Op = _airy("airy_bi_slope", 3, lambda z, y: z * airy_bi(z))

# ---- times exp(ζ), whose logarithmic derivative is √z --------------------------------------------


def _far_airy(sign: int, order: int, z: Any, y: Any, near: Any) -> Any:
    """Return a slope, for large z > 0 by that of Iᵥ or Kᵥ of ζ: times z^(v·3/2), v = order/3.

    Those are DLMF 9.6.2, 9.6.3, 9.6.6 and 9.6.7; ζ' is √z.
    """
    is_far = np.logical_and(np.real(z) > _FAR / 5, np.imag(z) == 0)
    x = np.where(is_far, z, _FAR)
    root = np.sqrt(x)
    drift = order / 2 / x + root * _drift(sign, order / 3, x * root * (2 / 3))
    return np.where(is_far, y * drift, near)


def _growing(name: str, k: int, order: int, slope: Op) -> Op:
    def total(z: Any, y: Any) -> Any:
        return _far_airy(-1, order, z, y, slope(z) + np.sqrt(z) * y)

    return special(name, total, run=result_of("airye", k))


airye_ai: Op = _growing("airye_ai", 0, 1, lambda z: airye_ai_slope(z))
airye_ai_slope: Op = _growing("airye_ai_slope", 1, 2, lambda z: z * airye_ai(z))

# ---- times exp(-|Re ζ|), which is 1 for z < 0 ----------------------------------------------------


def _declare_damped_relative(name: str, k: int, order: int, slope: Op) -> Callable[..., Any]:
    def tangent(xs: Tracers, ts: Tangents, y: Any) -> Any:
        (z,), (t,) = xs, ts
        near = slope(z) * t + -y * _rate(z, t)
        return near if z.dtype.kind == "c" else _far_airy(1, order, z, y * t, near)

    return special(name, tangent=tangent, run=result_of("airye", k))


def _rate(z: Any, t: Any) -> Any:
    """Return the tangent of |Re ζ|."""
    if z.dtype.kind != "c":
        return np.where(z > 0, np.sqrt(np.where(z > 0, z, 1)), 0) * t
    root = np.sqrt(z)
    return np.sign(np.real(z * root)) * np.real(root * t)


airye_bi: Op = _declare_damped_relative("airye_bi", 2, 1, lambda z: airye_bi_slope(z))
airye_bi_slope: Op = _declare_damped_relative("airye_bi_slope", 3, 2, lambda z: z * airye_bi(z))

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
itstruve0: Op = special("itstruve0", lambda x, y: struve(_whole(0, x), x))
it2struve0: Op = special("it2struve0", lambda x, y: -struve(_whole(0, x), x) / x)
itmodstruve0: Op = special("itmodstruve0", lambda x, y: modstruve(_whole(0, x), x))


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
