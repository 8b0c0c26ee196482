"""What tracing costs: recording and cache look-up per equation, a warm gradient and a first one.

Run ``python docs/benchmarks/recording.py``.  Rounds of all contestants are interleaved in one
process and the medians are printed, with ratios to plain NumPy.  HIPS autograd takes part if it
is installed (``pip install -e ".[bench]"``).
"""

from __future__ import annotations

import itertools
import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff.api.calls.differentiated import trace_call
from funcdiff.api.calls.inputs import Selection
from funcdiff.api.derivatives.programs import gradient_program

try:
    import autograd
    import autograd.numpy as autograd_numpy
except ModuleNotFoundError:
    autograd = None

N = 10
ROUNDS, CALLS = 41, 100


def chain(np_: Any, x: Any) -> Any:
    """Return 30 elementwise operations of an array: five rounds of six."""
    for _ in range(5):
        y = np_.sin(x) * 0.5
        z = np_.tanh(y + x)
        x = z * z - y
    return x


def scalar(np_: Any, x: Any) -> Any:
    """Return a scalar, so that it has a gradient."""
    return np_.sum(chain(np_, x))


ORDERS = list(itertools.permutations(("sin", "tanh", "cos", "arctan", "exp")))


def unseen(np_: Any, names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a function of 30 operations that no other order of the names records."""
    f, g, h, u, v = (getattr(np_, name) for name in names)

    def function(x: Any) -> Any:
        for first, second in ((f, g), (h, u), (v, f), (g, h), (u, v)):
            y = first(x) * 0.5
            z = second(y + x)
            x = z * z - y
        return np_.sum(x)

    return function


def first_calls(grad: Callable[[Any], Any], np_: Any, x: Any) -> float:
    """Return the median time of the first gradient of a function, in milliseconds."""
    times = []
    for names in ORDERS:
        gradient = grad(unseen(np_, names))
        start = time.process_time()
        gradient(x)
        times.append(time.process_time() - start)
    return statistics.median(times[len(times) // 4 :]) * 1e3


def interleaved(contestants: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median time of each, in microseconds, over interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            times[name].append(timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Print the figures."""
    x = np.linspace(0.1, 1.0, N)

    def look_up() -> None:
        f = lambda a: chain(np, a)
        inputs, trace = trace_call(f, Selection(f, "grad"), (x,), {})
        gradient_program(
            trace.recording, len(inputs.operands), holomorphic=False, wants_value=False
        )

    look_up()
    contestants: dict[str, Callable[[], Any]] = {
        "NumPy, the 30 calls": lambda: chain(np, x),
        "record and look up": look_up,
        "NumPy, the scalar": lambda: scalar(np, x),
        "funcdiff grad, warm": lambda: gradient(x),
    }
    gradient = fd.grad(lambda a: scalar(np, a))
    if autograd is not None:
        peer = autograd.grad(lambda a: scalar(autograd_numpy, a))
        np.testing.assert_allclose(gradient(x), peer(x), rtol=1e-12)
        contestants["autograd grad"] = lambda: peer(x)
    medians = interleaved(contestants)
    for name, value in medians.items():
        ratio = value / medians["NumPy, the 30 calls"]
        print(
            f"{name:22} {value:8.1f} µs   {value / 30:6.2f} µs an equation   {ratio:6.2f} x NumPy"
        )
    if autograd is not None:
        ratio = medians["autograd grad"] / medians["funcdiff grad, warm"]
        print(f"autograd / funcdiff    {ratio:8.2f} x")
    print(f"first call of grad     {first_calls(fd.grad, np, x):8.2f} ms")
    if autograd is not None:
        print(f"autograd, first call   {first_calls(autograd.grad, autograd_numpy, x):8.2f} ms")


if __name__ == "__main__":
    main()
