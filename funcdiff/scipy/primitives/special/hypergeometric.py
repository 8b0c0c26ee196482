"""Hypergeometric functions, whose derivatives have raised parameters.

The formulas are equations 13.3.15, 13.3.22, 15.5.1 and 16.3.1 of the NIST Digital Library of
Mathematical Functions.
"""

from __future__ import annotations

from funcdiff.scipy.primitives.special.family import Op, special

hyp0f1: Op = special("hyp0f1", "v", lambda v, z, y: hyp0f1(v + 1, z) / v)
hyp1f1: Op = special("hyp1f1", "a", "b", lambda a, b, z, y: a / b * hyp1f1(a + 1, b + 1, z))
hyp2f1: Op = special(
    "hyp2f1",
    "a",
    "b",
    "c",
    lambda a, b, c, z, y: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
)
hyperu: Op = special("hyperu", "a", "b", lambda a, b, x, y: -a * hyperu(a + 1, b + 1, x))
