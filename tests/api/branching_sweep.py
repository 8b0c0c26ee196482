"""Holds compiled random programs that branch against the plain ones, on very many inputs.

``python -m tests.api.branching_sweep 0 500 --inputs 10000`` compares the values of every input,
and gradient and Hessian of every fiftieth and of each that is the first or second on its way.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd
from tests.api.branching import loop_program, program

Function = Callable[[Any], Any]


@dataclass
class Count:
    """What has been compared, and what was wrong."""

    values: int = 0
    derivatives: int = 0
    ways: int = 0
    faults: int = 0


def inputs(seed: int, count: int) -> Iterator[NDArray[np.float64]]:
    """Draw arguments of one size, of different scales so that they take different ways."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([1, 2, 3, 5]))
    for _ in range(count):
        yield rng.normal(size=size) * rng.choice([0.3, 1.0, 3.0])


def compare(f: Function, seed: int, arguments: int, found: Count) -> Iterator[str]:
    """Give a line for every input at which a compiled function and the plain one differ."""
    value = fd.jit(f)
    derivatives: list[tuple[Function, Function]] = [
        (fd.jit(fd.grad(f)), fd.grad(f)),
        (fd.jit(fd.hessian(f)), fd.hessian(f)),
    ]
    leaves = recent = 0
    for k, x in enumerate(inputs(seed, arguments)):
        found.values += 1
        if not _agree(value(x), f(x), 1e-9):
            yield f"value at {x!r}"
        known = value.cache_info().leaves
        recent = 2 if known != leaves else max(recent - 1, 0)
        leaves = known
        if recent or k % 50 == 0:
            found.derivatives += 1
            for compiled, plain in derivatives:
                if not _agree(compiled(x), plain(x), 1e-7):
                    yield f"{compiled} at {x!r}"
    found.ways += leaves


def _agree(found: Any, expected: Any, tolerance: float) -> bool:
    return bool(np.allclose(found, expected, tolerance, tolerance, equal_nan=True))


def main() -> int:
    """Compare the programs of a range of seeds, and return how many inputs were wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--loops", action="store_true", help="programs with rolled loops")
    chosen = parser.parse_args()
    found = Count()
    warnings.simplefilter("ignore")
    for seed in range(chosen.first, chosen.last):
        f, text = (loop_program if chosen.loops else program)(seed)
        with np.errstate(all="ignore"):
            for fault in compare(f, seed, chosen.inputs, found):
                found.faults += 1
                print(f"seed {seed}: {fault}\n{text}", flush=True)
        fd.clear_caches()
        print(seed, found, flush=True)
    return found.faults


if __name__ == "__main__":
    sys.exit(min(main(), 1))
