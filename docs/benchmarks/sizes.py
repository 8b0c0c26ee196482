"""Warm gradients against HIPS autograd's from tiny to large: a chain of functions, and a network.

Run ``python docs/benchmarks/sizes.py`` with ``pip install -e ".[bench]"``.  Both are timed in one
process, in turn; the smallest of the rounds is taken, and the ratio is what counts.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import funcdiff as fd

try:
    import autograd
    import autograd.numpy as autograd_numpy
except ModuleNotFoundError:
    autograd = None

ROUNDS, WORK = 5, 200_000


def chain(np_: Any, x: Any) -> Any:
    """Return the sum of five rounds of elementwise functions."""
    for _ in range(5):
        x = np_.sin(x) * 0.5 + np_.tanh(x) * 1.3 - x * x * 0.01
    return np_.sum(x)


def network(np_: Any, layers: Any, pixels: Any, targets: Any) -> Any:
    """Return the cross-entropy of a network with tanh layers."""
    hidden = pixels
    for weights, bias in layers[:-1]:
        hidden = np_.tanh(np_.dot(hidden, weights) + bias)
    scores = np_.dot(hidden, layers[-1][0]) + layers[-1][1]
    scores = scores - np_.max(scores, axis=1, keepdims=True)
    normalized = scores - np_.log(np_.sum(np_.exp(scores), axis=1, keepdims=True))
    return -np_.mean(np_.sum(targets * normalized, axis=1))


def compare(name: str, f: Callable[..., Any], args: tuple[Any, ...], size: int) -> None:
    """Print the time of both gradients of ``f(np, *args)`` and their ratio."""
    ours = fd.grad(lambda *a: f(np, *a))
    peer = autograd.grad(lambda *a: f(autograd_numpy, *a))
    ours(*args)
    peer(*args)
    calls = max(1, min(100, WORK // size))

    def fastest(g: Callable[..., Any]) -> float:
        return min(timeit.repeat(lambda: g(*args), number=calls, repeat=ROUNDS)) / calls * 1e6

    times = [fastest(ours), fastest(peer)]
    print(f"{name:20} funcdiff {times[0]:9.0f} µs   autograd {times[1]:9.0f} µs"
          f"   {times[1] / times[0]:5.2f} x")  # fmt: skip


def main() -> None:
    """Print the figures."""
    if autograd is None:
        raise SystemExit('this compares with autograd: python -m pip install -e ".[bench]"')
    for n in (10, 1000, 100_000, 1_000_000):
        compare(f"chain, n = {n}", chain, (np.linspace(0.1, 1, n),), n)
    rng = np.random.default_rng(0)
    widths = (64, 128, 10)
    layers = [(rng.normal(size=(a, b)) * 0.1, np.zeros(b)) for a, b in pairwise(widths)]
    for batch in (32, 256, 8192):
        pixels = rng.normal(size=(batch, 64))
        targets = np.eye(10)[rng.integers(0, 10, batch)]
        compare(f"network, batch {batch}", network, (layers, pixels, targets), batch * 100)


if __name__ == "__main__":
    main()
