"""The first call of a derivative: a function of thirty equations that nobody has seen before."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from docs.benchmarks.workloads.contestants import Contestant
from docs.benchmarks.workloads.workload import Workload

EQUATIONS: Final = 30
FUNCTIONS: Final = 15
TAKING_PART: Final = ("fd", "fd.jit", "autograd", "jax.jit", "torch")
STEPS: Final = ("sin", "cos", "tanh", "exp", "add", "mul", "square")


def new_function(rng: np.random.Generator) -> Workload:
    """Return the sum of a chain of equations drawn at random."""
    steps = rng.choice(STEPS, EQUATIONS - 1)

    def f(np_: Any, x: Any) -> Any:
        y = x
        for step in steps:
            if step == "add":
                y = y + x
            elif step == "mul":
                y = y * x
            else:
                y = getattr(np_, step)(y if step != "exp" else -y)
        return np_.sum(y)

    return Workload(name="a new function", arguments=lambda _: (), function=f, by_hand=lambda x: x)


def first_calls(contestants: Sequence[Contestant]) -> dict[str, float]:
    """Return the median time of the first call of each contestant, in seconds of CPU time."""
    rng, x = np.random.default_rng(0), np.linspace(0.1, 0.9, 10)
    taking_part = [c for c in contestants if c.name in TAKING_PART]
    times: dict[str, list[float]] = {c.name: [] for c in taking_part}
    for k in range(FUNCTIONS + 1):
        for c in taking_part:
            w = new_function(rng)  # for each its own: funcdiff's two ways share their programs
            start = time.process_time()
            c.make(w)(x)
            if k > 0:  # the first one loads the library
                times[c.name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}
