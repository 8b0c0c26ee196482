"""Chains for diagnostics, made of sines, so that they are the same everywhere."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

NUMBERS: Final = ((4, 250), (2, 31), (3, 8), (2, 4))
KINDS: Final = ("independent", "slow", "alternating", "with ties", "heavy tails", "apart")


def chains(numbers: tuple[int, int], kind: str) -> Any:
    """Return draws ``(chains, draws)`` of a kind."""
    i, t = np.indices(numbers) + 1.0
    x = np.sin(1e3 * np.sin(0.7 * t**2 + 11.3 * i))
    for k in range(1, numbers[1]):
        x[:, k] += {"slow": 0.9, "alternating": -0.6}.get(kind, 0.0) * x[:, k - 1]
    if kind == "with ties":
        return np.round(3 * x)
    if kind == "heavy tails":
        return np.tan(1.5 * x)
    return x + i if kind == "apart" else x
