"""Dense Jacobians of a network of two layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def layers(np_: Any, x: Any, A: Any, B: Any) -> Any:
    """Return m numbers of n numbers."""
    return np_.tanh(B @ np_.tanh(A @ x))


def jacobian(x: Any, A: Any, B: Any) -> Any:
    """Return the (m, n) Jacobian."""
    y = np.tanh(A @ x)
    z = np.tanh(B @ y)
    y *= y
    z *= z
    scaled = B * np.subtract(1.0, y, out=y)
    scaled *= np.subtract(1.0, z, out=z)[:, None]
    return scaled @ A


def dense(m: int, n: int, hidden: int) -> Workload:
    """Return the workload of an (m, n) Jacobian."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        A = rng.normal(size=(hidden, n)) / np.sqrt(n)
        B = rng.normal(size=(m, hidden)) / np.sqrt(hidden)
        return rng.normal(size=n), A, B

    return Workload(
        name=f"Jacobian {m} x {n}",
        derivative="jacobian",
        arguments=arguments,
        function=layers,
        by_hand=jacobian,
    )


WORKLOADS = (dense(100, 100, 100), dense(10, 1000, 100))
TINY = (dense(2, 5, 3), dense(3, 3, 4))
