"""Steps that follow each other, all at once: where their states are known, a system of equations.

The states of y[k + 1] = Φ[k](y[k]) that are known solve one equation for all of them, y - Φ(y) = 0,
whose derivative has unit blocks on the diagonal and one block below each.  Its blocks are found for
all steps together, by as many products as a state has numbers; what is left is one triangular,
banded system.  So the implicit function theorem gives every derivative of the chain, and no step
waits for the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.ops.user.solved_equations import entered
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.known_solutions import implicit
from funcdiff.transforms.vmap import batch_outputs


def chain(step: Callable[..., Any], first: Any, rows: Any, known: Any) -> Any:
    """Return the states after all steps, which are known, as a function of what steps contain.

    `step`: ``step(state, row) -> state``.
    `first`: the state before the first step.
    `rows`: a container of arrays with an axis of the steps in front.
    `known`: the states, with the axis of the steps in front.
    """
    return implicit(lambda states: _residual(step, first, rows, states), known, solver=_SOLVER)


def correction(step: Callable[..., Any], first: Any, rows: Any, states: Any, changes: Any) -> Any:
    """Return ``(1 - J)·changes``, of the equation whose solution `chain` returns."""
    return jvp(lambda states: _residual(step, first, rows, states), (states,), (changes,))[1]


def _residual(step: Callable[..., Any], first: Any, rows: Any, states: Any) -> Any:
    return states - vmap(step)(before(first, states), rows)


def before(first: Any, states: Any) -> Any:
    """Return the states before each step, from those after."""
    return np.concatenate([first[None], states[:-1]])


def solve(_name: str, program: Program, known: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Solve (1 - J)·x = b, or the transposed system, of a program ``(*known, x) -> (1 - J)·x``."""
    (right,) = values
    b = right.reshape(len(right), -1)
    steps, n = b.shape
    probes = np.zeros((n + 3, steps, n))
    probes[range(n), :, range(n)] = 1
    for k in range(3):  # what every third state reaches shows in which direction
        probes[n + k, k::3] = np.sin(1.0 + np.arange(n))
    flags = (*(False for _ in known), True)
    vectors = probes.reshape(-1, *right.shape)
    (found,) = executable(batch_outputs(program, len(vectors), flags))(*known, vectors)
    products = found.reshape(probes.shape) - probes
    turned = not any(np.any(products[n + k, (k + 1) % 3 :: 3]) for k in range(3))
    blocks = (products[:n, :-1] if turned else products[:n, 1:]).transpose(1, 2, 0)
    i, j = np.arange(n)[:, None], np.arange(n)
    columns = np.arange(steps - 1)[:, None, None] * n
    band = np.zeros((2 * n, steps * n), order="F")
    if turned:  # the band is that of its transpose
        i, j = j, i
    band[n + i - j, columns + j] = blocks
    x, _ = load("scipy.linalg.lapack").dtbtrs(
        band, b.reshape(-1, 1), uplo="L", trans="T" if turned else "N", diag="U"
    )
    return [x.reshape(right.shape)]


_SOLVER: Final = entered.enter("chain", solve)
