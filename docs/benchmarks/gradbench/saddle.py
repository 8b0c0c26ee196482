"""A saddle point: the least of what is largest, each by gradient descent, one within the other.

B. Pearlmutter, J. Siskind, "Using programming language theory to make automatic differentiation
sound and efficient", 2008.  The reference is the published result.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.benchmarks.gradbench import descent
from docs.benchmarks.gradbench.descent import Descent, Gradients, minimum, minimum_in_loops
from docs.benchmarks.workloads.workload import Function, Workload

PUBLISHED: Final = 8.246324826140356e-06
"""Each element of the point that a start at (1, 1) leads to."""
STEPS: Final = 171
"""Of the inner descent from there, whatever the outer point is."""


def height(np_: Any, x: Any, y: Any) -> Any:
    """Return |x|² - |y|²."""
    return np_.sum(x * x) - np_.sum(y * y)


def saddle(np_: Any, gradients: Gradients, modes: str, lowest: Function, start: Any) -> Any:
    """Return the saddle point, x and then y, that descents from a start find."""
    outer, inner = (gradients[mode] for mode in modes)

    def best(x: Any, gradient: Function) -> Any:
        def depth(y: Any) -> Any:
            return -height(np_, x, y)

        return lowest(depth, gradient(depth), start)

    def worst(x: Any) -> Any:
        return height(np_, x, best(x, inner))

    x = lowest(worst, outer(worst), start)
    return np_.concatenate((x, best(x, outer)))


def in_jax(modes: str, jax: Any, start: Any) -> Any:
    """Return the same in JAX, which has no way back through a loop without a bound."""
    most = STEPS if modes[0] == "r" else None

    def lowest(f: Function, gradient: Function, x: Any) -> Any:
        bound = None if f.__name__ == "worst" else most
        return minimum_in_loops(jax.numpy, jax.lax, descent.PUBLISHED, f, gradient, x, bound)

    return saddle(jax.numpy, descent.in_jax(jax), modes, lowest, start)


def in_python(np_: Any, gradients: Gradients, modes: str, how: Descent, start: Any) -> Any:
    """Return the same by Python's loops."""
    return saddle(np_, gradients, modes, partial(minimum, np_, how), start)


def search(modes: str, how: Descent = descent.PUBLISHED, *, loops: bool) -> Workload:
    """Return the workload of two modes, with Python's loops or with `fd.while_loop`."""

    def function(np_: Any, start: Any) -> Any:
        gradients = descent.in_funcdiff()
        if loops:
            return saddle(np_, gradients, modes, partial(minimum_in_loops, np_, fd, how), start)
        return in_python(np_, gradients, modes, how, start)

    def in_autograd(autograd: Any, start: Any) -> Any:
        return in_python(autograd.numpy, descent.in_autograd(autograd), modes, how, start)

    def in_torch(torch: Any, start: Any) -> Any:
        return in_python(torch, descent.in_torch(torch), modes, how, start)

    def reference(start: Any) -> Any:
        if how == descent.PUBLISHED:
            return np.full(4, PUBLISHED)
        return in_python(np, descent.by_differences(), modes, how, start)

    return Workload(
        name=f"saddle{' by while_loop' if loops else ''}, {modes}",
        derivative="value",
        arguments=lambda _: (np.ones(2),),
        function=function,
        by_hand=reference,
        in_autograd=in_autograd,
        in_jax=partial(in_jax, modes),
        in_torch=in_torch,
        left_out=descent.OTHERS if loops else descent.TOO_SLOW | descent.AS_WITHOUT,
        is_loop=True,
    )


IN_PYTHON: Final = tuple(search(modes, loops=False) for modes in descent.MODES)
IN_LOOPS: Final = tuple(search(modes, loops=True) for modes in descent.MODES)
WORKLOADS: Final = (IN_PYTHON[-1], *IN_LOOPS)
TINY: Final = tuple(
    search(modes, Descent(0.2, 0.1), loops=loops)
    for loops in (False, True)
    for modes in descent.MODES
)
