"""Callbacks to custom solvers: Python code, run with concrete arrays, registered by name.

A solver lives as long as a program that calls it, which holds its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from funcdiff.core.primitive import Params, Primitive, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import call_once
from funcdiff.ops.user.python_call import (
    Batches,
    Entered,
    Rule,
    Turned,
    by_example,
    check_results,
    python_call,
)

Run: TypeAlias = Callable[[str, Program, Sequence[Any], Sequence[Any]], Sequence[Any]]
"""``run(name, program, known, values) -> results``.

The program is a function of `known`, which come first among its inputs, and of the unknowns;
`values` are what the solver starts from, or the right-hand side.  Messages speak of `name`.
"""

P = TypeVar("P", bound="Problem")

entered: Final[Entered[Run]] = Entered(
    "the solver", "Trace the function again, there where its solver is defined."
)
"""Solvers by name."""


class Problem(Params):
    """A program with unknowns, which a solver finds."""

    name: str  # of the problem, for messages
    program: Program  # ``(*known, *unknowns) -> results`` like the unknowns
    unknowns: int  # how many there are
    solver: str  # its name
    aux: Types  # types of the solver's further results
    batches: Batches  # batch axes of the operands

    @property
    def results(self) -> Types:
        """The types of the results of one example."""
        return (*self.program.input_types[known(self) :], *self.aux)

    @property
    def has_effects(self) -> bool:
        """Whether the solver may do more than return its results."""
        return getattr(entered[self.solver], "has_effects", True)


def known(p: Problem) -> int:
    """Return how many operands come before the values for the unknowns."""
    return len(p.program.inputs) - p.unknowns


def _solve(p: Problem, operands: Sequence[Any]) -> list[Any]:
    """Call the solver for one example."""
    first = known(p)
    results = call_once(
        (p.solver, p.program), operands,
        lambda: entered[p.solver](p.name, p.program, operands[:first], operands[first:]),
    )  # fmt: skip
    return check_results(
        results[: p.unknowns + len(p.aux)], p.results,
        lambda found, wanted: f"the solver of {p.name} returned {found} where {wanted} had come "
        "before for arguments of these types. What it returns beside the solution must keep its "
        "shapes and dtypes.",
    )  # fmt: skip


def problem(
    name: str, params: type[P], tangents: Rule, cotangents: Turned | None = None
) -> Primitive[P]:
    """Declare the primitive of a kind of problem; the values for unknowns have every batch axis."""
    return python_call(
        name, params, by_example(_solve), tangents, cotangents,
        takes=lambda p: p.program.input_types, wide=lambda p: slice(known(p), None),
    )  # fmt: skip
