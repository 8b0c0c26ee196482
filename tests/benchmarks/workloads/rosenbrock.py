"""Rosenbrock's function: gradient, Hessian, and the Hessian times a vector.

H. Rosenbrock, "An automatic method for finding the greatest or least value of a function", The
Computer Journal 3(3), 1960.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.workloads.workload import Workload


def rosenbrock(np_: Any, x: Any) -> Any:
    """Return the sum of 100 (x₊ - x²)² + (1 - x)²."""
    return np_.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def gradient(x: Any) -> Any:
    """Return the gradient."""
    offset = x[1:] - x[:-1] ** 2
    g = np.zeros_like(x)
    g[:-1] = -400.0 * x[:-1] * offset - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * offset
    return g


def hvp(x: Any, v: Any) -> Any:
    """Return the Hessian times `v`."""
    a, b = x[:-1], x[1:]
    product = np.zeros_like(x)
    product[:-1] = (1200.0 * a**2 - 400.0 * b + 2.0) * v[:-1] - 400.0 * a * v[1:]
    product[1:] += 200.0 * v[1:] - 400.0 * a * v[:-1]
    return product


def hessian(x: Any) -> Any:
    """Return the Hessian, which is tridiagonal, as a full matrix."""
    a, b = x[:-1], x[1:]
    H = np.diag(-400.0 * a, 1) + np.diag(-400.0 * a, -1)
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 1200.0 * a**2 - 400.0 * b + 2.0
    diagonal[1:] += 200.0
    return H + np.diag(diagonal)


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
    *map(of_gradient, (10, 1000)),
    *map(of_hvp, (10, 1000)),
    *map(of_hessian, (10, 100)),
)
TINY = (of_gradient(4), of_hvp(4), of_hessian(4))
