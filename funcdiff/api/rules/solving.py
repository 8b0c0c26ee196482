"""Calls custom solvers with concrete arrays, with and without a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import describe
from funcdiff.api.calls.tracing import run
from funcdiff.api.rules.solution import Unknowns, fit_leaves
from funcdiff.core.effects import calls_of, key_of
from funcdiff.core.evaluate import copy_aliased, executable
from funcdiff.core.program import Program
from funcdiff.core.scope import without_recording
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.core.types import ArrayType, native
from funcdiff.errors import ConcreteValueError, OutputError, user_location
from funcdiff.numpy.border.promotion import innermost
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.memory import views
from funcdiff.ops.user.python_call import Name
from funcdiff.ops.user.solvers import Run


class Calls:
    """A solver as programs call it: a function of lists of arrays."""

    def __init__(
        self, solve: Callable[..., Any], structure: pytree.Structure, *, has_aux: bool
    ) -> None:
        self._solve = solve
        self.structure = structure
        self.has_aux = has_aux

    @property
    def has_effects(self) -> bool:
        """Whether the solver may do more than return its results."""
        return getattr(self._solve, "has_effects", True)

    def __call__(
        self, name: str, program: Program, given: Sequence[Any], values: Sequence[Any]
    ) -> list[Any]:
        """Solve the equation that a program is of; return the leaves of what comes out."""
        found, aux = self.run_solver(name, program, given, values)
        return [*found, *(_numbers(aux, name)[0] if self.has_aux else ())]

    def run_solver(
        self, name: str, program: Program, given: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        """Return the leaves of the solution, and what comes beside it."""
        types = program.input_types[len(given) :]

        def function(x: Any) -> Any:
            leaves = fit_leaves(x, self.structure, types, f"the argument of the function of {name}")
            return pytree.unflatten(self.structure, evaluate_or_record(program, [*given, *leaves]))

        start = [np.array(x)[()] for x in values]
        return solution(
            self._solve, function, Unknowns(start, types, self.structure), name,
            has_aux=self.has_aux,
        )  # fmt: skip


def evaluate_or_record(program: Program, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a program or, if an operand is traced, record it: solvers may differentiate."""
    if any_traced(operands):
        return run(program, operands)
    return copy_aliased(executable(program)(*operands), operands)


def solution(
    solve: Callable[..., Any],
    function: Callable[[Any], Any],
    start: Unknowns,
    name: str,
    *,
    has_aux: bool,
) -> tuple[list[Any], Any]:
    """Call a solver; return the leaves of the solution and what comes beside it."""
    with without_recording():
        result = solve(function, pytree.unflatten(start.structure, start.leaves))
    aux = None
    if has_aux:
        if not isinstance(result, tuple) or len(result) != 2:
            raise OutputError(
                f"has_aux=True of {name} needs a solver that returns a pair (solution, aux), but "
                f"it returned {describe(result)}, at {user_location()}."
            )
        result, aux = result
    return fit_leaves(result, start.structure, start.types, f"the solution of {name}"), aux


def _numbers(aux: Any, name: str) -> tuple[list[Any], pytree.Structure]:
    leaves, structure = pytree.flatten(aux)
    arrays = [native(np.array(leaf)) for leaf in leaves]  # the solver may keep its own
    for leaf, y, path in zip(leaves, arrays, pytree.paths(structure), strict=True):
        if y.dtype.kind not in "biufc":
            raise OutputError(
                f"what the solver of {name} returned beside the solution holds {leaf!r} at "
                f"aux{path}, at {user_location()}: in a traced function it must consist of "
                "numbers and arrays. Leave out the rest."
            )
    return [y[()] for y in arrays], structure


def solve_directly(
    solve: Callable[..., Any], f: Callable[..., Any], x: Unknowns, name: str, *, has_aux: bool
) -> Any:
    """Call a solver where nothing is traced."""
    start = x._replace(leaves=[np.array(leaf)[()] for leaf in x.leaves])
    leaves, aux = solution(solve, f, start, name, has_aux=has_aux)
    value = pytree.unflatten(x.structure, leaves)
    return (value, aux) if has_aux else value


def auxiliary(
    solver: Name[Run], name: str, program: Program, operands: Sequence[Any]
) -> tuple[tuple[ArrayType, ...], pytree.Structure | None]:
    """Return types and structure of what a solver returns beside the solution, by solving.

    The equation, which calls the solver by its name, will have these results.
    """
    calls = solver.code
    assert isinstance(calls, Calls)
    if not calls.has_aux:
        return (), None
    try:
        values = [value_of(x) for x in operands]
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"what the solver of {name} returns beside the solution is not known at "
            f"{user_location()}, where the arguments have no values (inside vmap, cond, scan or "
            "trace). Leave out has_aux=True there."
        ) from error
    first = len(program.inputs) - calls.structure.leaf_count
    found, aux = calls.run_solver(name, program, values[:first], values[first:])
    leaves, structure = _numbers(aux, name)
    calls_of(innermost()).note(key_of((solver, program), values), [*found, *leaves], None)
    return tuple(ArrayType(y.shape, y.dtype) for y in leaves), structure


def rebuild_solution(ys: Sequence[Tracer], x: Unknowns, aux: pytree.Structure | None) -> Any:
    """Put the solution, and what comes beside it, back into their containers."""
    results = [views.fresh(y) for y in ys]
    value = pytree.unflatten(x.structure, results[: len(x.types)])
    return value if aux is None else (value, pytree.unflatten(aux, results[len(x.types) :]))
