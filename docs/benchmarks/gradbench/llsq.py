"""Least squares of a polynomial and the sign function, in the coefficients of the polynomial."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def loss(n: int, np_: Any, x: Any) -> Any:
    """Return half the squared distance from the signs at n places of [-1, 1]."""
    t = np_.linspace(-1.0, 1.0, n)
    powers = t[:, None] ** np_.arange(len(x))
    return 0.5 * np_.sum((np_.sign(t) - powers @ x) ** 2)


def in_torch(n: int, torch: Any, x: Any) -> Any:
    """Return the same in PyTorch, whose numbers have 32 bits unless others are asked for."""
    t = torch.linspace(-1.0, 1.0, n, dtype=x.dtype)
    powers = t[:, None] ** torch.arange(len(x))
    return 0.5 * torch.sum((torch.sign(t) - powers @ x) ** 2)


def gradient(n: int, x: Any) -> Any:
    """Return the errors times the powers."""
    t = np.linspace(-1.0, 1.0, n)
    powers = np.vander(t, len(x), increasing=True)
    return powers.T @ (powers @ x - np.sign(t))


def value(n: int, x: Any) -> Any:
    """Return the loss of the polynomial by Horner's rule."""
    t = np.linspace(-1.0, 1.0, n)
    errors = np.polynomial.polynomial.polyval(t, x) - np.sign(t)
    return 0.5 * errors @ errors


def fitted(n: int, m: int = 128) -> Workload:
    """Return the workload of n places and m coefficients."""
    return Workload(
        name=f"llsq, n = {n}",
        arguments=lambda rng: (rng.uniform(size=m),),
        function=partial(loss, n),
        by_hand=partial(gradient, n),
        in_torch=partial(in_torch, n),
    )


WORKLOADS = (fitted(16), fitted(4096))
TINY = (fitted(5, 4),)
