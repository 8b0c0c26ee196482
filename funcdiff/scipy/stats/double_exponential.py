"""Integrals over a density that have no closed form, by the double exponential rule.

The variable is mapped to the real line so that every integrand decays doubly exponentially, where
the trapezoidal rule converges exponentially (H. Takahasi, M. Mori, "Double Exponential Formulas
for Numerical Integration", Publ. RIMS Kyoto 9, 1974).  The points move with the ends of the
support; else they are constants, so that derivatives are those under the integral.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from funcdiff.api.inspection import stop_gradient
from funcdiff.core.types import FLOAT
from funcdiff.ops.structure.structural import convert, iota
from funcdiff.scipy.stats.leaves import leaf

_STEP: Final = 1 / 24
_COUNT: Final = 201

_CORNERS: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    "crystalball": lambda beta, _m: (-beta,),
    **dict.fromkeys(("skewcauchy", "dgamma", "dweibull", "gennorm"), lambda a: (0.0 * a,)),
    "laplace": lambda: (0.0,),
    "laplace_asymmetric": lambda kappa: (0.0 * kappa,),
    "loglaplace": lambda c: (1.0 + 0.0 * c,),
    "pearson3": lambda skew: (-2 / np.where(np.abs(skew) < 0.05, 0.05, skew),),
    "triang": lambda c: (c,),
    "trapezoid": lambda c, d: (c, d),
}
"""Distribution -> of its shapes, where its density in standard form is not smooth within."""


def corners_of(distribution: str, *shapes: Any) -> tuple[Any, ...]:
    """Return where a density in standard form is not smooth within its support."""
    return _CORNERS[distribution](*shapes) if distribution in _CORNERS else ()


def grid(start: float, step: float, count: int, ndim: int) -> Any:
    """Return equidistant numbers along a first axis of further ones."""
    found: Any = convert(iota((count,), 0), FLOAT)
    return np.reshape(start + step * found, (count, *(1,) * ndim))


def integral(integrand: Callable[[Any], Any], low: Any, high: Any, center: Any, width: Any) -> Any:
    """Return ∫ f(t) dt between ends that may be infinite; f may be singular there.

    `integrand`: function of an array with a further axis in front.
    `low`, `high`: ends, of one shape.
    `center`, `width`: where the bulk is, and how wide: no derivative is taken in them.
    """
    u = grid(-4.2, _STEP, _COUNT, np.ndim(low + high + center))
    steep, slope = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u)
    below, above = np.isinf(low), np.isinf(high)
    a, b = np.where(below, 0.0, low), np.where(above, 0.0, high)
    part = 1 / (1 + np.exp(-2 * steep))
    finite = a + (b - a) * part, (b - a) * 2 * part * (1 - part) * slope
    grown, fallen = width * np.exp(steep), width * np.exp(-steep)
    upwards = a + grown, grown * slope
    downwards = b - fallen, fallen * slope
    whole = center + width * np.sinh(steep), width * np.cosh(steep) * slope
    points, weights = (
        np.where(below, np.where(above, w, d), np.where(above, r, f))
        for w, d, r, f in zip(whole, downwards, upwards, finite, strict=True)
    )
    size = np.absolute(stop_gradient(integrand(points) * weights))
    size = np.where(np.isfinite(size), size, 0.0)
    usable = size > 1e-40 * np.max(size, axis=0)  # other points add nothing, not even a slope
    values = integrand(np.where(usable, points, points[_COUNT // 2])) * weights
    return np.sum(np.where(usable, values, 0.0), axis=0) * _STEP


def around_median(
    distribution: str, integrand: Callable[[Any], Any], low: Any, high: Any, *shapes: Any
) -> Any:
    """Return ∫ f(t) dt, f as wide as a density, of which either side of the median has its points.

    At a corner of the density other points begin, too.
    """
    fixed = [stop_gradient(s) for s in shapes]
    quantile = leaf(distribution, "ppf")
    width = (quantile(0.8, *fixed) - quantile(0.2, *fixed)) / 2
    middle = np.clip(stop_gradient(quantile(0.5, *fixed)), low, high)
    cuts = [middle]
    for corner in corners_of(distribution, *shapes):
        at = np.clip(corner, low, high)
        cuts = [np.minimum(cuts[0], at), *cuts[1:], np.maximum(cuts[-1], at)]
    center = stop_gradient(middle)
    return sum(integral(integrand, *ends, center, width) for ends in pairwise([low, *cuts, high]))


def over_density(distribution: str, of: Callable[[Any, Any], Any], *shapes: Any) -> Any:
    """Return ∫ of(t, f(t)) dt over the support."""
    low, high = leaf(distribution, "_get_support")(*shapes)
    density = leaf(distribution, "_pdf")
    return around_median(distribution, lambda t: of(t, density(t, *shapes)), low, high, *shapes)


def entropy_integral(distribution: str) -> Callable[..., Any]:
    """Return -∫ f ln f as a function of shape parameters."""

    def surprise(_t: Any, f: Any) -> Any:
        positive = f > 0
        return np.where(positive, -f * np.log(np.where(positive, f, 1.0)), 0.0)

    return lambda *shapes: over_density(distribution, surprise, *shapes)


def moment_integral(distribution: str, n: int) -> Callable[..., Any]:
    """Return ∫ tⁿ f as a function of shape parameters; nan where it is infinite."""

    def moment(*shapes: Any) -> Any:
        found = over_density(distribution, lambda t, f: t**n * f, *shapes)
        logarithm = leaf(distribution, "_logpdf")
        is_infinite: Any = False
        for end, sign in zip(leaf(distribution, "_get_support")(*shapes), (-1, 1), strict=True):
            near, far = (logarithm(sign * x + 0.0 * found, *shapes) for x in (1e40, 1e60))
            grows = (far - near) / np.log(1e20) >= -(n + 1) - 1e-9
            is_infinite = is_infinite | (np.isinf(end) & grows)
        return found + nan_where(is_infinite, *shapes)

    return moment


def nan_where(condition: Any, *xs: Any) -> Any:
    """Return 0, or nan where a condition holds, and so are all derivatives in the arguments."""
    x = np.where(condition, sum(xs), 0.0)  # so that no nan is multiplied elsewhere
    return np.where(condition, np.exp(np.nan * x), 0.0)


def probability_integral(distribution: str, *, upper: bool) -> Callable[..., Any]:
    """Return ∫ f up to x, or from there, as a function of x and shape parameters."""

    def probability(x: Any, *shapes: Any) -> Any:
        low, high = leaf(distribution, "_get_support")(*shapes)
        low, high = (x, high) if upper else (low, x)
        density = leaf(distribution, "_pdf")
        return around_median(distribution, lambda t: density(t, *shapes), low, high, *shapes)

    return probability
