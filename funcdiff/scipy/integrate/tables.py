"""Multistep methods, all steps at once: only slopes couple the components of a state.

The tables behind the steps satisfy D[k] = A[k]·D[k-1] + a[k]·g[k](y[k]), with y[k] in the first row
of D[k], where a[k] is 1: matrices A and vectors a are the same for all components, g is the slope
times a number.  So the Jacobians of g are all that is found by products, one per component.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.calls.arguments import as_tracers
from funcdiff.api.derivatives.products import jvp
from funcdiff.core.evaluate import executable
from funcdiff.core.program import Program
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.solvers import entered
from funcdiff.scipy.integrate.chains import before
from funcdiff.scipy.integrate.closures import closure, rate_of
from funcdiff.scipy.integrate.implicit import known_root
from funcdiff.transforms.vmap import mapped

_ITERATIONS: Final = 12
_SETTLED: Final = float(np.finfo(float).eps) ** 0.4
"""A change after which that of Newton's next iteration, about its square, does not matter."""


class Tables:
    """The equation for all tables, of operands like these.

    They are those of the rate, ends of steps, scales of slopes, A, a, the table before the first
    step, and the tables.
    """

    def __init__(self, rate: Program, types: Sequence[ArrayType]) -> None:
        captures = len(rate.inputs) - 2

        def missed(*xs: Any) -> Any:
            ends, scales, moves, adds, first, tables = xs[captures:]
            slopes = vmap(rate_of(rate, xs[:captures]))(ends, tables[:, 0])
            added = adds[:, :, None] * (scales[:, None] * slopes)[:, None]
            return tables - moves @ before(first, tables) - added

        def slope(*xs: Any) -> Any:
            return jvp(partial(missed, *xs[:-2]), xs[-2:-1], xs[-1:])[1]

        with without_recording():
            self._equation = closure(missed, *types)
            self._slope = closure(slope, *types, types[-1])

    def solved(self, *operands: Any) -> Any:
        """Return the tables, of values, by Newton's iteration from those that are near."""
        *known, tables = operands
        equation, slope = self._equation, self._slope
        previous = np.inf
        for _ in range(_ITERATIONS):
            missed = executable(equation.program)(*equation.captures, *known, tables)
            at = [*slope.captures, *known, tables]
            (change,) = solve("", slope.program, at, missed)
            size = float(np.max(np.abs(change), initial=0.0))
            if not size < previous:
                break
            tables, previous = tables - change, size
            if size < _SETTLED * float(np.max(np.abs(tables), initial=0.0)):
                break
        return tables

    def known(self, *operands: Any) -> Any:
        """Return the tables, which are known, as a function of what the equation contains."""
        equation = self._equation
        xs = as_tracers([*equation.captures, *operands])
        return known_root(equation.program, xs, 1, _SOLVER)[0]


def coefficients(lengths: Any, matrices: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the scales of slopes, A and a, from the matrices of `steps.Multistep`."""
    change, _, gamma, keep, add, inverse, _ = matrices
    taken = add[:, :, None] * (inverse[:, None] * gamma)[:, None]
    return lengths * inverse, (keep - taken) @ change, add


def solve(_name: str, program: Program, known: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Solve the linear system of the tables, or the transposed one, of its program.

    With J, the Jacobian of g, a step is x = A·x' + a·(J·y) + b.  It is solved for x by y = p + G·p,
    where p is the first row of A·x' + b and G = (1 - J)⁻¹·J.
    """
    *_, moves, adds, _, _ = known
    (right,) = values
    steps, rows, n = right.shape
    probes = np.zeros((n + 1, steps, rows, n))
    probes[range(n), :, 0, range(n)] = 1
    probes[n, 0, 0, 0] = 1
    flags = (*(False for _ in known), True)
    (found,) = executable(mapped(program, n + 1, flags))(*known, probes)
    # what the first table reaches shows in which direction
    turned = not (found[n, 1, 0, 0] if steps > 1 else np.any(found[:n, 0, 1]))
    diagonal = np.append(0.0, moves[1:, 0, 0])
    kept = 1 - (np.append(diagonal[1:], 0.0) if turned else diagonal)
    jacobians = kept[:, None, None] * np.eye(n) - found[:n, :, 0].transpose(1, 2, 0)
    if turned:
        jacobians = jacobians.transpose(0, 2, 1)
    g = np.linalg.solve(np.eye(n) - jacobians, jacobians)
    x = np.array(right)
    if turned:
        for k in reversed(range(steps)):
            if k + 1 < steps:
                x[k] += moves[k + 1].T @ x[k + 1]
            x[k, 0] += (adds[k] @ x[k]) @ g[k]
    else:
        for k in range(steps):
            if k:
                x[k] += moves[k] @ x[k - 1]
            x[k] += adds[k, :, None] * (g[k] @ x[k, 0])
    return [x]


_SOLVER: Final = entered.enter("tables", solve)
