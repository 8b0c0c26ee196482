"""What derivatives by rules of the user's cost, beside HIPS autograd.

Run ``python -m docs.benchmarks.rules``, with autograd and SciPy installed (``pip install -e
".[bench]"``).  The same rules are given to both; the contestants take turns in one process, and the
least CPU time of a call is printed, after calls that warm up.

The likelihood is that of the generalised gamma distribution (E. W. Stacy, "A generalization of the
gamma distribution", Annals of Mathematical Statistics 33, 1962) for times of which some are
censored.  The derivative of log Q(k, x) by k has no closed form: it is a difference of order four.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import autograd
import autograd.numpy as autograd_numpy
import numpy as np
from autograd.extend import defvjp, primitive
from scipy import special

import funcdiff as fd

_STEP: Final = 1e-4


class Library(NamedTuple):
    """A contestant: its NumPy, and what makes a function with a rule and derivatives.

    ``declare(f, *pulls)`` gives `f` rules ``pull(result, args, cotangent)``, one per argument.
    """

    np: Any
    declare: Callable[..., Any]
    grad: Any
    value_and_grad: Any


def _ours(f: Callable[..., Any], *pulls: Callable[..., Any]) -> Any:
    made = fd.primitive(f)

    def forward(*args: Any) -> Any:
        y = made(*args)
        return y, (y, args)

    made.defvjp(forward, lambda kept, ct: tuple([pull(*kept, ct) for pull in pulls]))
    return made


def _theirs(f: Callable[..., Any], *pulls: Callable[..., Any]) -> Any:
    made = primitive(f)

    def rule(pull: Callable[..., Any]) -> Callable[..., Any]:
        return lambda y, *args: lambda ct: pull(y, args, ct)

    defvjp(made, *map(rule, pulls))
    return made


FUNCDIFF: Final = Library(np, _ours, fd.grad, fd.value_and_grad)
AUTOGRAD: Final = Library(autograd_numpy, _theirs, autograd.grad, autograd.value_and_grad)


def chain(library: Library, length: int) -> Callable[[], Any]:
    """Return the gradient of so many error functions in a row."""

    def erf(x: Any) -> Any:
        return special.erf(x)

    f = library.declare(erf, lambda _, x, ct: ct * 2 / np.sqrt(np.pi) * np.exp(-(x[0] ** 2)))

    def total(x: Any) -> Any:
        for _ in range(length):
            x = f(x)
        return library.np.sum(x)

    gradient, x = library.grad(total), np.linspace(-1, 1, 10)
    return lambda: gradient(x)


def likelihood(library: Library, count: int) -> Callable[[], Any]:
    """Return value and gradient of the likelihood of so many times."""
    random = np.random.default_rng(0)
    times = 2.0 * random.gamma(1.7, size=count) ** 0.8
    is_seen = random.random(count) < 0.7

    def log_gamma(k: Any) -> Any:
        return special.gammaln(k)

    def log_upper(k: Any, x: Any) -> Any:
        return np.log(special.gammaincc(k, x))

    def by_shape(_: Any, args: Any, ct: Any) -> Any:
        k, x = args
        near = [log_upper(k + n * _STEP, x) for n in (-2, -1, 1, 2)]
        return np.sum(ct * (near[0] - 8 * near[1] + 8 * near[2] - near[3])) / (12 * _STEP)

    def by_place(y: Any, args: Any, ct: Any) -> Any:
        k, x = args
        return -ct * np.exp((k - 1) * np.log(x) - x - special.gammaln(k) - y)

    gammaln = library.declare(log_gamma, lambda _, args, ct: ct * special.digamma(args[0]))
    gammainccln = library.declare(log_upper, by_shape, by_place)
    log = library.np.log

    def loss(parameters: Any) -> Any:
        scale, power, shape = library.np.exp(parameters)
        z = (times / scale) ** power
        density = log(power) - gammaln(shape) - log(times) + shape * power * log(times / scale) - z
        return -library.np.sum(library.np.where(is_seen, density, gammainccln(shape, z)))

    both, at = library.value_and_grad(loss), np.array([0.5, 0.1, 0.3])
    return lambda: both(at)


ROWS: Final[dict[str, Callable[[Library], Callable[[], Any]]]] = {
    "one primitive with a VJP rule, grad": lambda library: chain(library, 1),
    "ten in a chain, grad": lambda library: chain(library, 10),
    "generalised gamma, 100 times, value_and_grad": lambda library: likelihood(library, 100),
    "generalised gamma, 5,000 times, value_and_grad": lambda library: likelihood(library, 5000),
}


def least(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the least CPU time of each call, which take turns."""
    found = [float("inf") for _ in calls]
    for _ in range(12):
        for call in calls:
            call()
    for _ in range(rounds):
        for k, call in enumerate(calls):
            repeats = 10
            start = time.thread_time()
            for _ in range(repeats):
                call()
            found[k] = min(found[k], (time.thread_time() - start) / repeats)
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    for name, make in ROWS.items():
        ours, theirs = make(FUNCDIFF), make(AUTOGRAD)
        for a, b in zip(np.atleast_1d(*ours()), np.atleast_1d(*theirs()), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8)
        mine, peer = least([ours, theirs], rounds)
        print(f"{name:48} {mine * 1e3:8.3f} ms {peer * 1e3:8.3f} ms {mine / peer:6.2f}", flush=True)


if __name__ == "__main__":
    main()
