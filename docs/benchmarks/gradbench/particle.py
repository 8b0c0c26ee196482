"""A charge between two others, one of which is moved until it flies through the origin.

Its way is found by Euler's method, from forces that are gradients of a potential; gradient descent
moves the charge.  By B. Pearlmutter and J. Siskind, as `saddle`.  The reference is the published
result.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

import funcdiff as fd
from docs.benchmarks.gradbench import descent
from docs.benchmarks.gradbench.descent import Descent, Gradients, minimum, minimum_in_loops
from docs.benchmarks.workloads.workload import Workload

PUBLISHED: Final = 0.2071918746486116
"""The shift of the charge that a descent from 0 ends at."""
STEPS: Final = 400
"""More of them than are ever needed until the particle passes the axis."""


class Search(NamedTuple):
    """The step of Euler's method, and how the charge is moved."""

    h: float = 0.1
    descent: Descent = Descent()


PUBLISHED_SEARCH: Final = Search()


def potential(np_: Any, w: Any, x: Any) -> Any:
    """Return the potential in a place for charges at (10, 10 - w) and (10, 0)."""
    across = (x[0] - 10.0) ** 2
    first, second = across + (x[1] - 10.0 + w[0]) ** 2, across + x[1] ** 2
    return 1.0 / np_.sqrt(first) + 1.0 / np_.sqrt(second)


def crossing(x: Any, v: Any) -> Any:
    """Return the squared first coordinate where a straight way passes the axis."""
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def miss(np_: Any, h: float, gradient: Any, start: Any, w: Any) -> Any:
    """Return how far from the origin the particle passes the axis, squared."""
    force = gradient(lambda x: potential(np_, w, x))
    x, v = start
    while True:
        ahead = x + h * v
        if ahead[1] <= 0.0:
            return crossing(x, v)
        x, v = ahead, v - h * force(x)


def miss_in_loops(
    np_: Any, loops: Any, h: float, gradient: Any, start: Any, most: int | None, w: Any
) -> Any:
    """Return the same by ``while_loop``, or by ``scan`` of a number of steps at most."""
    force = gradient(lambda x: potential(np_, w, x))

    def goes_on(state: Any) -> Any:
        x, v = state
        return x[1] + h * v[1] > 0.0

    def step(state: Any) -> Any:
        x, v = state
        return x + h * v, v - h * force(x)

    def careful(state: Any, _: None) -> Any:
        return loops.cond(goes_on(state), step, lambda state: state, state), None

    if most is None:
        return crossing(*loops.while_loop(goes_on, step, start))
    return crossing(*loops.scan(careful, start, length=most)[0])


def shift(np_: Any, gradients: Gradients, modes: str, search: Search, start: Any, w: Any) -> Any:
    """Return the shift with the least miss, by Python's loops."""
    f = partial(miss, np_, search.h, gradients[modes[1]], start)
    return minimum(np_, search.descent, f, gradients[modes[0]](f), w)


def in_loops(
    np_: Any, loops: Any, gradients: Gradients, modes: str, search: Search, start: Any, w: Any
) -> Any:
    """Return the same by loops of a library; JAX has no way back through one without a bound."""
    most = None if loops is fd or modes[0] == "f" else STEPS
    f = partial(miss_in_loops, np_, loops, search.h, gradients[modes[1]], start, most)
    return minimum_in_loops(np_, loops, search.descent, f, gradients[modes[0]](f), w)


def flight(modes: str, search: Search = PUBLISHED_SEARCH, *, loops: bool) -> Workload:
    """Return the workload of two modes, with Python's loops or with `fd.while_loop`."""

    def function(np_: Any, w: Any, start: Any) -> Any:
        gradients = descent.in_funcdiff()
        if loops:
            return in_loops(np_, fd, gradients, modes, search, start, w)
        return shift(np_, gradients, modes, search, start, w)

    def in_autograd(autograd: Any, w: Any, start: Any) -> Any:
        return shift(autograd.numpy, descent.in_autograd(autograd), modes, search, start, w)

    def in_jax(jax: Any, w: Any, start: Any) -> Any:
        return in_loops(jax.numpy, jax.lax, descent.in_jax(jax), modes, search, start, w)

    def in_torch(torch: Any, w: Any, start: Any) -> Any:
        return shift(torch, descent.in_torch(torch), modes, search, start, w)

    def reference(w: Any, start: Any) -> Any:
        if search == PUBLISHED_SEARCH:
            return np.array([PUBLISHED])
        return shift(np, descent.by_differences(), modes, search, start, w)

    return Workload(
        name=f"particle{' by while_loop' if loops else ''}, {modes}",
        derivative="value",
        arguments=lambda _: (np.zeros(1), (np.array([0.0, 8.0]), np.array([0.75, 0.0]))),
        function=function,
        by_hand=reference,
        in_autograd=in_autograd,
        in_jax=in_jax,
        in_torch=in_torch,
        left_out=descent.OTHERS if loops else descent.TOO_SLOW | descent.TOO_LONG,
        is_loop=True,
    )


IN_PYTHON: Final = tuple(flight(modes, loops=False) for modes in descent.MODES)
IN_LOOPS: Final = tuple(flight(modes, loops=True) for modes in descent.MODES)
WORKLOADS: Final = (IN_PYTHON[-1], *IN_LOOPS)
TINY: Final = tuple(
    flight(modes, Search(1.0, Descent(0.02, 0.02)), loops=loops)
    for loops in (False, True)
    for modes in descent.MODES
)
