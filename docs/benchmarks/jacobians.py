"""What a dense Jacobian costs in one batched pass, as a multiple of one ``vjp`` for each row.

Run ``python docs/benchmarks/jacobians.py``.  A network of two layers maps n numbers to n; the
Jacobian in each mode, in chunks and in one pass, is timed warm against n separate calls of `vjp`,
and against n calls of one pullback.  The smallest of the rounds is taken.
"""

from __future__ import annotations

import sys
import timeit
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import funcdiff as fd

SIZES, ROUNDS, CHUNK = (30, 100, 300), 7, 10


def network(n: int) -> Callable[[Any], Any]:
    """Return a function from n numbers to n, whose Jacobian is dense."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, n, n)) / np.sqrt(n)
    return lambda x: np.tanh(B @ np.tanh(A @ x))


def contestants(n: int) -> dict[str, Callable[[], Any]]:
    """Return the ways to the Jacobian, by name; the first is what the others are compared with."""
    f, x, rows = network(n), np.linspace(-1.0, 1.0, n), np.eye(n)
    pullback = fd.vjp(f, x)[1]
    return {
        f"{n} calls of vjp": lambda: np.stack([fd.vjp(f, x)[1](row)[0] for row in rows]),
        f"{n} calls of one pullback": lambda: np.stack([pullback(row)[0] for row in rows]),
        "jacrev": lambda: fd.jacrev(f)(x),
        "jacfwd": lambda: fd.jacfwd(f)(x),
        f"jacobian, chunks of {CHUNK}": lambda: fd.jacobian(f, chunk_size=CHUNK)(x),
    }


def seconds(call: Callable[[], Any]) -> float:
    """Return the smallest time of a call; the first calls are not counted."""
    call()
    number = max(1, int(0.02 / timeit.timeit(call, number=1)))
    return min(timeit.repeat(call, number=number, repeat=ROUNDS)) / number


def peak(call: Callable[[], Any]) -> int:
    """Return the largest memory that a call holds, in bytes."""
    tracemalloc.start()
    call()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def main() -> None:
    """Print the figures."""
    for n in SIZES:
        calls = contestants(n)
        expected, *others = [call() for call in calls.values()]
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-14)
        times = {name: seconds(call) for name, call in calls.items()}
        reference = next(iter(times.values()))
        print(f"Jacobian {n} x {n}")
        for name, time in times.items():
            print(
                f"  {name:28s} {time * 1e3:9.3f} ms   1/{reference / time:<6.1f}"
                f"   peak {peak(calls[name]) / 1e6:7.2f} MB"
            )


if __name__ == "__main__":
    main()
