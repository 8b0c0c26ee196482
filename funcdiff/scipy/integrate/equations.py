"""Equations of steps, solved for values, at which the implicit function theorem is applied.

Of small systems they are solved for all steps at once, of large ones step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.scope import without_recording
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.scipy.integrate import nordsieck
from funcdiff.scipy.integrate.chains import correction
from funcdiff.scipy.integrate.chains import solve as solve_chain
from funcdiff.scipy.integrate.closures import rate_of
from funcdiff.scipy.integrate.known_solutions import Stepper, implicit
from funcdiff.scipy.integrate.method_steps import (
    METHODS,
    Multistep,
    Result,
    Row,
    RungeKutta,
    bdf_matrices,
    bdf_tables,
)
from funcdiff.scipy.integrate.multistep import Tables, coefficients
from funcdiff.scipy.integrate.solving import FEW, SEVERAL, Given, Settings, Solution, function_of
from funcdiff.scipy.ways import Closure, closure

IN_MEMORY: Final = 1 << 20
"""Numbers that the stages of all steps may have before they are computed twice instead."""


class Equations:
    """The equations of the steps of a problem.

    `settings`: what the problem is.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._programs: dict[Any, Any] = {}

    def step_values(self, given: Given, solution: Solution, count: int) -> list[Any]:
        """Return states after so many steps, then solutions and matrices of an implicit method."""
        method: Any = METHODS[solution.method]()
        steps = [*solution.steps, *solution.steps[-1:] * (count - len(solution.steps))]
        if not steps:
            return []
        if isinstance(method, RungeKutta):
            return [np.stack([step.near for step in steps])]
        nodes = np.append(float(given.t0), [step.end for step in steps])
        lengths, y0 = np.diff(nodes), np.asarray(given.y0)
        matrices: tuple[Any, ...] = ()
        histories: list[Any] = [step.history for step in steps]
        if isinstance(method, Multistep):
            # behind the last step, its table becomes that of a constant
            rest = lengths[:-1] == 0
            ratios = np.where(rest, 1.0, lengths[1:] / np.where(rest, 1.0, lengths[:-1]))
            ratios = np.append(1.0, ratios)
            if solution.method == "BDF":
                orders, behind = [s.order for s in steps], [s.behind for s in steps]
                matrices = bdf_matrices(orders, behind, ratios)
            else:
                matrices = nordsieck.matrices(histories, ratios, method.count)
        near = [step.near for step in steps]
        together = is_small(method, count, ArrayType(y0.shape, y0.dtype))
        if matrices and together:
            rate = function_of(self._settings.rate, given.rate, freely=True)
            first = method.start(rate, given.t0, y0, lengths[0])
            if histories[0] is None:
                tables = bdf_tables(first, near, matrices)
            else:
                tables = nordsieck.tables(first, histories, np.stack(near), lengths, matrices)
            known = [*given.rate, nodes[1:], *coefficients(lengths, matrices), first, tables]
            return [self.tables(known).solve(*known), *matrices]

        def guess(k: int, carry: Any, rest: Any) -> Any:
            return near[k] - rest[1] @ (rest[0] @ carry) if rest else near[k]

        rows = list(zip(nodes[:-1], lengths, *matrices, strict=True))
        stepper = self._stepper(solution.method, y0, matrices)
        start = given.rate, np.float64(given.t0), y0, rows, guess
        if not together:
            return [*map(np.stack, zip(*stepper.solutions(*start), strict=True)), *matrices]

        def link(first: Any, columns: Any, zs: Any, states: Any, missed: Any) -> Any:
            t, h, *others = columns
            known = [*given.rate, first, t, h, zs, *others, states]
            program = self._link(solution.method, [*known, missed])
            return solve_chain("", program.program, [*program.captures, *known], [missed])[0]

        return [*stepper.together(*start, link), *matrices]

    def tables(self, like: Sequence[Any]) -> Tables:
        """Return the equation for the tables of a multistep method, of operands like these."""
        types = tuple(ArrayType(np.shape(x), x.dtype) for x in like)
        if types not in self._programs:
            self._programs[types] = Tables(self._settings.rate, types)
        found: Tables = self._programs[types]
        return found

    def _link(self, name: str, like: Sequence[Any]) -> Closure:
        """Return the linear system of all steps at once, for arrays like these."""
        types = tuple(ArrayType(np.shape(x), np.asarray(x).dtype) for x in like)
        key = name, types
        if key not in self._programs:
            count, method = len(self._settings.rate.inputs) - 2, METHODS[name]()

            def system(*xs: Any) -> Any:
                first, *rows, states, changes = xs[count:]
                step = resuming(method, rate_of(self._settings.rate, xs[:count]))
                return correction(
                    lambda *at: state_of(step(*at).carry), first, (*rows,), states, changes
                )

            with without_recording():
                self._programs[key] = closure(system, *types)
        found: Closure = self._programs[key]
        return found

    def _stepper(self, name: str, y0: Any, matrices: Sequence[Any]) -> Stepper:
        key = name, y0.shape, y0.dtype
        if key not in self._programs:
            method: Any = METHODS[name]()
            types = [t.with_dtype(y0.dtype) for t in method.types(y0.size)]
            rest = [ArrayType(x.shape[1:], FLOAT) for x in matrices]
            self._programs[key] = Stepper(method, self._settings.rate, [*types, *rest])
        found_stepper: Stepper = self._programs[key]
        return found_stepper


def resuming(method: Any, f: Callable[..., Any]) -> Callable[[Any, Any], Result]:
    """Return what takes a step from a carry, or from its state alone."""

    def step(carry: Any, row: Any) -> Result:
        t, h, *given = row
        if isinstance(method, RungeKutta) and not isinstance(carry, tuple):
            carry = method.start(f, t, carry, h)
        solution = given[0] if given else ()
        result: Result = method.step(f, carry, Row(t, h, solution, tuple(given[1:])), implicit)
        return result

    return step


def state_of(carry: Any) -> Any:
    """Return what the rest of a carry follows from."""
    return carry[0] if isinstance(carry, tuple) else carry


def is_small(method: Any, steps: int, state: ArrayType) -> bool:
    """Return whether the slopes of all steps are computed at once, of real states."""
    has_one = isinstance(method, Multistep)
    few, most = (SEVERAL, 4 * IN_MEMORY) if has_one else (FEW, IN_MEMORY)
    return state.dtype.kind == "f" and 0 < state.size <= few and steps * state.size**2 <= most
