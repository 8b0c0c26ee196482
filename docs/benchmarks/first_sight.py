"""What derivatives of functions cost that were never seen before, beside HIPS autograd.

Run ``python -m docs.benchmarks.first_sight [--most 100000] [--lengths]``, with autograd installed
(``pip install -e ".[bench]"``).  Every call differentiates another function, or one whose loop has
another length; the contestants take turns in one process, and medians of their CPU time are
printed.  The first call of each, which loads and derives what all share, stands by itself.  With
``--lengths``, small functions at arrays of lengths that no call had before, and later calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import autograd
import autograd.numpy as autograd_numpy
import numpy as np

import funcdiff as fd

T: Final = 0.7
"""The weight of a Hessian's columns in the product that is computed."""

OURS: Final = {
    "grad": lambda f, x: fd.grad(f)(x),
    "value_and_grad": lambda f, x: fd.value_and_grad(f)(x),
    "vjp": lambda f, x: fd.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: fd.jvp(f, (x,), (x,)),
    "hvp": lambda f, x: fd.hvp(f, (x,), (T * x,)),
    "grad of grad": lambda f, x: fd.grad(lambda y: np.sum(fd.grad(f)(y) * T))(x),
}
THEIRS: Final = {
    "grad": lambda f, x: autograd.grad(f)(x),
    "value_and_grad": lambda f, x: autograd.value_and_grad(f)(x),
    "vjp": lambda f, x: autograd.make_vjp(f)(x)[0](1.0),
    "jvp": lambda f, x: autograd.make_jvp(f)(x)(x),
    "hvp": lambda f, x: autograd.hessian_vector_product(f)(x, T * x),
    "grad of grad": lambda f, x: autograd.grad(
        lambda y: autograd_numpy.sum(autograd.grad(f)(y) * T)
    )(x),
}


class Row(NamedTuple):
    """A family of functions: ``make(numpy, seed)``, at a point."""

    name: str
    make: Callable[[Any, int], Callable[[Any], Any]]
    x: Any
    calls: int


def chain(length: int) -> Callable[[Any, int], Callable[[Any], Any]]:
    """Return functions of so many operations, drawn at random."""

    def make(np_: Any, seed: int) -> Callable[[Any], Any]:
        steps = [np_.sin, np_.cos, np_.tanh, lambda y: y * 0.9, lambda y: y + 0.1, lambda y: y * y]
        drawn = np.random.default_rng(seed).integers(0, len(steps), length)

        def f(x: Any) -> Any:
            for k in drawn:
                x = steps[k](x)
            return np_.sum(x)

        return f

    return make


def runge_kutta(steps: int) -> Callable[[Any, int], Callable[[Any], Any]]:
    """Return pendulums, each for another number of steps."""

    def make(np_: Any, seed: int) -> Callable[[Any], Any]:
        def slope(y: Any) -> Any:
            return (
                np_.array([y[1], -np_.sin(y[0]) - 0.1 * y[1]])
                if np_ is not np
                else np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1]])
            )

        def f(y: Any) -> Any:
            h = 0.01
            for _ in range(steps + seed):
                a = slope(y)
                b = slope(y + h / 2 * a)
                c = slope(y + h / 2 * b)
                y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
            return np_.sum(y**2)

        return f

    return make


def convergence(rate: float) -> Callable[[Any, int], Callable[[Any], Any]]:
    """Return iterations until they converge, from another start each."""

    def make(np_: Any, seed: int) -> Callable[[Any], Any]:
        start = float(np.random.default_rng(seed).uniform(0.5, 50.0))

        def f(x: Any) -> Any:
            y = x * start
            while np_.max(np_.abs(y * y - x)) > 1e-10:
                y = y - rate * (y * y - x) / y
            return np_.sum(y)

        return f

    return make


ROWS: Final = [
    Row("chain of 30, a number", chain(30), 0.3, 25),
    Row("chain of 30, 3 numbers", chain(30), np.linspace(0.1, 0.9, 3), 25),
    Row("chain of 1000, a number", chain(1000), 0.3, 9),
    Row("chain of 1000, 3 numbers", chain(1000), np.linspace(0.1, 0.9, 3), 9),
    Row("chain of 10000, 3 numbers", chain(10_000), np.linspace(0.1, 0.9, 3), 5),
    Row("chain of 100000, 3 numbers", chain(100_000), np.linspace(0.1, 0.9, 3), 3),
    Row("Runge-Kutta, 200 steps", runge_kutta(200), np.array([0.5, 0.1]), 5),
    Row("until convergence, some 50 times", convergence(0.25), np.linspace(1.0, 3.0, 50), 15),
    Row("until convergence, some 700 times", convergence(0.02), np.linspace(1.0, 3.0, 50), 5),
]


