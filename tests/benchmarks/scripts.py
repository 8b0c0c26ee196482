"""Whole scripts, from the start of Python to the end, with funcdiff and with HIPS autograd.

Run ``python -m tests.benchmarks.scripts``, with autograd installed (``pip install -e ".[bench]"``).
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


def recurrent(np: Any, grad: Grad) -> float:
    """Train a recurrent network on sequences of letters."""
    rng = numpy.random.default_rng(0)
    letters, hidden, length, batch = 64, 40, 30, 20
    text = numpy.eye(letters)[rng.integers(0, letters, (length, batch))]
    weights = {
        "start": 0.01 * rng.normal(size=(1, hidden)),
        "change": 0.01 * rng.normal(size=(letters + hidden + 1, hidden)),
        "predict": 0.01 * rng.normal(size=(hidden + 1, letters)),
    }

    def joined(*parts: Any) -> Any:
        return np.concatenate([*parts, numpy.ones((batch, 1))], axis=1)

    def loss(weights: Any) -> Any:
        state, total = np.repeat(weights["start"], batch, axis=0), 0.0
        for letter, following in itertools.pairwise(text):
            state = np.tanh(np.dot(joined(letter, state), weights["change"]))
            scores = np.dot(joined(state), weights["predict"])
            scores = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
            total = total - np.sum(scores * following)
        return total / (length * batch)

    gradient = grad(loss)
    for _ in range(200):
        slopes = gradient(weights)
        weights = {name: w - 0.5 * slopes[name] for name, w in weights.items()}
    return float(loss(weights))


def lstm(np: Any, grad: Grad) -> float:
    """Train a long short-term memory on sequences of letters."""
    rng = numpy.random.default_rng(0)
    letters, hidden, length, batch = 64, 40, 30, 20
    text = numpy.eye(letters)[rng.integers(0, letters, (length, batch))]
    gates = ("change", "forget", "ingate", "outgate")
    weights = {name: 0.01 * rng.normal(size=(letters + hidden + 1, hidden)) for name in gates}
    weights["predict"] = 0.01 * rng.normal(size=(hidden + 1, letters))

    def joined(*parts: Any) -> Any:
        return np.concatenate([*parts, numpy.ones((batch, 1))], axis=1)

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(0.5 * x) + 1)

    def loss(weights: Any) -> Any:
        state = memory = numpy.zeros((batch, hidden))
        total = 0.0
        for letter, following in itertools.pairwise(text):
            z = joined(letter, state)
            kept = memory * sigmoid(np.dot(z, weights["forget"]))
            new = sigmoid(np.dot(z, weights["ingate"])) * np.tanh(np.dot(z, weights["change"]))
            memory = kept + new
            state = sigmoid(np.dot(z, weights["outgate"])) * np.tanh(memory)
            scores = np.dot(joined(state), weights["predict"])
            scores = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
            total = total - np.sum(scores * following)
        return total / (length * batch)

    gradient = grad(loss)
    for _ in range(200):
        slopes = gradient(weights)
        weights = {name: w - 0.5 * slopes[name] for name, w in weights.items()}
    return float(loss(weights))


SCRIPTS: Final = {f.__name__: f for f in (regression, network, recurrent, lstm)}


def run(name: str, library: str) -> None:
    """Run a script with a library; print what it has learned."""
    numpy_of = importlib.import_module("numpy" if library == "funcdiff" else "autograd.numpy")
    print(SCRIPTS[name](numpy_of, importlib.import_module(library).grad))


def measured(name: str, library: str) -> tuple[float, float, float]:
    """Return CPU time and wall time of a process, and the loss that it has printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.scripts", name, "--library", library],
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
