"""Leaf methods of distributions in standard form: borrowed from SciPy, or a formula in NumPy.

SciPy's distributions are classes with *leaves*: `_pdf`, `_cdf`, `_stats`, ..., of a value and shape
parameters.  Most of them are elementary and are borrowed.  What is compiled or looks at values has
a formula in `formulas`, which stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from funcdiff.scipy.covered import load

objects: Final[dict[str, Any]] = {}
"""The distributions for traced arrays by their names in ``scipy.stats``."""


def distribution(name: str) -> Any:
    """Return the distribution for traced arrays of that name, as pickles know it."""
    return objects[name]


@cache
def scipys(distribution: str) -> Any:
    """Return SciPy's own distribution of that name."""
    return getattr(load("scipy.stats", distribution), distribution)


def leaf(distribution: str, name: str) -> Callable[..., Any]:
    """Return a leaf of a distribution as a function of traced arrays."""
    found: Callable[..., Any] = getattr(objects[distribution], name)
    return found


def has_own(distribution: str, name: str) -> bool:
    """Return whether a distribution computes a leaf in a way of its own."""
    kind = type(objects[distribution])
    generic = ("rv_continuous", "rv_discrete", "rv_generic")
    owner = next(c for c in kind.__mro__ if name in vars(c))
    return owner.__name__ not in generic
