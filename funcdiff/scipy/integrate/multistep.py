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
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.derivatives.jacobian import jacfwd
from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.late import computed
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.solved_equations import entered
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.chains import before
from funcdiff.scipy.integrate.closures import rate_of
from funcdiff.scipy.integrate.known_solutions import known_root
from funcdiff.scipy.ways import closure

_DENSE: Final = 48
"""Numbers in a table up to which the system is one with a band."""

_ITERATIONS: Final = 12
_SETTLED: Final = float(np.finfo(float).eps) ** 0.4
"""A change after which that of Newton's next iteration, about its square, does not matter.

With the system of an earlier iteration, it is about the product with the change of that one.
"""

_FALL: Final = 0.1
"""By which changes have to fall for the next iteration to have the same system."""


class Tables:
    """The equation for all tables, of operands like these.

    They are those of the rate, ends of steps, scales of slopes, A, a, the table before the first
    step, and the tables.
    """

    def __init__(self, rate: Program, types: Sequence[ArrayType]) -> None:
        captures = len(rate.inputs) - 2

        def residual(*xs: Any) -> Any:
            ends, scales, moves, adds, first, tables = xs[captures:]
            slopes = vmap(rate_of(rate, xs[:captures]))(ends, tables[:, 0])
            added = adds[:, :, None] * (scales[:, None] * slopes)[:, None]
            return tables - moves @ before(first, tables) - added

        def slope(*xs: Any) -> Any:
            return jvp(partial(residual, *xs[:-2]), xs[-2:-1], xs[-1:])[1]

        def jacobians(*xs: Any) -> Any:
            ends, scales, *_, tables = xs[captures:]
            found = vmap(jacfwd(rate_of(rate, xs[:captures]), argnums=1))(ends, tables[:, 0])
            return scales[:, None, None] * found

        with without_recording():
            self._equation = closure(residual, *types)
            self._slope = closure(slope, *types, types[-1])
            self._jacobians = closure(jacobians, *types)
        self._solver = entered.enter("tables", self._solve)

    def solve(self, *operands: Any) -> Any:
        """Return the tables, of values, by Newton's iteration from those that are near."""
        *known, tables = operands
        equation, slope = self._equation, self._slope
        previous, first = np.inf, np.inf
        system: _System | None = None
        for _ in range(_ITERATIONS):
            (missed,) = executable(equation.program)(*equation.captures, *known, tables)
            is_new = system is None
            system = system or self._system(slope.program, [*slope.captures, *known, tables])
            change = system.solve(missed)
            size = float(np.max(np.abs(change), initial=0.0))
            if not size < previous:
                break
            first = size if is_new else first
            if first * size <= (_SETTLED * float(np.max(np.abs(tables), initial=0.0))) ** 2:
                return tables - change
            tables, system = tables - change, system if size < _FALL * previous else None
            previous = size
        return tables

    def root(self, *operands: Any) -> Any:
        """Return the tables, which are known, as a function of what the equation contains."""
        equation = self._equation
        xs = as_tracers([*equation.captures, *operands])
        return known_root(equation.program, xs, 1, self._solver)[0]

    def _solve(
        self, _name: str, program: Program, known: Sequence[Any], values: Sequence[Any]
    ) -> list[Any]:
        """Solve the linear system of the tables, or the transposed one, of its program."""
        return [self._system(program, known).solve(values[0])]

    def _system(self, program: Program, known: Sequence[Any]) -> _System:
        jacobians, own = self._jacobians, len(known) - len(self._equation.captures)
        (found,) = executable(jacobians.program)(*jacobians.captures, *known[-own:])
        return _System(found, program, known)


