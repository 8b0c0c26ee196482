"""A step of Newton's method towards the centres of clusters: gradient by diagonal of the Hessian.

The Hessian is diagonal, so its product with a vector of ones is its diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Workload


def cost(np_: Any, centres: Any, points: Any) -> Any:
    """Return the sum of squared distances of the points from their nearest centres."""
    products = centres @ points.T
    squares = np_.sum(centres**2, 1)[:, None] + np_.sum(points**2, 1) - 2.0 * products
    return np_.sum(np_.amin(squares, 0))


def direction(np_: Any, centres: Any, points: Any) -> Any:
    """Return Newton's step."""
    gradient = fd.grad(lambda centres: cost(np_, centres, points))
    slope, diagonal = fd.jvp(gradient, (centres,), (np_.ones_like(centres),))
    return slope / diagonal


def in_autograd(autograd: Any, centres: Any, points: Any) -> Any:
    """Return the same by two ways back."""
    np_ = autograd.numpy

    def of_centres(centres: Any) -> Any:
        return cost(np_, centres, points)

    diagonal = autograd.make_hvp(of_centres)(centres)[0](np_.ones_like(centres))
    return autograd.grad(of_centres)(centres) / diagonal


def in_jax(jax: Any, centres: Any, points: Any) -> Any:
    """Return the same in JAX."""
    gradient = jax.grad(lambda centres: cost(jax.numpy, centres, points))
    slope, diagonal = jax.jvp(gradient, (centres,), (jax.numpy.ones_like(centres),))
    return slope / diagonal


def in_torch(torch: Any, centres: Any, points: Any) -> Any:
    """Return the same in PyTorch."""
    gradient = torch.func.grad(lambda centres: cost(torch, centres, points))
    slope, diagonal = torch.func.jvp(gradient, (centres,), (torch.ones_like(centres),))
    return slope / diagonal


def reference(centres: Any, points: Any) -> Any:
    """Return how far the centres are from the means of their points."""
    nearest = value_and_owners(centres, points)[1]
    means = [points[nearest == k].mean(axis=0) for k in range(len(centres))]
    return centres - np.stack(means)


def value_and_owners(centres: Any, points: Any) -> tuple[Any, Any]:
    """Return the sum of squared distances, and the nearest centre of each point."""
    squares = ((centres[:, None] - points) ** 2).sum(axis=-1)
    return squares.min(axis=0).sum(), squares.argmin(axis=0)


def clusters(k: int, n: int, d: int) -> Workload:
    """Return the workload of k centres for n points of d numbers."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        points = rng.uniform(size=(n, d))
        return points[-k:].copy(), points

    return Workload(
        name=f"kmeans, k = {k}, n = {n}, d = {d}",
        derivative="value",
        arguments=arguments,
        function=direction,
        by_hand=reference,
        in_autograd=in_autograd,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = (clusters(10, 1000, 8), clusters(100, 10_000, 8))
TINY = (clusters(2, 7, 3),)
