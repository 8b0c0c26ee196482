"""Memory of the gradient of a long chain: as written, and checkpointed in segments.

Run ``python docs/benchmarks/memory.py``.  Memory is counted in arrays of the size of the operand,
so the numbers are the same on every machine.
"""

from __future__ import annotations

import math
import timeit
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcdiff as fd

SIZE = 2_000_000
LAYERS = (10, 50)


def layers(count: int) -> Callable[[Any], Any]:
    """Return a chain of some layers."""

    def chain(x: Any) -> Any:
        for _ in range(count):
            x = np.sin(x) * 0.9
        return x

    return chain


def whole(count: int) -> Callable[[Any], Any]:
    """Return the sum of a chain, every value of which is kept."""
    return lambda x: np.sum(layers(count)(x))


def segmented(count: int) -> Callable[[Any], Any]:
    """Return the sum of a chain in segments of about the square root of its length."""
    length = math.isqrt(count)

    def chain(x: Any) -> Any:
        for start in range(0, count, length):
            x = fd.checkpoint(layers(min(length, count - start)))(x)
        return np.sum(x)

    return chain


def peak(f: Callable[[Any], Any], x: Any) -> float:
    """Return the most memory that the gradient holds at a time, in arrays like `x`."""
    fd.grad(f)(x)
    tracemalloc.start()
    fd.grad(f)(x)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(most / x.nbytes)


def main() -> None:
    """Print memory and time for several lengths."""
    x = np.ones(SIZE)
    print(f"{'layers':>6} {'arrays held':>12} {'in segments':>12} {'time ratio':>11}")
    for count in LAYERS:
        held, times = [], []
        for f in (whole(count), segmented(count)):
            held.append(peak(f, x))
            times.append(min(timeit.repeat(partial(fd.grad(f), x), number=1, repeat=2)))
        print(f"{count:6} {held[0]:12.1f} {held[1]:12.1f} {times[1] / times[0]:11.2f}")


if __name__ == "__main__":
    main()
