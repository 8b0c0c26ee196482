"""Rosenbrock's function: gradient, Hessian, and the Hessian times a vector.

H. Rosenbrock, "An automatic method for finding the greatest or least value of a function", The
Computer Journal 3(3), 1960.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def rosenbrock(np_: Any, x: Any) -> Any:
    """Return the sum of 100 (x₊ - x²)² + (1 - x)²."""
    return np_.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def in_a_loop(np_: Any, x: Any) -> Any:
    """Return the same, written element by element."""
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def loop_in_jax(jax: Any, x: Any) -> Any:
    """Return the same by a loop of JAX's."""

    def body(i: Any, total: Any) -> Any:
        return total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2

    return jax.lax.fori_loop(0, len(x) - 1, body, 0.0)


def gradient(x: Any) -> Any:
    """Return the gradient."""
    a = x[:-1]
    offset = a * a
    np.subtract(x[1:], offset, out=offset)
    g = np.empty_like(x)
    first = np.multiply(a, offset, out=g[:-1])
    first *= -400.0
    first += 2.0 * a
    first -= 2.0
    g[-1] = 0.0
    offset *= 200.0
    g[1:] += offset
    return g


def hvp(x: Any, v: Any) -> Any:
    """Return the Hessian times `v`."""
    a = x[:-1]
    beside = -400.0 * a
    product = np.empty_like(x)
    first = np.multiply(a, a, out=product[:-1])
    first *= 1200.0
    first -= 400.0 * x[1:]
    first += 2.0
    first *= v[:-1]
    first += beside * v[1:]
    product[-1] = 0.0
    beside *= v[:-1]
    beside += 200.0 * v[1:]
    product[1:] += beside
    return product


def hessian(x: Any) -> Any:
    """Return the Hessian, which is tridiagonal, as a full matrix."""
    n, a = len(x), x[:-1]
    H = np.zeros((n, n))
    entries = H.reshape(-1)
    beside = -400.0 * a
    entries[1 :: n + 1] = beside
    entries[n :: n + 1] = beside
    diagonal = a * a
    diagonal *= 1200.0
    diagonal -= 400.0 * x[1:]
    diagonal += 2.0
    diagonal[1:] += 200.0
    entries[: -1 : n + 1] = diagonal
    entries[-1] = 200.0
    return H


def of_loop(n: int) -> Workload:
    """Return the workload of the gradient of a loop."""
    return Workload(
        name=f"Rosenbrock gradient in a loop, n = {n}",
        arguments=lambda rng: (rng.normal(size=n),),
        function=in_a_loop,
        by_hand=gradient,
        in_jax=loop_in_jax,
        in_torch=lambda torch, x: in_a_loop(torch, x),
        is_loop=True,
    )


def of_gradient(n: int) -> Workload:
    """Return the workload of the gradient."""
    return Workload(
        name=f"Rosenbrock gradient, n = {n}",
        arguments=lambda rng: (rng.normal(size=n),),
        function=rosenbrock,
        by_hand=gradient,
    )


def of_hvp(n: int) -> Workload:
    """Return the workload of the product."""
    return Workload(
        name=f"Rosenbrock Hessian times vector, n = {n}",
        derivative="hvp",
        arguments=lambda rng: (rng.normal(size=n), rng.normal(size=n)),
        function=rosenbrock,
        by_hand=hvp,
    )


def of_hessian(n: int) -> Workload:
    """Return the workload of the Hessian."""
    return Workload(
        name=f"Rosenbrock Hessian, n = {n}",
        derivative="hessian",
        arguments=lambda rng: (rng.normal(size=n),),
        function=rosenbrock,
        by_hand=hessian,
    )


WORKLOADS = (
    *map(of_gradient, (10, 100, 1000)),
    *map(of_hvp, (10, 1000)),
    *map(of_hessian, (10, 100)),
    of_loop(100),
)
TINY = (of_gradient(4), of_hvp(4), of_hessian(4), of_loop(4))
