"""Gradient descent whose step grows after ten successes and shrinks after a failure.

The descent of `saddle` and `particle`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Function

Gradients = Mapping[str, Callable[[Function], Function]]
"""From a function of a vector to its gradient: forwards by "f", backwards by "r"."""

MODES: Final = ("ff", "fr", "rf", "rr")
"""How the outer function is differentiated, then how the inner one is."""
OTHERS: Final = dict.fromkeys(("autograd", "torch, own"), "has Python's loops only")
TOO_SLOW: Final = {"torch, own": "takes 6 to 100 seconds a call"}
AS_WITHOUT: Final = {"fd.jit, llvm": "takes a minute to compile, like fd.jit"}
TOO_LONG: Final = dict.fromkeys(
    ("fd.jit", "fd.jit, llvm"), "is a program of every step taken, which takes many minutes"
)
"""Who does not take part in descents by loops of a library and of Python, and why."""


class Descent(NamedTuple):
    """The rate at the start, and the shortest slope and step: it stops at shorter ones."""

    rate: float = 1e-5
    shortest: float = 1e-5


PUBLISHED: Final = Descent()


def norm(np_: Any, x: Any) -> Any:
    """Return the Euclidean length."""
    return np_.sqrt(np_.sum(x * x))


def minimum(np_: Any, descent: Descent, f: Function, gradient: Function, x: Any) -> Any:
    """Return where a descent from x ends; works in each library that has Python's loops."""
    value, slope, rate, successes = f(x), gradient(x), descent.rate, 0
    while norm(np_, slope) > descent.shortest:
        if successes == 10:
            rate, successes = 2.0 * rate, 0
            continue
        ahead = x - rate * slope
        if norm(np_, ahead - x) <= descent.shortest:
            break
        new = f(ahead)
        if new < value:
            x, value, slope, successes = ahead, new, gradient(ahead), successes + 1
        else:
            rate, successes = rate / 2.0, 0
    return x


def minimum_in_loops(
    np_: Any,
    loops: Any,
    descent: Descent,
    f: Function,
    gradient: Function,
    x: Any,
    most: int | None = None,
) -> Any:
    """Return the same by ``while_loop``, or by ``scan`` of a number of steps at most.

    The loops are those of `funcdiff`, or of ``jax.lax``, where no way back leads through
    ``while_loop``.
    """

    def goes_on(state: Any) -> Any:
        _, _, slope, _, _, has_ended = state
        return np_.logical_not(has_ended) & (norm(np_, slope) > descent.shortest)

    def step(state: Any) -> Any:
        x, value, slope, rate, successes, _ = state
        is_due = successes == 10
        ahead = x - rate * slope
        ends = np_.logical_not(is_due) & (norm(np_, ahead - x) <= descent.shortest)
        new = f(ahead)
        is_better = np_.logical_not(is_due | ends) & (new < value)
        stay = x, value, slope
        x, value, slope = loops.cond(is_better, lambda: (ahead, new, gradient(ahead)), lambda: stay)
        rate = np_.where(is_due, 2.0 * rate, np_.where(is_better | ends, rate, rate / 2.0))
        return x, value, slope, rate, np_.where(is_better, successes + 1, 0), ends

    rate, successes, has_ended = (np_.asarray(start) for start in (descent.rate, 0, False))
    state = (x, f(x), gradient(x), rate, successes, has_ended)
    if most is None:
        return loops.while_loop(goes_on, step, state)[0]

    def bounded(state: Any, _: None) -> Any:
        return loops.cond(goes_on(state), step, lambda state: state, state), None

    return loops.scan(bounded, state, length=most)[0][0]


def in_funcdiff() -> Gradients:
    """Return funcdiff's ways to gradients."""
    return {"f": fd.jacfwd, "r": fd.grad}


def in_autograd(autograd: Any) -> Gradients:
    """Return autograd's."""

    def forwards(f: Function) -> Function:
        push = autograd.make_jvp(f)
        return lambda x: autograd.numpy.stack([push(x)(e)[1] for e in np.eye(len(x))])

    return {"f": forwards, "r": autograd.grad}


def in_jax(jax: Any) -> Gradients:
    """Return JAX's."""
    return {"f": jax.jacfwd, "r": jax.grad}


def in_torch(torch: Any) -> Gradients:
    """Return those of ``torch.func``, whose ``jacfwd`` allows no look at a value."""

    def forwards(f: Function) -> Function:
        def gradient(x: Any) -> Any:
            basis = torch.eye(len(x), dtype=x.dtype)
            return torch.stack([torch.func.jvp(f, (x,), (e,))[1] for e in basis])

        return gradient

    return {"f": forwards, "r": torch.func.grad}


def by_differences() -> Gradients:
    """Return NumPy's alone: central differences, which are exact for squares."""

    def of(f: Function) -> Function:
        def gradient(x: Any) -> Any:
            steps = 1e-5 * np.eye(len(x))
            return np.array([f(x + step) - f(x - step) for step in steps]) / 2e-5

        return gradient

    return {"f": of, "r": of}
