"""Thirty elementwise equations in a row, from one number to a million."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload

ROUNDS = 10


def chain(np_: Any, x: Any) -> Any:
    """Return a value of the type of `x` after 30 equations."""
    for _ in range(ROUNDS):
        x = np_.tanh(x) * 0.9 + 0.1
    return x


def total(np_: Any, x: Any) -> Any:
    """Return the sum of the chain."""
    return np_.sum(chain(np_, x))


def gradient(x: Any) -> Any:
    """Return the gradient of `total`: forwards, since each number has a chain of its own."""
    g, slope, x = np.full_like(x, 0.9**ROUNDS), np.empty_like(x), x.copy()
    for _ in range(ROUNDS):
        np.tanh(x, out=x)
        np.multiply(x, x, out=slope)
        np.subtract(1.0, slope, out=slope)
        g *= slope
        x *= 0.9
        x += 0.1
    return g


def scalar_gradient(x: float) -> float:
    """Return the derivative of `chain` at a Python number."""
    g = 1.0
    for _ in range(ROUNDS):
        y = math.tanh(x)
        g *= 0.9 * (1.0 - y * y)
        x = y * 0.9 + 0.1
    return g


def single_gradient(x: Any) -> Any:
    """Return the gradient of `total` at an array of one number."""
    return np.array([scalar_gradient(x.item())])


def of_array(n: int, dtype: type = np.float64) -> Workload:
    """Return the chain of n numbers."""
    suffix = ", float32" if dtype is np.float32 else ""
    return Workload(
        name=f"tanh chain, n = {n}{suffix}",
        arguments=lambda rng: (rng.normal(size=n).astype(dtype),),
        function=total,
        by_hand=gradient if n > 1 else single_gradient,
    )


OF_SCALAR = Workload(
    name="tanh chain, a Python float",
    arguments=lambda rng: (float(rng.normal()),),
    function=chain,
    by_hand=scalar_gradient,
)

WORKLOADS = (
    OF_SCALAR,
    *map(of_array, (1, 10, 1000, 100_000, 1_000_000)),
    of_array(100_000, np.float32),
)
TINY = (OF_SCALAR, of_array(3), of_array(3, np.float32))
