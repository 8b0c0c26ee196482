"""Inverses of distribution functions in any of their arguments, as implicit functions.

The function of SciPy's that finds the argument z of F(..., z, ...) = p takes p in the place of z.
Where its search found no solution, and gave the bound at which it stopped, there is no derivative:
it is nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.scipy.primitives.special.family import Op, special


def inverses(names: Sequence[str], function: Op, *slopes: Op) -> None:
    """Declare the functions that find the arguments of a distribution function, by a search.

    `names`: one for each argument, in their order; empty for one that is not found by such a
      function.
    `function`: the distribution function, of its arguments.
    `*slopes`: its partial derivatives, as `special` takes them.
    """
    for place, name in enumerate(names):
        if name:
            inverse(name, place, *slopes, function=function)


def inverse(name: str, place: int, *slopes: Op, sign: int = 1, function: Op | None = None) -> Op:
    """Declare the inverse of a distribution function in one argument.

    `name`: name in ``scipy.special``.
    `place`: number of the argument that it finds.
    `*slopes`: partial derivatives of the distribution function, as `special` takes them.
    `sign`: -1 for the inverse of its complement.
    `function`: what the result is checked with, where it may be no solution.
    """

    def partial(k: int) -> Op:
        def slope(*operands: Any) -> Any:
            *xs, found = operands
            p, xs[place] = xs[place], found
            above: Any = sign if k == place else -slopes[k](*xs, p)
            quotient = above / slopes[place](*xs, p)
            quotient = quotient if k == place else _zero_at_ends(p, found, quotient)
            return quotient if function is None else _if_solved(function(*xs), p, quotient)

        return slope

    return special(name, *map(partial, range(len(slopes))))


def _zero_at_ends(p: Any, found: Any, slope: Any) -> Any:
    """Return a slope by a parameter, which is 0 at an end of the support, where both are 0 or 1."""
    certain = np.logical_or(p == 0, p == 1)
    return np.where(np.logical_and(certain, np.logical_or(found == 0, found == 1)), 0.0, slope)


def _if_solved(value: Any, p: Any, slope: Any) -> Any:
    """Return the slope where a value is p but for the precision of a search, and else nan."""
    tolerance = float(np.finfo(p.dtype).eps ** (1 / 3))
    return np.where(np.abs(value - p) <= tolerance * np.minimum(p, 1 - p), slope, np.nan)
