"""A chain of equations by the classical Runge-Kutta method: y₀' = x₀ and yᵢ' = xᵢ yᵢ₋₁ up to 2.

The result is the last element.  A step carries a number along the chain by four places at most, so
with n = 1000 and 100 steps it is zero, and so is the gradient; n = 100 shows that it need not be.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload

END = 2.0


def step(np_: Any, x: Any, y: Any, h: float) -> Any:
    """Return y after a step of length h."""

    def velocity(y: Any) -> Any:
        return np_.concatenate((x[:1], x[1:] * y[:-1]))

    k1 = velocity(y)
    k2 = velocity(y + h * k1 / 2.0)
    k3 = velocity(y + h * k2 / 2.0)
    k4 = velocity(y + h * k3)
    return y + h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0


def last(steps: int, np_: Any, x: Any) -> Any:
    """Return the last element of the solution; works in each library."""
    y = np_.zeros_like(x)
    for _ in range(steps):
        y = step(np_, x, y, END / steps)
    return y[-1]


def in_jax(steps: int, jax: Any, x: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""
    np_ = jax.numpy

    def body(y: Any, _: None) -> tuple[Any, None]:
        return step(np_, x, y, END / steps), None

    y, _ = jax.lax.scan(body, np_.zeros_like(x), length=steps)
    return y[-1]


def solved(steps: int, x: Any) -> tuple[Any, list[list[Any]]]:
    """Return the solution, and where velocities were taken in each step."""
    h, y, taken = END / steps, np.zeros_like(x), []
    for _ in range(steps):
        states: list[Any] = []
        slopes: list[Any] = []
        for ahead in (0.0, h / 2.0, h / 2.0, h):
            states.append(y + ahead * slopes[-1] if slopes else y)
            slopes.append(np.append(x[0], x[1:] * states[-1][:-1]))
        y = y + h * (slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3]) / 6.0
        taken.append(states)
    return y, taken


def gradient(steps: int, x: Any) -> Any:
    """Return the gradient by the discrete adjoint of the method."""
    h, (y, taken), g = END / steps, solved(steps, x), np.zeros_like(x)
    back = np.zeros_like(y)
    back[-1] = 1.0
    for states in reversed(taken):
        total, later = back, np.zeros_like(x)
        shares, ahead = (1.0, 2.0, 2.0, 1.0), (h / 2.0, h / 2.0, h, 0.0)
        for state, share, a in reversed(list(zip(states, shares, ahead, strict=True))):
            slope = h / 6.0 * share * back + a * later
            g += slope * np.append(1.0, state[:-1])
            later = np.append(slope[1:] * x[1:], 0.0)
            total = total + later
        back = total
    return g


def value(steps: int, x: Any) -> Any:
    """Return the last element of the solution."""
    return solved(steps, x)[0][-1]


def integration(n: int, steps: int) -> Workload:
    """Return the workload of n equations."""
    return Workload(
        name=f"ode, n = {n}, {steps} steps",
        arguments=lambda rng: (rng.uniform(size=n),),
        function=partial(last, steps),
        by_hand=partial(gradient, steps),
        in_jax=partial(in_jax, steps),
        is_loop=True,
    )


WORKLOADS = (integration(100, 100), integration(1000, 10), integration(1000, 100))
TINY = (integration(6, 3),)
