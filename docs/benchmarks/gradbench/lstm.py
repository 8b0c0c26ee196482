"""The loss of a long short-term memory that foretells letters, whose weights are vectors.

The model is that of the benchmark `letters` and is taken from there; here its steps are a loop of
Python's, and the loss is a mean over bits, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads import letters
from docs.benchmarks.workloads.trees import converted
from docs.benchmarks.workloads.workload import Workload


def loss(np_: Any, parameters: Any, state: Any, bits: Any) -> Any:
    """Return the loss; works in each library."""
    return letters.looped(np_, parameters, state, bits) / bits.shape[1]


def in_jax(jax: Any, parameters: Any, state: Any, bits: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""
    return letters.scanned_in_jax(jax, parameters, state, bits) / bits.shape[1]


def gradient(parameters: Any, state: Any, bits: Any) -> Any:
    """Return the gradient, layer by layer."""
    return converted(lambda g: g / bits.shape[1], letters.gradient(parameters, state, bits))


def value(parameters: Any, state: Any, bits: Any) -> Any:
    """Return the loss, bit by bit."""
    _, d = bits.shape
    (w_in, w_out, b_out), total = parameters["ends"], 0.0
    hidden, cell = ([list(s[i]) for s in state] for i in range(2))

    def sigmoid(z: Any) -> Any:
        return (1.0 + np.tanh(z / 2.0)) / 2.0

    for t in range(len(bits) - 1):
        y = np.empty(d)
        for i in range(d):
            x = bits[t, i] * w_in[i]
            for k, (w, b) in enumerate(parameters["layers"]):
                forget, leave = (sigmoid(x * w[g, i] + b[g, i]) for g in (0, 2))
                enter = sigmoid(hidden[k][i] * w[1, i] + b[1, i])
                proposed = np.tanh(hidden[k][i] * w[3, i] + b[3, i])
                cell[k][i] = cell[k][i] * forget + enter * proposed
                x = hidden[k][i] = leave * np.tanh(cell[k][i])
            y[i] = x * w_out[i] + b_out[i]
        total += bits[t + 1] @ (y - np.log(2.0 + np.sum(np.exp(y))))
    return -total / (d * (len(bits) - 1))


def memory(steps: int, d: int = 14) -> Workload:
    """Return the workload of a number of letters with d bits each."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        layers = [(rng.uniform(size=(4, d)), rng.uniform(size=(4, d))) for _ in range(2)]
        state = [(rng.uniform(size=d), rng.uniform(size=d)) for _ in range(2)]
        bits = rng.integers(0, 2, (steps, d)).astype(np.float64)
        return {"layers": layers, "ends": rng.uniform(size=(3, d))}, state, bits

    return Workload(
        name=f"lstm, {steps} letters",
        arguments=arguments,
        function=loss,
        by_hand=gradient,
        in_jax=in_jax,
        is_loop=True,
    )


WORKLOADS = (memory(128), memory(1024))
TINY = (memory(3, 4),)
