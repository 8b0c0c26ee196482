"""Whole scripts, from the start of Python to the end, with funcdiff and with HIPS autograd.

Run ``python -m docs.benchmarks.scripts``, with autograd installed (``pip install -e ".[bench]"``).
Each script is a process of its own, which imports a library and trains a small model with plain
gradients; the libraries take turns, and the medians of CPU and wall time are printed.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy

Grad = Callable[[Callable[..., Any]], Callable[..., Any]]


def regression(np: Any, grad: Grad) -> float:
    """Fit a logistic regression by a hundred steps of gradient descent."""
    inputs = numpy.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.3], [0.7, 3, 2]])
    targets = numpy.array([True, True, False, True])

    def loss(weights: Any) -> Any:
        p = 0.5 * (np.tanh(np.dot(inputs, weights)) + 1)
        return -np.sum(np.log(p * targets + (1 - p) * (1 - targets)))

    weights = numpy.zeros(3)
    gradient = grad(loss)
    for _ in range(100):
        weights = weights - 0.01 * gradient(weights)
    return float(loss(weights))


def network(np: Any, grad: Grad) -> float:
    """Train a network of three layers on batches of random pictures, with momentum."""
    rng = numpy.random.default_rng(0)
    sizes = [196, 100, 50, 10]
    layers = [(0.1 * rng.normal(size=(m, n)), numpy.zeros(n)) for m, n in itertools.pairwise(sizes)]
    pictures, labels = rng.normal(size=(2000, 196)), numpy.eye(10)[rng.integers(0, 10, 2000)]

    def loss(layers: Any, x: Any, y: Any) -> Any:
        for w, b in layers:
            z = np.dot(x, w) + b
            x = np.tanh(z)
        z = z - np.max(z, axis=1, keepdims=True)
        norms = sum(np.sum(w**2) + np.sum(b**2) for w, b in layers)
        return 1e-3 * norms - np.mean(np.sum(y * z, axis=1) - np.log(np.sum(np.exp(z), axis=1)))

    gradient = grad(loss)
    speeds = [(0 * w, 0 * b) for w, b in layers]
    for k in range(300):
        batch = slice(100 * (k % 20), 100 * (k % 20) + 100)
        found = gradient(layers, pictures[batch], labels[batch])
        speeds = [
            (0.9 * v - 0.1 * dw, 0.9 * u - 0.1 * db)
            for (v, u), (dw, db) in zip(speeds, found, strict=True)
        ]
        layers = [
            (w + 0.1 * v, b + 0.1 * u)
            for (w, b), (v, u) in zip(layers, speeds, strict=True)
        ]  # fmt: skip
    return float(loss(layers, pictures, labels))


LETTERS, HIDDEN, LENGTH, BATCH = 64, 40, 30, 20


def train_on_letters(
    np: Any, grad: Grad, shapes: dict[str, tuple[int, int]], start: Any, cell: Callable[..., Any]
) -> float:
    """Train ``cell(weights, inputs, state) -> state``, of which the first array predicts."""
    rng = numpy.random.default_rng(0)
    text = numpy.eye(LETTERS)[rng.integers(0, LETTERS, (LENGTH, BATCH))]
    shapes = {**shapes, "predict": (HIDDEN + 1, LETTERS)}
    weights = {name: 0.01 * rng.normal(size=shape) for name, shape in shapes.items()}

    def joined(*parts: Any) -> Any:
        return np.concatenate([*parts, numpy.ones((BATCH, 1))], axis=1)

    def loss(weights: Any) -> Any:
        state, total = start(weights), 0.0
        for letter, following in itertools.pairwise(text):
            state = cell(weights, joined(letter, state[0]), state)
            scores = np.dot(joined(state[0]), weights["predict"])
            scores = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
            total = total - np.sum(scores * following)
        return total / (LENGTH * BATCH)

    gradient = grad(loss)
    for _ in range(200):
        slopes = gradient(weights)
        weights = {name: w - 0.5 * slopes[name] for name, w in weights.items()}
    return float(loss(weights))


def recurrent(np: Any, grad: Grad) -> float:
    """Train a recurrent network on sequences of letters."""
    shapes = {"start": (1, HIDDEN), "change": (LETTERS + HIDDEN + 1, HIDDEN)}

    def start(weights: Any) -> Any:
        return (np.repeat(weights["start"], BATCH, axis=0),)

    def cell(weights: Any, inputs: Any, _state: Any) -> Any:
        return (np.tanh(np.dot(inputs, weights["change"])),)

    return train_on_letters(np, grad, shapes, start, cell)


def lstm(np: Any, grad: Grad) -> float:
    """Train a long short-term memory on sequences of letters."""
    gates = ("change", "forget", "ingate", "outgate")
    shapes = dict.fromkeys(gates, (LETTERS + HIDDEN + 1, HIDDEN))

    def start(_weights: Any) -> Any:
        return numpy.zeros((BATCH, HIDDEN)), numpy.zeros((BATCH, HIDDEN))

    def cell(weights: Any, inputs: Any, state: Any) -> Any:
        def gate(name: str) -> Any:
            return 0.5 * (np.tanh(0.5 * np.dot(inputs, weights[name])) + 1)

        memory = state[1] * gate("forget")
        memory = memory + gate("ingate") * np.tanh(np.dot(inputs, weights["change"]))
        return gate("outgate") * np.tanh(memory), memory

    return train_on_letters(np, grad, shapes, start, cell)


SCRIPTS: Final = {f.__name__: f for f in (regression, network, recurrent, lstm)}


def run(name: str, library: str) -> None:
    """Run a script with a library; print what it has learned."""
    numpy_of = importlib.import_module("numpy" if library == "funcdiff" else "autograd.numpy")
    print(SCRIPTS[name](numpy_of, importlib.import_module(library).grad))


def measured(name: str, library: str) -> tuple[float, float, float]:
    """Return CPU time and wall time of a process, and the loss that it has printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "docs.benchmarks.scripts", name, "--library", library],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""},
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, float(done.stdout)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("script", nargs="?", choices=SCRIPTS, help="run this one, and time nothing")
    parser.add_argument("--library", choices=("funcdiff", "autograd"), default="funcdiff")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if given.script:
        run(given.script, given.library)
        return
    print("seconds of CPU (wall)     funcdiff        autograd   ratio of CPU")
    for name in SCRIPTS:
        times: dict[str, list[tuple[float, float, float]]] = {"funcdiff": [], "autograd": []}
        for _ in range(given.rounds):
            for library, found in times.items():
                found.append(measured(name, library))
        losses = [found[0][2] for found in times.values()]
        numpy.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
        (a, wall_a), (b, wall_b) = (
            (statistics.median(t[0] for t in found), statistics.median(t[1] for t in found))
            for found in times.values()
        )
        print(f"{name:20s}{a:8.2f} ({wall_a:4.2f}){b:9.2f} ({wall_b:4.2f})   {a / b:.2f}")


if __name__ == "__main__":
    main()
