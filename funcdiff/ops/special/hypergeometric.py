"""Hypergeometric functions, whose derivatives have raised parameters.

The formulas are equations 13.3.15, 13.3.22, 15.5.1 and 16.3.1 of the NIST Digital Library of
Mathematical Functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.ops.special.family import special
from funcdiff.ops.special.parameters import undefined

hyp0f1: Callable[..., Any] = special(
    "hyp0f1", undefined("hyp0f1", "v"), lambda v, z, y: hyp0f1(v + 1, z) / v
)
hyp1f1: Callable[..., Any] = special(
    "hyp1f1",
    undefined("hyp1f1", "a"),
    undefined("hyp1f1", "b"),
    lambda a, b, z, y: a / b * hyp1f1(a + 1, b + 1, z),
)
hyp2f1: Callable[..., Any] = special(
    "hyp2f1",
    undefined("hyp2f1", "a"),
    undefined("hyp2f1", "b"),
    undefined("hyp2f1", "c"),
    lambda a, b, c, z, y: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
)
hyperu: Callable[..., Any] = special(
    "hyperu",
    undefined("hyperu", "a"),
    undefined("hyperu", "b"),
    lambda a, b, x, y: -a * hyperu(a + 1, b + 1, x),
)
