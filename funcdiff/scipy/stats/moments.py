"""Moments of a distribution in standard form, from the formulas in SciPy's class.

A class states mean, variance, skewness and kurtosis, or moments about the origin, or neither; what
is not stated follows from the others, or is integrated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.scipy.stats.double_exponential import moment_integral
from funcdiff.scipy.stats.leaves import has_own, leaf, objects


def statistic(distribution: str, which: int, *shapes: Any) -> Any:
    """Return mean, variance, skewness or kurtosis in standard form, by its number."""
    found = _class_moments(distribution, *shapes)[which]
    if found is not None:
        return found
    return _from_moments(which, lambda n: raw_moment(distribution, n, *shapes))


def integrate_statistic(distribution: str, which: int, *shapes: Any) -> Any:
    """Return the same from integrals."""
    return _from_moments(which, lambda n: integrate_moment(distribution, n, *shapes))


def _from_moments(which: int, moment: Callable[[int], Any]) -> Any:
    mean = moment(1)
    if which == 0:
        return mean
    variance = moment(2) - mean**2
    if which == 1:
        return variance
    third = moment(3) - 3 * mean * variance - mean**3
    if which == 2:
        return third / variance**1.5
    fourth = moment(4) - 4 * mean * third - 6 * mean**2 * variance - mean**4
    return fourth / variance**2 - 3


def _class_moments(distribution: str, *shapes: Any) -> tuple[Any, ...]:
    """Return what SciPy's class says of mean, variance, skewness and kurtosis; None elsewhere."""
    stats = leaf(distribution, "_stats")
    if not has_own(distribution, "_stats"):
        return None, None, None, None
    if objects[distribution]._stats_has_moments:
        return tuple(stats(*shapes, moments="mvsk"))
    return tuple(stats(*shapes))


def raw_moment(distribution: str, n: int, *shapes: Any) -> Any:
    """Return E[xⁿ] in standard form."""
    if has_own(distribution, "_munp"):
        return leaf(distribution, "_munp")(n, *shapes)
    stated = _class_moments(distribution, *shapes)
    if n > 4 or any(value is None for value in stated[:n]):
        return integrate_moment(distribution, n, *shapes)
    mean, variance, skewness, kurtosis = stated
    if n == 1:
        return mean
    if n == 2:
        return variance + mean**2
    third = skewness * variance**1.5
    if n == 3:
        return third + 3 * mean * variance + mean**3
    fourth = (kurtosis + 3) * variance**2
    return fourth + 4 * mean * third + 6 * mean**2 * variance + mean**4


def integrate_moment(distribution: str, n: int, *shapes: Any) -> Any:
    """Return ∫ xⁿ f dx."""
    return moment_integral(distribution, n)(*shapes)
