"""Elements read one at a time in a loop; rows gathered, and added up, by repeated indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.benchmarks.workloads.workload import Workload


def recursion(np_: Any, x: Any) -> Any:
    """Return the end of a recursion that no array operation replaces: s = sin(s) / 2 + x[i]."""
    s = x[0]
    for i in range(1, len(x)):
        s = np_.sin(s) * 0.5 + x[i]
    return s


def recursion_gradient(x: Any) -> Any:
    """Return the gradient of `recursion`, by Python numbers."""
    numbers = x.tolist()
    states = [s := numbers[0]]
    for number in numbers[1:]:
        states.append(s := math.sin(s) * 0.5 + number)
    g, gradient = 1.0, [0.0] * len(numbers)
    for i in range(len(numbers) - 1, 0, -1):
        gradient[i] = g
        g *= 0.5 * math.cos(states[i - 1])
    gradient[0] = g
    return np.array(gradient)


def embedding(np_: Any, table: Any, words: Any, targets: Any) -> Any:
    """Return the squared error of the rows of some words, which repeat."""
    return np_.sum((table[words] - targets) ** 2)


def embedding_gradient(table: Any, words: Any, targets: Any) -> Any:
    """Return the gradient in the table."""
    g = np.zeros_like(table)
    np.add.at(g, words, 2.0 * (table[words] - targets))
    return g


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
    sums = np.zeros_like(targets)
    np.add.at(sums, owners, y)
    return (2.0 * (sums - targets))[owners] * (1.0 - y * y)


def reads(n: int) -> Workload:
    """Return the workload of n reads."""
    left_out = {
        "jax.jit": "it takes minutes to compile the loop",
        "jax": "it compiles an operation for each index, which takes minutes",
    }
    return Workload(
        name=f"reads in a loop, n = {n}",
        arguments=lambda rng: (rng.normal(size=n),),
        function=recursion,
        by_hand=recursion_gradient,
        left_out=left_out if n >= 1000 else {},
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


WORKLOADS = (reads(1000), reads(10_000), gather(8192, 5000, 64), scatter(50_000, 1000, 16))
TINY = (reads(5), gather(6, 3, 2), scatter(6, 3, 2))