def coefficients(lengths: Any, matrices: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the scales of slopes, A and a, from the matrices of `steps.Multistep`."""
    change, _, gamma, keep, add, inverse, _ = matrices
    taken = add[:, :, None] * (inverse[:, None] * gamma)[:, None]
    return lengths * inverse, (keep - taken) @ change, add


class _System:
    """The linear system of the tables, or the transposed one, by its program.

    With J, the Jacobian of g, a step is x = A·x' + a·(J·y) + b.  It is solved for x by y = p + G·p,
    where p is the first row of A·x' + b and G = (1 - J)⁻¹·J.
    """

    def __init__(self, jacobians: Any, program: Program, known: Sequence[Any]) -> None:
        *_, moves, adds, _, tables = known
        self._moves, self._adds = moves, adds
        probe, n = np.zeros_like(tables), tables.shape[2]
        probe[0, 0] = np.sin(1.0 + np.arange(n))
        (found,) = executable(program)(*known, probe)
        # what the first table reaches shows in which direction
        self._turned = not np.any(found[1, 0] if len(tables) > 1 else found[0, 1])
        self._g = np.linalg.solve(np.eye(n) - jacobians, jacobians)

    def solve(self, right: Any) -> Any:
        """Return x."""
        steps, rows, n = right.shape
        if rows * n <= _DENSE:
            return self._solve_banded(right)
        moves, adds, g, x = self._moves, self._adds, self._g, np.array(right)
        if self._turned:
            for k in reversed(range(steps)):
                if k + 1 < steps:
                    x[k] += moves[k + 1].T @ x[k + 1]
                x[k, 0] += (adds[k] @ x[k]) @ g[k]
        else:
            for k in range(steps):
                if k:
                    x[k] += moves[k] @ x[k - 1]
                x[k] += adds[k, :, None] * (g[k] @ x[k, 0])
        return x

    def _solve_banded(self, right: Any) -> Any:
        """Return x of a triangular banded system: few numbers of each step by few of the other.

        A step is ``x = M·x' + c``, where M is the move of each component and, between components,
        G times ``ends·startsᵀ``.
        """
        steps, rows, n = right.shape
        order = slice(None, None, -1 if self._turned else 1)
        ends, _, turned_g = self._coupling
        gathered = (self._adds[order, None] @ right[order]) if self._turned else right[:, :1]
        c = right[order] + ends[:, :, None] * (gathered @ turned_g)
        flat = c.transpose(0, 2, 1).reshape(-1, 1)
        x, _ = load("scipy.linalg.lapack").dtbtrs(self._band, flat, uplo="L", diag="U")
        return x.reshape(steps, n, rows).transpose(0, 2, 1)[order]

    @computed
    def _coupling(self) -> tuple[Any, Any, Any]:
        """The vectors whose product couples components, and Gᵀ, in the order of the band."""
        steps, rows = self._adds.shape
        if not self._turned:
            return self._adds, self._moves[:, 0], self._g.transpose(0, 2, 1)
        starts = (self._ahead @ self._adds[::-1, :, None])[:, :, 0]
        return np.eye(1, rows).repeat(steps, 0), starts, self._g[::-1]

    @property
    def _ahead(self) -> Any:
        """The moves to the steps behind, backwards; what the last one meets is nothing."""
        return np.concatenate([self._moves[1:], self._moves[:1]])[::-1]

    @computed
    def _band(self) -> Any:
        ends, starts, turned_g = self._coupling
        kinds = self._ahead if self._turned else self._moves.transpose(0, 2, 1)
        (steps, rows), n = ends.shape, self._g.shape[-1]
        outer, size = starts[1:, :, None] * ends[1:, None], rows * n
        band = np.zeros((2 * size, steps * size), order="F")
        blocks = np.lib.stride_tricks.as_strided(  # step, j, its place, i, its place
            band.reshape(-1, order="A")[size:], (steps - 1, n, rows, n, rows),
            [8 * k for k in (2 * size * size, rows * (2 * size - 1), 2 * size - 1, rows, 1)],
        )  # fmt: skip
        for i in range(n):
            for j in range(n):
                blocks[:, j, :, i] = -turned_g[1:, j, i, None, None] * outer
            blocks[:, i, :, i] -= kinds[1:]
        return band
