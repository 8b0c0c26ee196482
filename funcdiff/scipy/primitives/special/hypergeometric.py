"""Hypergeometric functions and those of Wright, whose derivatives mostly have raised parameters.

The formulas are equations 13.3.15, 13.3.22, 15.5.1 and 16.3.1 of the NIST Digital Library of
Mathematical Functions.
"""

from __future__ import annotations

import numpy as np

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

# ---- Wright's functions --------------------------------------------------------------------------

wrightomega: Op = special("wrightomega", lambda z, y: y / (1 + y))
"""ω + ln ω = z, so that ω' = ω/(1 + ω): R. M. Corless, D. J. Jeffrey, "The Wright ω function"."""

wright_bessel: Op = special(
    "wright_bessel", "a", "b", lambda a, b, x, y: wright_bessel(a, b + a, x)
)
"""Σ xᵏ/(k! Γ(a·k + b)), of which a term's derivative is the one before (DLMF 10.46.1)."""

log_wright_bessel: Op = special(
    "log_wright_bessel",
    "a",
    "b",
    lambda a, b, x, y: np.exp(log_wright_bessel(a, b + a, x) - y),
)
