"""What Python's own control flow costs under `jit`: ``python -m docs.benchmarks.branching``.

Every function is called with a few arguments in turn, which take different ways.  Times are of the
processor, for one call; the first call of all is traced and compiled.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import funcdiff as fd


class Case(NamedTuple):
    """A function that branches by values, and arguments on several ways."""

    name: str
    function: Callable[[Any], Any]
    arguments: Sequence[Any]


def newton(a: Any) -> Any:
    """Return the square root of a number by Newton's method."""
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def bisection(p: Any) -> Any:
    """Return the root of ``x**3 + p * x - 1``, by bisection and a last step of Newton's."""
    low, high = 0.0 * p, 0.0 * p + 2.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if middle**3 + p * middle > 1.0:
            high = middle
        else:
            low = middle
    x = fd.stop_gradient(low)
    return x - (x**3 + p * x - 1.0) / (3.0 * x * x + p)


def bisection_by_count(p: Any) -> Any:
    """Return the root of ``x**3 + p * x - 1``, by a ``for`` loop that is left by a ``break``."""
    low, high = 0.0 * p, 0.0 * p + 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle**3 + p * middle > 1.0:
            high = middle
        else:
            low = middle
        if high - low < 1e-6:
            break
    x = fd.stop_gradient(low)
    return x - (x**3 + p * x - 1.0) / (3.0 * x * x + p)


_MATRIX: Final = np.diag(np.arange(1.0, 9.0)) + 0.1


def largest_eigenvalue(p: Any) -> Any:
    """Return the largest eigenvalue of a matrix of 8 x 8, by iteration with its powers."""
    matrix = _MATRIX + p * np.eye(8)
    v, value = np.ones(8), 0.0 * p
    for _ in range(1000):
        w = matrix @ v
        before, value = value, np.sqrt(w @ w)
        v = w / value
        if abs(value - before) < 1e-10:
            break
    return value


_NODES: Final = (
    (0.25,),
    (3 / 32, 9 / 32),
    (1932 / 2197, -7200 / 2197, 7296 / 2197),
    (439 / 216, -8.0, 3680 / 513, -845 / 4104),
    (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40),
)
_FOURTH: Final = (25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -0.2, 0.0)
_FIFTH: Final = (16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55)


def fehlberg(mu: Any) -> Any:
    """Return the end of Van der Pol's oscillation, by Runge-Kutta-Fehlberg with adaptive steps."""

    def slope(y: Any) -> Any:
        return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    y = np.stack([2.0 + 0.0 * mu, 0.0 * mu])
    t, h = 0.0 * mu, 0.0 * mu + 0.1
    while t < 2.0:
        stages = [slope(y)]
        for row in _NODES:
            stages.append(slope(y + h * sum(a * k for a, k in zip(row, stages, strict=True))))
        error = h * sum((b - c) * k for b, c, k in zip(_FIFTH, _FOURTH, stages, strict=True))
        ratio = np.sqrt(np.sum(error**2)) / 1e-5
        if ratio <= 1.0:
            y = y + h * sum(b * k for b, k in zip(_FIFTH, stages, strict=True))
            t = t + h
        h = h * np.minimum(2.0, 0.9 * (ratio + 1e-10) ** -0.2)
    return np.sum(y)


_DRAWS: Final = np.random.default_rng(1).uniform(size=(64, 2))


def rejection(shape: Any) -> Any:
    """Return a sample by rejection, as a function of a shape parameter, and its log density."""
    k = 0
    while True:
        x = -np.log(_DRAWS[k, 0]) * shape
        density = np.exp(-((x - 1.5) ** 2) * shape)
        if _DRAWS[k, 1] < 0.5 * density:
            return x * np.log(density + 1.0)
        k += 1


_RNG: Final = np.random.default_rng(0)
_ROWS: Final = _RNG.normal(size=(2000, 20))
_TARGET: Final = _ROWS @ _RNG.normal(size=20) + _RNG.normal(size=2000)


def regression(w: Any) -> Any:
    """Return a squared error, or a linear one where it is large."""
    r = _ROWS @ w - _TARGET
    loss = np.mean(r**2)
    if loss > 1e3:
        return np.mean(np.abs(r))
    return loss


def straight_regression(w: Any) -> Any:
    """Return the squared error of `regression`."""
    return np.mean((_ROWS @ w - _TARGET) ** 2)


_WEIGHTS: Final = [_RNG.normal(size=20) for _ in range(4)]
CASES: Final = (
    Case("Newton's square root", newton, [2.0, 3.0, 2.5, 3.5]),
    Case("Newton's square root, other counts", newton, [2.0, 30.0, 0.01, 500.0]),
    Case("bisection, 8 parameters", bisection, list(np.linspace(0.5, 3.0, 8))),
    Case("bisection, ever new parameters", bisection, list(np.linspace(0.5, 3.0, 500))),
    Case(
        "bisection by for and break, ever new parameters",
        bisection_by_count,
        list(np.linspace(0.5, 3.0, 500)),
    ),
    Case(
        "powers of a matrix, ever new parameters", largest_eigenvalue, list(np.linspace(0, 2, 60))
    ),
    Case("Newton's square root, ever new counts", newton, list(10.0 ** np.linspace(-9, 9, 100))),
    Case("Runge-Kutta-Fehlberg, ever new parameters", fehlberg, list(np.linspace(0.5, 1.5, 60))),
    Case("Runge-Kutta-Fehlberg, 6 parameters", fehlberg, list(np.linspace(0.5, 1.5, 6))),
    Case("rejection, 20 shapes", rejection, list(np.linspace(0.5, 2.0, 20))),
    Case("regression with an if", regression, _WEIGHTS),
    Case("regression without", straight_regression, _WEIGHTS),
)


def seconds(f: Callable[[Any], Any], arguments: Sequence[Any], budget: float = 0.3) -> float:
    """Return the least time of a call, the mean over the arguments, in five rounds."""
    best, repeats = math.inf, 1
    for _ in range(5):
        begin = time.process_time()
        for _ in range(repeats):
            for x in arguments:
                f(x)
        taken = time.process_time() - begin
        best = min(best, taken / repeats / len(arguments))
        repeats = max(1, int(budget / 5 / (best * len(arguments))))
    return best


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| value and gradient of | first call | eager | `jit` | ratio | ways |")
    print("|---|--:|--:|--:|--:|--:|")
    for case in CASES:
        eager, compiled = fd.value_and_grad(case.function), fd.jit(fd.value_and_grad(case.function))
        begin = time.process_time()
        compiled(case.arguments[0])
        first = time.process_time() - begin
        for x in case.arguments:
            found, expected = compiled(x), eager(x)
            assert all(np.allclose(y, z, rtol=1e-6) for y, z in zip(found, expected, strict=True))
        slow, quick = seconds(eager, case.arguments), seconds(compiled, case.arguments)
        info = compiled.cache_info()
        ways = "gives up" if info.eager else str(info.leaves)
        print(
            f"| {case.name} | {first * 1e3:.1f} ms | {slow * 1e6:.0f} µs | {quick * 1e6:.1f} µs "
            f"| {slow / quick:.1f} | {ways} |"
        )


if __name__ == "__main__":
    main()
