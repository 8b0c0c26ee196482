"""Derivatives of the noncentral t distribution as means over a chi distribution, in float64.

The distribution function is the mean of Φ(z), z = ts - δ, over s² = χ²/ν, and a derivative that of
sⁱ·Φ⁽ⁿ⁾(z) with a derivative of the density by ν.  In w = ln s it is an integral of an entire
function that decays at least exponentially: from where the bulk is, it is taken by the trapezoidal
rule after a substitution w = a + b·sinh u (H. Takahasi, M. Mori, "Double Exponential Formulas for
Numerical Integration", Publ. RIMS Kyoto 9, 1974).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.scipy.primitives.numerics.derivative_integrals import (
    Order,
    digamma_gap,
    exp_excess,
    in_blocks,
    stirling_scale,
)

_COUNT: Final = 192
"""How many intervals the trapezoidal rule has."""
_DIGITS: Final = 42.0
"""Natural logarithm of what the bulk of an integrand is divided by where it is cut off."""
_TERMS: Final = 24
"""Length of Taylor series, where |h|·(2 + |z|) is less than 1."""
_BLOCK: Final = 256
"""How many integrals are taken at once."""
_NORMAL: Final = 1e100
"""From how many degrees of freedom on the distribution is taken for the normal one."""


def student_derivative(order: Order, df: Any, nc: Any, t: Any) -> Any:
    """Return a derivative of the distribution function of the noncentral t distribution.

    It is computed for t >= 0: there is the reflection F(t; ν, δ) = 1 - F(-t; ν, -δ).
    """
    by_df, by_nc, by_t = order
    n = by_nc + by_t
    valid = (df > 0) & np.isfinite(nc) & ~np.isnan(t)
    normal = _normal(n, np.where(np.isfinite(t), t - nc, 0)) * (by_df == 0)
    ends = np.where(t > 0, 1.0, 0.0) * (n + by_df == 0)
    result = np.where(valid, np.where(np.isfinite(t), (-1) ** by_nc * normal, ends), np.nan)
    inside = valid & np.isfinite(t) & (df < _NORMAL)
    degrees, center, point = df[inside], nc[inside], t[inside]
    reflected = point < 0

    def compute(*xs: Any) -> Any:
        return _mean(by_df, by_t, n, *xs)

    mean, whole = in_blocks(
        compute, _BLOCK, degrees, np.where(reflected, -center, center), np.abs(point)
    )
    turned = np.where(reflected, -((-1.0) ** n), 1) * mean
    if n + by_df == 0:
        turned = turned + np.where(reflected, 1 - whole, whole)
    result[inside] = (-1) ** by_nc * turned
    return result


def _mean(by_df: int, power: int, n: int, df: Any, nc: Any, t: Any) -> Any:
    """Return the integral and, of the distribution function, what it differs by from that: 0 or 1.

    Of n = 0 it is that of one tail.  Where the factor is nearly linear in s² over the whole bulk of
    the density, its tangent at a point is subtracted: the derivatives of its mean by ν are zero.
    """
    middle = -digamma_gap((0,), df / 2) / 2  # the mean of w
    z = t * np.exp(middle) - nc
    smooth = (t * (1 + np.abs(z)) < np.sqrt(2 * df)) & (by_df > 0)
    edge = np.sqrt(np.maximum(1 / df, 1))
    side = np.where(np.where(smooth, z, t * edge - nc) < 0, 1.0, -1.0)
    factor = _Factor(power, n, nc, t, side)

    def logarithm(w: Any) -> Any:
        values = factor.logarithm(w)
        values = np.where(smooth, np.maximum(values, factor.logarithm(middle)), values)
        return values - df * exp_excess(w)

    center = factor.center(df)
    change = t * np.exp(center)
    slope = change * (1 + np.abs(change - nc))
    w, weights = _points(logarithm, center, 1 / (np.sqrt(2 * np.maximum(df, 1)) + slope))
    excess = exp_excess(w)
    density = 2 * np.exp(stirling_scale(df / 2) - df * excess)
    values = factor.at(np.exp(w))
    if by_df:
        if smooth.any():
            values = np.where(smooth, _less_tangent(factor, w, middle, df >= 1), values)
        values = values * _bell(by_df, df / 2, excess)
    integral = np.sum(np.where(density == 0, 0, weights * density * values), axis=0)
    return np.stack([integral, side < 0])


def _points(logarithm: Callable[[Any], Any], center: Any, width: Any) -> tuple[Any, Any]:
    """Return points and weights for a function of one peak, of which a logarithm is given."""
    least = logarithm(center) - _DIGITS
    shortest = np.maximum(width, np.spacing(np.abs(center)))

    def reach(sign: int) -> Any:
        distance = shortest
        while (short := (logarithm(center + sign * distance) > least)).any():
            distance = np.where(short, 1.5 * distance, distance)
        return distance

    left, right = reach(-1), reach(1)
    scale = np.minimum(left, right) / 4
    start = -np.arcsinh(left / scale)
    step = (np.arcsinh(right / scale) - start) / _COUNT
    u = start + step * np.arange(_COUNT + 1)[:, None]
    return center + scale * np.sinh(u), step * scale * np.cosh(u)


# ---- the factor that depends on t ----------------------------------------------------------------


class _Factor(NamedTuple):
    """The function sⁱ·Φ⁽ⁿ⁾(z) with z = ts - δ; for n = 0 it is Φ(z) - 1 where `side` is -1."""

    power: int
    order: int
    nc: Any
    t: Any
    side: Any

    def at(self, s: Any) -> Any:
        return s**self.power * _normal(self.order, self.t * s - self.nc, self.side)

    def logarithm(self, w: Any) -> Any:
        """Return its logarithm at w = ln s, but for a polynomial in z."""
        z = self.t * np.exp(w) - self.nc
        if self.order:
            return self.power * w - z * z / 2
        return scipy_function("log_ndtr")(self.side * z)

    def coefficient(self, k: int, s: Any) -> Any:
        """Return the k-th coefficient of its Taylor series in s."""
        total: Any = 0.0
        for r in range(min(self.power, k) + 1):
            inner = _normal(self.order + k - r, self.t * s - self.nc, self.side)
            rest = self.t ** (k - r) / math.factorial(k - r) * s ** (self.power - r)
            total = total + math.comb(self.power, r) * rest * inner
        return total

    def center(self, df: Any) -> Any:
        """Return where it has its largest product with exp(-νs²/2) and a power of s, at least s."""
        degrees, bound = np.maximum(df, 1) + self.power, self.t * (1 + np.abs(self.nc))
        if self.order:
            linear, square = self.t * self.nc, df + self.t * self.t
            root = np.hypot(linear, 2 * np.sqrt(degrees * square))
            near = 2 * degrees / np.where(linear > 0, 1, root - linear)
            return np.log(np.where(linear > 0, (root + linear) / (2 * square), near))
        edge = np.sqrt(degrees / df)
        above = (bound + np.hypot(bound, 2 * np.sqrt(degrees * df))) / (2 * df)
        root = np.hypot(bound, 2 * np.sqrt(degrees * (df + self.t * self.t)))
        low = np.log(np.where(self.side > 0, edge, 2 * degrees / (bound + root)))
        high = np.log(np.where(self.side > 0, above, edge))
        for _ in range(40):
            middle = (low + high) / 2
            s = np.exp(middle)
            hazard = _hazard(self.side * (self.nc - self.t * s))
            rising = degrees - df * s * s + self.side * self.t * s * hazard > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return (low + high) / 2


def _less_tangent(factor: _Factor, w: Any, middle: Any, linear: Any) -> Any:
    """Return a factor less its value at a point, and less its tangent in s² where `linear`."""
    s = np.exp(middle)
    z = factor.t * s - factor.nc
    beyond = w - middle > 1
    away = np.where(beyond, np.exp(w) - s, s * np.expm1(np.where(beyond, 0, w - middle)))
    near = np.abs(factor.t * away) * (2 + np.abs(z) + math.sqrt(factor.order)) < 1
    h = np.where(near, away, 0)
    series: Any = 0.0
    for k in range(_TERMS, 1, -1):
        series = (series + factor.coefficient(k, s)) * h
    value, slope = factor.coefficient(0, s), factor.coefficient(1, s)
    series = (series + np.where(linear, 0, slope)) * h
    difference = factor.at(np.exp(w)) - value - np.where(linear, slope, 0) * away
    curvature = np.where(linear, slope / (2 * s), 0)
    return np.where(near, series, difference) - curvature * away * away


def _normal(n: int, z: Any, side: Any = 1) -> Any:
    """Return Φ⁽ⁿ⁾(z) by DLMF 18.5.5 for Hermite's polynomials; Φ(z) - 1 where `side` is -1."""
    if n == 0:
        return side * scipy_function("ndtr")(side * z)
    polynomial = scipy_function("eval_hermitenorm")(n - 1, z)
    return (-1) ** (n - 1) * polynomial * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _hazard(z: Any) -> Any:
    """Return φ(z)/Φ(-z)."""
    return math.sqrt(2 / math.pi) / scipy_function("erfcx")(z / math.sqrt(2))


# ---- the density of w = ln s, which is exp(-ν·(e²ʷ - 1 - 2w)/2), up to a factor ------------------


def _bell(n: int, a: Any, excess: Any) -> Any:
    """Return the n-th derivative of the density by ν = 2a, divided by it: Bell's polynomial."""
    slopes = [digamma_gap((k,), a) / 2 ** (k + 1) for k in range(n)]
    slopes[0] = slopes[0] - excess
    found: list[Any] = [1.0]
    for m in range(n):
        found.append(sum(math.comb(m, k) * found[m - k] * slopes[k] for k in range(m + 1)))
    return found[n]
