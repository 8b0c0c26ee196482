"""Products of Bessel functions of h·e⁻ˣ and h·eˣ, with derivatives, in plain NumPy and float64.

With θ = u·d/du, a derivative in x is θ₂ - θ₁, and q·d/dq is (θ₁ + θ₂)/2 for q = h².
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcdiff.core.late import scipy_function


def bessel_products(
    kind: int, low: Any, high: Any, sign: int, q: float, x: Any, by_q: int, slopes: int
) -> list[Any]:
    """Return derivatives of J_low(u₁)·Z_high(u₂) ± J_high(u₁)·Z_low(u₂).

    `kind`: 1 where Z is J, 2 where it is Y.
    `low`, `high`: increasing vectors of whole orders, along the last axis of results.
    `x`: vector of places, along the first axis.
    `by_q`: the highest of the derivatives in q, of which there is a list.
    `slopes`: the derivative in x that all of them are of.
    """
    size = math.sqrt(q)
    first, second = size * np.exp(-x)[:, None], size * np.exp(x)[:, None]
    outer = "jv" if kind == 1 else "yv"
    most = by_q + slopes
    lowest, highest = int(min(low[0], high[0])), int(max(low[-1], high[-1]))
    inner_waves = _scaled_slopes("jv", lowest, highest, first, most)
    outer_waves = _scaled_slopes(outer, lowest, highest, second, most)
    low, high = low - lowest, high - lowest
    results: list[Any] = []
    powers = np.zeros((most + 2, most + 2))
    powers[0, 0] = 1
    for _ in range(slopes):
        powers = np.roll(powers, 1, 1) - np.roll(powers, 1, 0)
    for k in range(by_q + 1):
        total: Any = 0.0
        for a, b in np.argwhere(powers):
            inner, outside = inner_waves[a], outer_waves[b]
            product = inner[:, low] * outside[:, high] + sign * inner[:, high] * outside[:, low]
            total = total + powers[a, b] * np.where(np.isfinite(product), product, 0)
        results.append(total / q**k)
        powers = (np.roll(powers, 1, 0) + np.roll(powers, 1, 1)) / 2 - k * powers
    return results


def _scaled_slopes(name: str, lowest: int, highest: int, u: Any, count: int) -> list[Any]:
    """Return θᵃ of Bessel functions of all orders between two, for a up to a count, DLMF 10.6.7."""
    every = np.arange(lowest - count, highest + count + 1)
    table = scipy_function(name)(np.arange(float(np.abs(every).max() + 1)), u)
    table = table[:, np.abs(every)] * np.where(every < 0, (-1.0) ** every, 1)
    width = highest - lowest + 1
    around = [table[:, shift : shift + width] for shift in range(2 * count + 1)]
    slopes = [
        sum((-1) ** r * math.comb(i, r) * around[count - i + 2 * r] for r in range(i + 1))
        * (u / 2) ** i
        for i in range(count + 1)
    ]
    results, numbers = [slopes[0]], np.array([1.0])
    for _ in range(count):  # Stirling numbers of the second kind
        numbers = np.append(numbers * np.arange(len(numbers)), 0.0) + np.append(0.0, numbers)
        results.append(sum(s * slope for s, slope in zip(numbers, slopes, strict=False)))
    return results