SMALL: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "squares": lambda p, x: p.sum(x**2),
    "Rosenbrock": lambda p, x: p.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "log-sum-exp": lambda p, x: p.log(p.sum(p.exp(x))),
    "logistic loss": lambda p, x: p.sum(p.log(1 + p.exp(-x))) + 0.1 * p.dot(x, x),
    "elementwise": lambda p, x: p.sum(p.sin(p.cos(p.tanh(p.exp(-(x**2)))))),
    "outer product": lambda p, x: p.sum(p.outer(x, x) ** 2),
    "inner product": lambda p, x: p.dot(x, p.sin(x)),
    "variance": lambda p, x: p.mean((x - p.mean(x)) ** 2),
    "standard deviation": lambda p, x: p.std(x) * p.sum(x),
    "larger of two": lambda p, x: p.sum(p.maximum(x, 0.31) ** 2),
    "choice": lambda p, x: p.sum(p.where(x > 0.37, x**3, p.sin(x))),
    "norm": lambda p, x: p.linalg.norm(x) * p.sum(x),
    "joined": lambda p, x: p.sum(p.concatenate([x**2, p.sin(x)]) ** 2),
    "reshaped": lambda p, x: p.sum(p.reshape(p.concatenate([x, x]), (2, -1))[0] * x**2),
    "elements": lambda p, x: x[0] ** 2 * x[1] + p.sin(x[2]) * x[-1],
    "stacked": lambda p, x: p.sum(p.stack([x, x**2]) ** 2),
    "cumulated": lambda p, x: p.sum(p.cumsum(x) ** 2),
    "matrix times vector": lambda p, x: p.sum(p.tanh(p.dot(p.ones((3, len(x))) * 0.3, x))),
    "quadratic form": lambda p, x: p.dot(x, p.dot(p.eye(len(x)) * 2.0, x)) + p.sum(p.cos(x)),
    "power": lambda p, x: p.sum((x + 1.0) ** 2.5),
    "root": lambda p, x: p.sum(p.sqrt(1 + x**2)),
    "modulus": lambda p, x: p.sum(p.abs(x) * p.exp(x)),
    "rolled": lambda p, x: p.mean(p.maximum(0.0, 1 - x * p.roll(x, 1)) ** 2),
    "polynomial": lambda p, x: p.sum(1.0 + x * (2.0 + x * (3.0 + x * (4.0 + x * 5.0)))),
}
"""Functions of an array, each of which a call sees at another length."""

_CALLS: Final = 12
_LATER: Final = 60
"""Calls until a function is not new any more."""


def seconds(derivative: Callable[..., Any], f: Callable[[Any], Any], x: Any) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    derivative(f, x)
    return time.process_time() - start


def times(row: Row, transform: str) -> Iterator[tuple[float, float]]:
    """Yield the times of both contestants, call by call."""
    for seed in range(row.calls + 1):
        ours = seconds(OURS[transform], row.make(np, seed), row.x)
        yield ours, seconds(THEIRS[transform], row.make(autograd_numpy, seed), row.x)


class Result(NamedTuple):
    """Seconds of funcdiff and of autograd, those of the first calls apart."""

    function: str
    transform: str
    ours: float
    theirs: float
    our_first: float
    their_first: float


def results(most: int) -> Iterator[Result]:
    """Yield what each transform of each function costs."""
    for row in ROWS:
        if row.name.startswith("chain") and int(row.name.split()[2].strip(",")) > most:
            continue
        for transform in OURS:
            ours, theirs = zip(*times(row, transform), strict=True)
            medians = statistics.median(ours[1:]), statistics.median(theirs[1:])
            yield Result(row.name, transform, *medians, ours[0], theirs[0])


def at_new_lengths(transform: str) -> None:
    """Print how long small functions take at new lengths, and at a length that they had often.

    Of each, the lower quartile of calls: what else the machine does makes single calls slower.
    """
    ratios: dict[str, list[float]] = {"first": [], "later": []}
    length = 5
    fd.clear_caches()

    def compare(kind: str, f: Callable[[Any, Any], Any], calls: int, *, grows: bool) -> None:
        nonlocal length
        times: list[tuple[float, float]] = []
        for _ in range(calls):
            length += grows
            x = np.random.default_rng(length).uniform(0.1, 0.9, length)
            ours = seconds(OURS[transform], partial(f, np), x)
            times.append((ours, seconds(THEIRS[transform], partial(f, autograd_numpy), x)))
        ours, theirs = (sorted(column)[len(column) // 4] for column in zip(*times, strict=True))
        ratios[kind].append(ours / theirs)

    for f in SMALL.values():
        compare("first", f, 1 + _CALLS, grows=True)
        x = np.random.default_rng(length).uniform(0.1, 0.9, length)
        for _ in range(_LATER):
            seconds(OURS[transform], partial(f, np), x)
        compare("later", f, _CALLS, grows=False)
    shown = [f"{kind} {statistics.median(found):.2f}" for kind, found in ratios.items()]
    print(f"{transform:16s} ours / autograd's, median of {len(SMALL)}: {', '.join(shown)}")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=100_000, help="operations of a chain")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    parser.add_argument("--lengths", action="store_true", help="small functions at new lengths")
    arguments = parser.parse_args()
    if arguments.lengths:
        for transform in OURS:
            at_new_lengths(transform)
        return
    print(f"{'milliseconds (the first call)':36s}{'':16s}{'funcdiff':>18s}{'autograd':>18s}  ratio")
    found = []
    with np.errstate(all="ignore"):
        for r in results(arguments.most):
            found.append(r)
            pairs = (r.ours, r.our_first), (r.theirs, r.their_first)
            shown = [f"{1e3 * m:9.2f} ({1e3 * first:6.1f})" for m, first in pairs]
            ratio = r.ours / r.theirs
            print(f"{r.function:36s}{r.transform:16s}{shown[0]:>18s}{shown[1]:>18s}  {ratio:.2f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
