"""Wright's omega and generalized Bessel functions."""

from __future__ import annotations

import numpy as np

from funcdiff.scipy.primitives.special.family import Op, special

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
