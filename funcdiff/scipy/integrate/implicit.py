"""Equations whose solutions are known: their derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import as_tracers
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.api.rules.solution import trace_equation, unknowns
from funcdiff.core.evaluate import executable
from funcdiff.core.program import Program
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.root import Root, root
from funcdiff.ops.user.solvers import entered
from funcdiff.scipy.integrate.closures import closure, rate_of
from funcdiff.scipy.integrate.steps import Row

_ITERATIONS: Final = 12
_KNOWN: Final = entered.enter("known_solution", lambda _name, _program, _known, values: values)


def implicit(equation: Callable[[Any], Any], solution: Any) -> Any:
    """Return the solution of ``equation(x) = 0``, as a function of what the equation contains.

    The unknown may be a container.
    """
    x = unknowns(solution, "a solution")
    program, captures = trace_equation(equation, x, "an implicit equation")
    p = Root("an implicit equation", program, len(x.leaves), _KNOWN, (), (), False, "")
    found = root(p, as_tracers([*captures, *x.leaves]))
    return pytree.unflatten(x.structure, found)


class Stepper:
    """Takes the steps of an implicit method with values, and solves their equations to the end.

    SciPy ends its iterations when the error is small against the tolerance; the theorem needs
    solutions.
    """

    def __init__(self, method: Any, rate: Program, types: Sequence[ArrayType]) -> None:
        self._method = method
        count = len(rate.inputs) - 2
        number, state = rate.input_types[count:]
        captures = rate.input_types[:count]

        def program(f: Callable[..., Any], *own: ArrayType) -> Callable[..., Any]:
            with without_recording():
                made = closure(f, *captures, *own)
            execute = executable(made.program)
            return lambda *xs: execute(*made.captures, *xs)

        def start(*xs: Any) -> Any:
            *_, t, y, h = xs
            return method.start(rate_of(rate, xs[:count]), t, y, h)

        def equation(*xs: Any) -> Any:
            carry, t, h, *matrices, u = xs[count:]
            residual = method.residual(
                rate_of(rate, xs[:count]), carry, Row(t, h, (), tuple(matrices))
            )
            return _parts(residual(_whole(u, state)))

        def slope(*xs: Any) -> Any:
            return jacobian(lambda u: equation(*xs[:-1], u))(xs[-1])

        def advance(*xs: Any) -> Any:
            carry, t, h, *matrices, x = xs[count:]
            row = Row(t, h, x, tuple(matrices))
            return method.step(rate_of(rate, xs[:count]), carry, row, lambda _equation, x: x).carry

        carry, unknown, *matrices = types
        real = np.zeros(0, state.dtype).real.dtype
        parts = unknown if state.dtype == real else unknown.with_shape((2, *unknown.shape))
        row = [carry, number, number, *matrices]
        self._state = state
        self._start = program(start, number, state, number)
        self._equation = program(equation, *row, parts.with_dtype(real))
        self._slope = program(slope, *row, parts.with_dtype(real))
        self._advance = program(advance, *row, unknown)

    def solutions(
        self,
        captures: Sequence[Any],
        t: Any,
        y: Any,
        rows: Sequence[tuple[Any, ...]],
        guess: Callable[[int, Any, Any], Any],
    ) -> list[Any]:
        """Return the solutions of all steps; ``guess(k, carry, matrices)`` is near that of a step.

        Rows are ``(t, h, *matrices)``.
        """
        found: list[Any] = []
        if not rows:
            return found
        (carry,) = self._start(*captures, t, y, rows[0][1])
        for k, row in enumerate(rows):
            u = _parts(np.asarray(guess(k, carry, row[2:]), self._state.dtype))
            before = np.inf
            for _ in range(_ITERATIONS):
                (r,) = self._equation(*captures, carry, *row, u)
                (j,) = self._slope(*captures, carry, *row, u)
                change = np.linalg.solve(j.reshape(u.size, u.size), r.ravel()).reshape(u.shape)
                size = float(np.max(np.abs(change), initial=0.0))
                if not size < before:
                    break
                u, before = u - change, size
            found.append(_whole(u, self._state))
            (carry,) = self._advance(*captures, carry, *row, found[-1])
        return found


def _parts(x: Any) -> Any:
    """Return real and imaginary part of what is complex, with an axis in front."""
    return np.stack([np.real(x), np.imag(x)]) if x.dtype.kind == "c" else x


def _whole(u: Any, state: ArrayType) -> Any:
    return u[0] + 1j * u[1] if state.dtype.kind == "c" else u
