"""Means of functions of random variables: integrals over densities, and sums over counts.

As SciPy does it integrals of tails are computed by themselves; where these begin has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from funcdiff.api.inspection import stop_gradient
from funcdiff.core.tracer import Tracer
from funcdiff.scipy.integrate import quad

PARTS: Final = (0.05, 0.4, 0.5, 0.6, 0.95)
"""Probabilities where an integral over a density is cut, which may have many scales."""


@dataclass(frozen=True)
class Panels:
    """What an integral over a density is cut into.

    Attributes
    ----------
    law
        The frozen distribution.
    scale
        Its scale.
    places
        Where panels begin and end, in their order.
    corners
        Those of them at which the density is not smooth.
    """

    law: Any
    scale: Any
    places: Sequence[Any]
    corners: Sequence[Any]

    def mean(self, function: Callable[[Any], Any], ends: tuple[bool, bool], kwds: Any) -> Any:
        """Return the integral of a function times the density.

        Its derivative is that of the integral of the difference from the function at an end of the
        support, or a corner, which takes from the slopes of the density what cannot be integrated.

        `function`: the function, of a number.
        `ends`: whether the first place and the last may be finite ends of the support.
        `kwds`: keywords of `quad`.
        """
        found = self._integral(function, [0.0] * (len(self.places) - 1), kwds)
        bases, rest = self._bases(function, ends)
        if isinstance(rest, Tracer):  # slopes, which value and digits do not depend on
            slopes = self._integral(function, bases, kwds) + rest
            found = stop_gradient(found) + (slopes - stop_gradient(slopes))
        return found

    def _bases(
        self, function: Callable[[Any], Any], ends: tuple[bool, bool]
    ) -> tuple[list[Any], Any]:
        """Return what is taken from the function in each panel, and what that adds to the mean."""
        low, first, *_, last, high = self.places
        groups: list[tuple[slice, Any, Any]] = []
        if ends[0]:
            groups.append((slice(0, 1), low, self.law.cdf(first)))
        if len(self.corners) == 1:
            middle = self.law.cdf(last) - self.law.cdf(first)
            groups.append((slice(1, -1), self.corners[0], middle))
        if ends[1]:
            groups.append((slice(-1, None), high, self.law.sf(last)))
        bases: list[Any] = [0.0] * (len(self.places) - 1)
        rest: Any = 0.0
        for panels, place, probability in groups:
            base = self._value_at(function, place)
            bases[panels] = [base] * len(bases[panels])
            rest = rest + base * probability
        return bases, rest

    def _value_at(self, function: Callable[[Any], Any], place: Any) -> Any:
        """Return the function at an end or corner, without slopes; 0 if one of them is infinite."""
        inner = np.where(np.isinf(place), self.places[2], place)
        value = stop_gradient(function(stop_gradient(inner)))
        return np.where(np.isfinite(stop_gradient(place)) & np.isfinite(value), value, 0.0)

    def _integral(self, function: Callable[[Any], Any], bases: Sequence[Any], kwds: Any) -> Any:
        """Return the integral of the function, less a number in each panel, times the density."""

        def over(start: Any, end: Any, base: Any) -> Any:
            return quad(lambda x: self._term(function, x, base, start, end), start, end, **kwds)[0]

        spans = zip(pairwise(self.places), bases, strict=True)
        return sum(over(start, end, base) for (start, end), base in spans)

    def _term(self, function: Callable[[Any], Any], x: Any, base: Any, start: Any, end: Any) -> Any:
        """Return an integrand without slopes where the density vanishes or is infinite."""
        if self.corners:  # with the slopes of that side of it
            inwards = np.where(x == start, 1e-15, 0.0) - np.where(x == end, 1e-15, 0.0)
            x = x + stop_gradient(inwards * (np.abs(x) + self.scale))
        height = stop_gradient(self.law.pdf(x))
        regular = (height > 0) & np.isfinite(height)
        x = np.where(regular, x, stop_gradient(self.places[1]))
        return np.where(regular, (function(x) - base) * self.law.pdf(x), 0.0)


# ---- means over counts where nobody knows where a sum ends ---------------------------------------
#
# ``scipy.stats`` sums from the median up, and then down, in blocks of numbers until one adds
# nothing or too many are summed.  As `maxcount` bounds their number, all of them can be summed at
# once, with what comes behind an end left out.


def sum_by_masks(
    terms: Callable[[Any], Any],
    low: Any,
    high: Any,
    middle: Any,
    maxcount: int = 1000,
    tolerance: float = 1e-10,
    chunksize: int = 32,
) -> Any:
    """Sum terms over the whole numbers from `low` to `high`, from the middle on.

    `terms`: the terms at numbers of shape ``(n,)``.
    `low`, `high`, `middle`: numbers, of shape ``()``; ends may be infinite.
    `maxcount`, `tolerance`, `chunksize`: of how many numbers on no other block begins; below which
      sum, for each of its numbers, a block is the last; how many numbers are in a block.  All of
      them if no more are left.
    """
    steps = np.arange(float((maxcount // chunksize + 1) * chunksize))
    first = np.clip(middle, low, high)
    whole = high - low <= chunksize
    up, sizes = _blocks(terms, first + steps, low, high, chunksize)
    counted = whole | _is_before_end(up, sizes, tolerance)
    found = np.sum(np.where(counted, up, 0.0))
    count = np.sum(np.where(counted, sizes, 0.0))
    is_cut = np.all(counted) & (count > maxcount) & ~_is_small(up, sizes, tolerance)[-1]
    down, sizes = _blocks(terms, first - 1 - steps, low, high, chunksize)
    before = count + chunksize * np.arange(float(len(sizes)))
    goes_on = (before <= maxcount) | (np.arange(len(sizes)) == 0)
    counted = whole | (_is_before_end(down, sizes, tolerance) & goes_on & ~is_cut)
    return found + np.sum(np.where(counted, down, 0.0))


def _blocks(
    terms: Callable[[Any], Any], k: Any, low: Any, high: Any, chunksize: int
) -> tuple[Any, Any]:
    """Return the sums of blocks of terms, and how many of their numbers are within the ends."""
    inside = (k >= low) & (k <= high)
    values = np.where(inside, terms(np.clip(k, low, high)), 0.0)
    sizes = np.sum(np.reshape(inside, (-1, chunksize)), axis=1)
    return np.sum(np.reshape(values, (-1, chunksize)), axis=1), sizes


def _is_small(sums: Any, sizes: Any, tolerance: float) -> Any:
    return np.abs(sums) < tolerance * sizes


def _is_before_end(sums: Any, sizes: Any, tolerance: float) -> Any:
    """Return which blocks no small one precedes."""
    small = _is_small(sums, sizes, tolerance)
    return np.cumsum(small) - small == 0
