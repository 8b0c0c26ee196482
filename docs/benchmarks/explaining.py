"""What a report costs, as a multiple of the gradient that it is of.

Run ``python -m docs.benchmarks.explaining [name ...]``.  A report traces its call with lines, so
that it is compared with two gradients: the first one of a function that was never seen, beside the
first report of another such function, and a warm one, beside a report of what has been reported
before.  Reports are printed, too, if to nowhere.  The four take turns in one process; medians of
their CPU time are shown.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import funcdiff as fd

OPERATIONS: Final[list[Callable[[Any], Any]]] = [
    np.sin, np.cos, np.tanh, lambda y: y * 0.9, lambda y: y + 0.1, lambda y: y * y,
]  # fmt: skip
"""What the functions are drawn from."""


def chain(length: int, seed: int) -> Callable[[Any], Any]:
    """Return a function of so many operations in a Python loop."""
    drawn = np.random.default_rng(seed).integers(0, len(OPERATIONS), length)

    def f(x: Any) -> Any:
        for k in drawn:
            x = OPERATIONS[k](x)
        return np.sum(x)

    return f


def loss(seed: int) -> Callable[[Any], Any]:
    """Return a short formula; each seed draws other operations."""
    first, second, third = (
        OPERATIONS[k] for k in np.random.default_rng(seed).integers(0, len(OPERATIONS), 3)
    )

    def f(x: Any) -> Any:
        y = first(x) * second(x)
        residual = third(y) - 0.5
        return np.sum(residual**2) / (2.0 + seed)

    return f


def fault(seed: int) -> Callable[[Any], Any]:
    """Return a function of 300 operations with an infinite derivative."""
    rest = chain(300, seed)
    return lambda x: rest(np.sqrt(x - x[0]))


def scan(rows: int, columns: int) -> Callable[[Any], Any]:
    """Return a loop over short rows."""
    table = np.linspace(0.0, 1.0, rows * columns).reshape(rows, columns)

    def f(x: Any) -> Any:
        def step(level: Any, row: Any) -> Any:
            level = np.tanh(level * 0.9 + row)
            return level, np.sum(level)

        return np.sum(fd.scan(step, x, table)[1])

    return f


PROGRAMS: Final[dict[str, tuple[Callable[[int], Callable[[Any], Any]], int, int]]] = {
    "ten numbers": (loss, 10, 60),
    "300 operations": (lambda seed: chain(300, seed), 10, 15),
    "a fault among 300": (fault, 10, 7),
    "1e3 elements": (loss, 1_000, 60),
    "1e5 elements": (loss, 100_000, 20),
    "1e6 elements": (loss, 1_000_000, 7),
    "scan of 20 rows": (lambda seed: scan(20 + seed, 5), 5, 20),
    "scan of 200 rows": (lambda seed: scan(200 + seed, 5), 5, 20),
}
"""By name, functions by seed, the number of elements of the argument, and of turns."""


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call, which may meet what is not finite."""
    with np.errstate(all="ignore"):
        start = time.process_time()
        call()
        return time.process_time() - start


def measured(make: Callable[[int], Callable[[Any], Any]], size: int, turns: int) -> list[float]:
    """Return times of the first gradient and report, and of warm ones."""
    x = np.linspace(-1.0, 1.0, size)
    known = make(0)
    for _ in range(8):  # what is seen again is compiled
        seconds(lambda: fd.grad(known)(x))
        str(fd.explain(fd.grad(known))(x))
    found: list[list[float]] = [[], [], [], []]
    for turn in range(turns):
        unseen, other = make(2 * turn + 1), make(2 * turn + 2)
        calls: list[Callable[[], Any]] = [
            lambda f=unseen: fd.grad(f)(x),  # type: ignore[misc]
            lambda f=other: str(fd.explain(fd.grad(f))(x)),  # type: ignore[misc]
            lambda: fd.grad(known)(x),
            lambda: str(fd.explain(fd.grad(known))(x)),
        ]
        for times, call in zip(found, calls, strict=True):
            times.append(seconds(call))
    return [statistics.median(times) for times in found]


if __name__ == "__main__":
    chosen = sys.argv[1:] or PROGRAMS
    fd.explain(fd.grad(np.sum))(np.ones(3))  # loads what all share
    print(f"{'':>18} {'first gradient':>14} {'report':>10} {'':>6} "
          f"{'warm gradient':>14} {'report':>10}")  # fmt: skip
    for name in chosen:
        cold, told, warm, again = measured(*PROGRAMS[name])
        print(f"{name:>18} {cold * 1e3:11.3f} ms {told * 1e3:7.2f} ms {told / cold:5.1f}x "
              f"{warm * 1e3:11.3f} ms {again * 1e3:7.2f} ms {again / warm:5.1f}x")  # fmt: skip
