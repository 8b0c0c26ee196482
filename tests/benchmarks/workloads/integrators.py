"""The classical Runge-Kutta method through an equation of predators and prey, and its gradient.

The equation is the generalised one of Lotka and Volterra, y' = y (r + A y).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import funcdiff as fd
from tests.benchmarks.workloads.workload import Workload


class Path(NamedTuple):
    """A number of steps of equal length."""

    steps: int
    h: float


def rk4_step(parameters: Any, y: Any, h: float) -> Any:
    """Return y after a step of length h."""
    r, A = parameters

    def velocity(y: Any) -> Any:
        return y * (r + A @ y)

    k1 = velocity(y)
    k2 = velocity(y + 0.5 * h * k1)
    k3 = velocity(y + 0.5 * h * k2)
    k4 = velocity(y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def looped(np_: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the squared distance of the last state from a target; works in each library."""
    for _ in range(path.steps):
        y = rk4_step(parameters, y, path.h)
    return np_.sum((y - target) ** 2)


def scanned(np_: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the same by `fd.scan`."""
    y, _ = fd.scan(lambda y, _: (rk4_step(parameters, y, path.h), None), y, length=path.steps)
    return np_.sum((y - target) ** 2)


def scanned_in_jax(jax: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""
    y, _ = jax.lax.scan(lambda y, _: (rk4_step(parameters, y, path.h), None), y, length=path.steps)
    return jax.numpy.sum((y - target) ** 2)


def gradient(path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the gradient in r and A by the discrete adjoint of the method."""
    (r, A), h = parameters, path.h
    tape = []
    for _ in range(path.steps):
        rate1 = r + A @ y
        y2 = y + 0.5 * h * (k1 := y * rate1)
        rate2 = r + A @ y2
        y3 = y + 0.5 * h * (k2 := y2 * rate2)
        rate3 = r + A @ y3
        y4 = y + h * (k3 := y3 * rate3)
        rate4 = r + A @ y4
        tape.append((y, y2, y3, y4, rate1, rate2, rate3, rate4))
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + y4 * rate4)
    g_r, g_A, g = np.zeros_like(r), np.zeros_like(A), 2.0 * (y - target)
    for y, y2, y3, y4, rate1, rate2, rate3, rate4 in reversed(tape):
        w4 = (g4 := h / 6.0 * g) * y4
        v4 = g4 * rate4 + w4 @ A
        w3 = (g3 := h / 3.0 * g + h * v4) * y3
        v3 = g3 * rate3 + w3 @ A
        w2 = (g2 := h / 3.0 * g + 0.5 * h * v3) * y2
        v2 = g2 * rate2 + w2 @ A
        w1 = (g1 := h / 6.0 * g + 0.5 * h * v2) * y
        g = g + g1 * rate1 + w1 @ A + v2 + v3 + v4
        g_r += w1 + w2 + w3 + w4
        g_A += np.array([w1, w2, w3, w4]).T @ np.array([y, y2, y3, y4])
    return g_r, g_A


def integration(path: Path, *, scan: bool) -> Workload:
    """Return the workload of a path."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        r, A = np.array([1.1, -0.4]), np.array([[0.0, -0.4], [0.1, 0.0]])
        return (r, A), rng.uniform(1.0, 2.0, 2), np.ones(2)

    def by_loop(np_: Any, *rest: Any) -> Any:
        return looped(np_, path, *rest)

    def by_scan(np_: Any, *rest: Any) -> Any:
        return scanned(np_, path, *rest)

    def by_jax_scan(jax: Any, *rest: Any) -> Any:
        return scanned_in_jax(jax, path, *rest)

    left_out = {
        "jax.jit": "its 21,000 equations take minutes to compile",
        "jax": "a call takes many seconds",
    }
    return Workload(
        name=f"Runge-Kutta, {path.steps} steps, {'scan' if scan else 'loop'}",
        arguments=arguments,
        function=by_scan if scan else by_loop,
        by_hand=partial(gradient, path),
        in_autograd=lambda autograd, *rest: by_loop(autograd.numpy, *rest),
        in_jax=by_jax_scan if scan else None,
        in_torch=by_loop,
        left_out={} if scan else left_out,
    )


WORKLOADS = tuple(integration(Path(1000, 0.01), scan=scan) for scan in (False, True))
TINY = tuple(integration(Path(4, 0.01), scan=scan) for scan in (False, True))
