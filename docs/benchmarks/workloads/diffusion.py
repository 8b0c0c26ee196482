"""The three diagonals of a Jacobian by three products with vectors, as A. Curtis et al. color them.

A. Curtis, M. Powell, J. Reid, "On the estimation of sparse Jacobian matrices", IMA Journal of
Applied Mathematics 13(1), 1974; the function is one-dimensional diffusion whose conductivity
grows with the square of the temperature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def warming(np_: Any, u: Any) -> Any:
    """Return the rates at n places between two that are kept at zero."""
    padded = np_.concatenate((np_.zeros_like(u[:1]), u, np_.zeros_like(u[:1])))
    middle = 0.5 * (padded[1:] + padded[:-1])
    flux = (1.0 + middle * middle) * (padded[1:] - padded[:-1])
    return flux[1:] - flux[:-1]


def compressed(u: Any, *_: Any) -> Any:
    """Return the Jacobian times the sums of every third unit vector, beginning at 0, 1 and 2."""
    padded = np.zeros(len(u) + 2)
    padded[1:-1] = u
    left, right = padded[:-1], padded[1:]
    middle = left + right
    middle *= 0.5
    step = right - left
    step *= middle
    middle *= middle
    middle += 1.0
    to_right = step + middle  # of each flux in the temperature to its right, and to its left
    to_left = np.subtract(step, middle, out=step)
    diagonal = to_left[1:] - to_right[:-1]
    above, below = to_right[1:], np.negative(to_left[:-1], out=middle[:-1])
    above[-1] = below[0] = 0.0
    products = []
    for k in range(3):
        y = np.empty_like(u)
        y[k::3] = diagonal[k::3]
        y[(k - 1) % 3 :: 3] = above[(k - 1) % 3 :: 3]
        y[(k + 1) % 3 :: 3] = below[(k + 1) % 3 :: 3]
        products.append(y)
    return products


def rod(n: int) -> Workload:
    """Return the workload of n places."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        colours = [(np.arange(n) % 3 == k).astype(np.float64) for k in range(3)]
        return rng.normal(size=n), *colours

    return Workload(
        name=f"tridiagonal Jacobian by three products, n = {n}",
        derivative="jvps",
        arguments=arguments,
        function=warming,
        by_hand=compressed,
    )


WORKLOADS = (rod(1000), rod(100_000))
TINY = (rod(5),)
