"""Elements read one at a time in a loop; rows gathered, and added up, by repeated indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from docs.benchmarks.workloads.workload import Workload


def recursion(np_: Any, x: Any) -> Any:
    """Return the end of a recursion that no array operation replaces: s = sin(s) / 2 + x[i]."""
    s = x[0]
    for i in range(1, len(x)):
        s = np_.sin(s) * 0.5 + x[i]
    return s


def recursion_in_jax(jax: Any, x: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""

    def step(s: Any, number: Any) -> Any:
        return jax.numpy.sin(s) * 0.5 + number, None

    return jax.lax.scan(step, x[0], x[1:])[0]


def recursion_gradient(x: Any) -> Any:
    """Return the gradient of `recursion`, by Python numbers."""
    first, *numbers = x.tolist()
    states = [s := first]
    for number in numbers:
        states.append(s := math.sin(s) * 0.5 + number)
    g, gradient = 1.0, [1.0]
    for s in reversed(states[:-1]):
        gradient.append(g := g * 0.5 * math.cos(s))
    gradient.reverse()
    return np.array(gradient)


def embedding(np_: Any, table: Any, words: Any, targets: Any) -> Any:
    """Return the squared error of the rows of some words, which repeat."""
    return np_.sum((table[words] - targets) ** 2)


def summed_by(owners: Any, rows: Any, count: int) -> Any:
    """Return the sums of the rows of each owner, as a product with a sparse matrix of ones."""
    n = len(owners)
    belongs = scipy.sparse.csr_array((np.ones(n), owners, np.arange(n + 1)), shape=(n, count))
    return belongs.T @ rows


def embedding_gradient(table: Any, words: Any, targets: Any) -> Any:
    """Return the gradient in the table."""
    errors = table[words]
    errors -= targets
    errors *= 2.0
    return summed_by(words, errors, len(table))


def segments(np_: Any, x: Any, owners: Any, targets: Any) -> Any:
    """Return the squared error of sums of rows by owner."""
    sums = np_.zeros_like(x, shape=targets.shape)
    np_.add.at(sums, owners, np_.tanh(x))
    return np_.sum((sums - targets) ** 2)


def segments_in_jax(jax: Any, x: Any, owners: Any, targets: Any) -> Any:
    """Return the same in JAX."""
    sums = jax.numpy.zeros_like(targets).at[owners].add(jax.numpy.tanh(x))
    return jax.numpy.sum((sums - targets) ** 2)


def segments_in_torch(torch: Any, x: Any, owners: Any, targets: Any) -> Any:
    """Return the same in PyTorch."""
    sums = torch.zeros_like(targets).index_add(0, owners, torch.tanh(x))
    return torch.sum((sums - targets) ** 2)


def segments_gradient(x: Any, owners: Any, targets: Any) -> Any:
    """Return the gradient in x."""
    y = np.tanh(x)
    sums = summed_by(owners, y, len(targets))
    sums -= targets
    sums *= 2.0
    y *= y
    np.subtract(1.0, y, out=y)
    y *= sums[owners]
    return y


def springs(np_: Any, places: Any, ends: Any, lengths: Any) -> Any:
    """Return the energy of springs between pairs of places, (n, 3), given by two indices each."""
    stretch = places[ends[0]] - places[ends[1]]
    return np_.sum((np_.sqrt(np_.sum(stretch**2, axis=1)) - lengths) ** 2)


def springs_in_torch(torch: Any, places: Any, ends: Any, lengths: Any) -> Any:
    """Return the same in PyTorch."""
    stretch = places[ends[0]] - places[ends[1]]
    return torch.sum((torch.sqrt(torch.sum(stretch**2, dim=1)) - lengths) ** 2)


def springs_gradient(places: Any, ends: Any, lengths: Any) -> Any:
    """Return the gradient in the places."""
    start, end = ends
    forces = places[start]
    forces -= places[end]
    distances = np.sqrt(np.einsum("nd,nd->n", forces, forces))
    forces *= (2.0 - 2.0 * lengths / distances)[:, None]
    g = summed_by(start, forces, len(places))
    g -= summed_by(end, forces, len(places))
    return g


def reads(n: int) -> Workload:
    """Return the workload of n reads."""
    return Workload(
        name=f"reads in a loop, n = {n}",
        arguments=lambda rng: (rng.normal(size=n),),
        function=recursion,
        by_hand=recursion_gradient,
        in_autograd=lambda autograd, x: recursion(autograd.numpy, x),
        in_jax=recursion_in_jax,
        in_torch=lambda torch, x: recursion(torch, x),
        is_loop=True,
    )


def gather(words: int, rows: int, width: int) -> Workload:
    """Return the workload of an embedding."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        chosen = rng.integers(0, rows, words)
        return rng.normal(size=(rows, width)), chosen, rng.normal(size=(words, width))

    return Workload(
        name=f"embedding, {words} of {rows} x {width}",
        arguments=arguments,
        function=embedding,
        by_hand=embedding_gradient,
    )


def scatter(n: int, owners: int, width: int) -> Workload:
    """Return the workload of sums by owner."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        of_rows = rng.integers(0, owners, n)
        return rng.normal(size=(n, width)), of_rows, rng.normal(size=(owners, width))

    return Workload(
        name=f"sums by owner, {n} x {width} into {owners}",
        arguments=arguments,
        function=segments,
        by_hand=segments_gradient,
        in_jax=segments_in_jax,
        in_torch=segments_in_torch,
        left_out={"autograd": "it has no `np.add.at`"},
    )


def net(places: int, springs_of_it: int) -> Workload:
    """Return the workload of springs."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        start = rng.integers(0, places, springs_of_it)
        end = (start + rng.integers(1, places, springs_of_it)) % places
        ends = np.stack([start, end])
        return rng.normal(size=(places, 3)), ends, rng.uniform(0.5, 2.0, springs_of_it)

    return Workload(
        name=f"gathers, {springs_of_it} springs of {places} places",
        arguments=arguments,
        function=springs,
        by_hand=springs_gradient,
        in_torch=springs_in_torch,
    )


WORKLOADS = (
    reads(1000),
    reads(10_000),
    gather(8192, 5000, 64),
    scatter(50_000, 1000, 16),
    net(5000, 20_000),
)
TINY = (reads(5), gather(6, 3, 2), scatter(6, 3, 2), net(4, 6))
