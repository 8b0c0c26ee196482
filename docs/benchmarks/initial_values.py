"""What a gradient through an initial value problem costs, in solves of it by SciPy.

Run ``OMP_NUM_THREADS=1 python -m docs.benchmarks.initial_values``.  The gradient by parameters of
the sum of the squares of what is returned, is compiled by `jit`; parameters are new in every call.
Times are those of the processor, the least of several calls; last stands the first call of a
gradient that is not compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np
from scipy import integrate as plain

import funcdiff as fd
from funcdiff.scipy import integrate

_ROUNDS: Final = 10
_TIMES: Final = {
    "predators and prey": np.linspace(0, 10, 50),
    "Lorenz": np.linspace(0, 5, 100),
    "van der Pol, stiff": np.linspace(0, 30, 100),
    "Robertson, stiff": np.append(0, np.logspace(-3, 4, 20)),
}


def _prey(_t: Any, y: Any, p: Any) -> Any:
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])


def _lorenz(_t: Any, y: Any, p: Any) -> Any:
    rates = p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]
    return np.stack(rates)


def _van_der_pol(_t: Any, y: Any, p: Any) -> Any:
    return np.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]])


def _robertson(_t: Any, y: Any, p: Any) -> Any:
    first, second, third = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return np.stack([second - first, first - second - third, third])


PROBLEMS: Final[dict[str, tuple[Callable[..., Any], Any, Any]]] = {
    "predators and prey": (_prey, np.array([10.0, 5.0]), np.array([1.0, 0.1, 1.5, 0.075])),
    "Lorenz": (_lorenz, np.ones(3), np.array([10.0, 28.0, 8 / 3])),
    "van der Pol, stiff": (_van_der_pol, np.array([2.0, 0.0]), np.array([20.0])),
    "Robertson, stiff": (_robertson, np.array([1.0, 0, 0]), np.array([0.04, 1e4, 3e7])),
}
"""The rate, the state in the beginning, and parameters."""


def solution(s: Any, method: str, name: str, p: Any) -> Any:
    """Return the states at some times, by `odeint` or a method of `solve_ivp`."""
    rate, y0, _ = PROBLEMS[name]
    times = _TIMES[name]
    if method == "odeint":
        return s.odeint(rate, y0, times, args=(p,), tfirst=True)
    span = times[0], times[-1]
    options = {"rtol": 1e-6, "atol": 1e-9, "t_eval": times, "args": (p,)}
    return s.solve_ivp(rate, span, y0, method, **options).y


def square(method: str, name: str, p: Any) -> Any:
    """Return the sum of the squares of the solution."""
    return np.sum(solution(integrate, method, name, p) ** 2)


def _least(call: Callable[[Any], Any], points: Any, rounds: int = _ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        p = next(points)
        start = time.process_time()
        call(p)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print a table."""
    print(f"{'problem':20} {'method':7} {'SciPy, ms':>9} {'gradient, solves':>17} {'first, ms':>9}")
    for name, (_, _, parameters) in PROBLEMS.items():
        is_stiff = name.endswith("stiff")
        for method in ("odeint", "LSODA", *(("Radau", "BDF") if is_stiff else ("RK45", "DOP853"))):
            points = (parameters * (1 + 1e-7 * k) for k in count())
            gradient = fd.grad(partial(square, method, name))
            first = _least(gradient, points, 1)
            compiled = fd.jit(gradient)
            compiled(next(points))
            solve = _least(partial(solution, plain, method, name), points)
            ratio = _least(compiled, points) / solve
            print(f"{name:20} {method:7} {1e3 * solve:9.2f} {ratio:17.1f} {1e3 * first:9.0f}")


if __name__ == "__main__":
    main()
