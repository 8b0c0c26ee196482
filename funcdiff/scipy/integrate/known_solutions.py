"""Equations whose solutions are known: their derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.api.rules.solver_calls import trace_equation, unknowns
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.solved_equations import Root, entered, root
from funcdiff.scipy.integrate.closures import rate_of
from funcdiff.scipy.integrate.method_steps import Row
from funcdiff.scipy.ways import closure
from funcdiff.transforms.vmap import batch_outputs

_ITERATIONS: Final = 12
_NEAR: Final = float(np.finfo(float).eps) ** 0.75
_KNOWN: Final = entered.enter("known_solution", lambda _name, _program, _known, values: values)


def implicit(equation: Callable[[Any], Any], solution: Any, solver: str = "") -> Any:
    """Return the solution of ``equation(x) = 0``, as a function of what the equation contains.

    The unknown may be a container.  The solver of linear equations has a name; none factorizes.
    """
    x = unknowns(solution, "a solution")
    program, captures = trace_equation(equation, x, "an implicit equation")
    found = known_root(program, as_tracers([*captures, *x.leaves]), len(x.leaves), solver)
    return pytree.unflatten(x.structure, found)


def known_root(program: Program, operands: Sequence[Any], unknowns: int, solver: str) -> list[Any]:
    """Return the unknowns, which are known and come last, as a function of the other operands."""
    p = Root("an implicit equation", program, unknowns, _KNOWN, (), (), False, solver)
    return [*root(p, operands)]


class _Steps:
    """A function of captures and of what differs between steps, for one step or for all at once."""

    def __init__(self, f: Callable[..., Any], captures: Sequence[ArrayType], *own: ArrayType):
        with without_recording():
            made = closure(f, *captures, *own)
        self._program, self._constants = made.program, made.captures
        self._known = len(self._constants) + len(captures)

    def __call__(self, *xs: Any) -> Any:
        return executable(self._program)(*self._constants, *xs)[0]

    def together(self, steps: int, *xs: Any) -> Any:
        """Return the results of all steps, of arrays with their axis in front."""
        every = [*self._constants, *xs]
        flags = [k >= self._known for k in range(len(every))]
        return executable(batch_outputs(self._program, steps, flags))(*every)[0]


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
        self._start = _Steps(start, captures, number, state, number)
        self._equation = _Steps(equation, captures, *row, parts.with_dtype(real))
        self._slope = _Steps(slope, captures, *row, parts.with_dtype(real))
        self._advance = _Steps(advance, captures, *row, unknown)

    def solutions(
        self,
        captures: Sequence[Any],
        t: Any,
        y: Any,
        rows: Sequence[tuple[Any, ...]],
        guess: Callable[[int, Any, Any], Any],
    ) -> list[tuple[Any, Any]]:
        """Return carries and solutions of all steps; ``guess(k, carry, matrices)`` is near one.

        Rows are ``(t, h, *matrices)``.
        """
        found: list[Any] = []
        if not rows:
            return found
        carry = self._start(*captures, t, y, rows[0][1])
        for k, row in enumerate(rows):
            u = _parts(np.asarray(guess(k, carry, row[2:]), self._state.dtype))
            before = np.inf
            for _ in range(_ITERATIONS):
                r = self._equation(*captures, carry, *row, u)
                j = self._slope(*captures, carry, *row, u)
                change = np.linalg.solve(j.reshape(u.size, u.size), r.ravel()).reshape(u.shape)
                size = float(np.max(np.abs(change), initial=0.0))
                if not size < before:
                    break
                u, before = u - change, size
            z = _whole(u, self._state)
            carry = self._advance(*captures, carry, *row, z)
            found.append((carry, z))
        return found

    def together(
        self,
        captures: Sequence[Any],
        t: Any,
        y: Any,
        rows: Sequence[tuple[Any, ...]],
        guess: Callable[[int, Any, Any], Any],
        link: Callable[..., Any],
    ) -> tuple[Any, Any]:
        """Return the same, stacked, by Newton's iteration for all steps at once, of real states.

        ``link(first, columns, solutions, carries, missed)`` returns by how much carries change that
        miss the results of the steps before by `residual`.
        """
        first = carry = self._start(*captures, t, y, rows[0][1])
        found = []
        for k, row in enumerate(rows):
            z = np.asarray(guess(k, carry, row[2:]), self._state.dtype)
            carry = self._advance(*captures, carry, *row, z)
            found.append((carry, z))
        carries, zs = map(np.stack, zip(*found, strict=True))
        columns = [np.stack(column) for column in zip(*rows, strict=True)]
        count, previous = len(rows), np.inf
        for _ in range(_ITERATIONS):
            at = [*captures, np.concatenate([first[None], carries[:-1]]), *columns]
            r = self._equation.together(count, *at, zs).reshape(count, -1, 1)
            j = self._slope.together(count, *at, zs).reshape(count, r.shape[1], -1)
            zs = zs - np.linalg.solve(j, r).reshape(zs.shape)
            missed = self._advance.together(count, *at, zs) - carries
            change = link(first, columns, zs, carries, missed)
            size = float(np.max(np.abs(change), initial=0.0))
            if not size < previous:
                break
            carries, previous = carries + change, size
            if size < _NEAR * float(np.max(np.abs(carries), initial=0.0)):
                break  # rounding errors are left
        return carries, zs


def _parts(x: Any) -> Any:
    """Return real and imaginary part of what is complex, with an axis in front."""
    return np.stack([np.real(x), np.imag(x)]) if x.dtype.kind == "c" else x


def _whole(u: Any, state: ArrayType) -> Any:
    return u[0] + 1j * u[1] if state.dtype.kind == "c" else u
