"""Callbacks to solvers: Python code of the user's, run with concrete arrays, known by name.

A solver lives as long as a program that calls it, which holds its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.primitive import Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import OutputError, ProgramError
from funcdiff.ops.families import several
from funcdiff.ops.user.looped_batch import Batches, batched_types, map_batches
from funcdiff.ops.user.named_code import Entered
from funcdiff.space import Maybe, align
from funcdiff.transforms.jvp import present
from funcdiff.transforms.vmap import vmap

Run: TypeAlias = Callable[[str, Program, Sequence[Any], Sequence[Any]], Sequence[Any]]
"""``run(name, program, known, values) -> results``.

The program is a function of `known`, which come first among its inputs, and of the unknowns;
`values` are what the solver starts from, or the right-hand side.  Messages speak of `name`.
"""


entered: Final[Entered[Run]] = Entered()
"""Solvers by name."""


class Problem(Protocol):
    """The parameters that problems for solvers have in common."""

    @property
    def name(self) -> str:
        """What messages call the problem."""

    @property
    def program(self) -> Program:
        """``(*known, *unknowns) -> results`` like the unknowns."""

    @property
    def unknowns(self) -> int:
        """How many there are."""

    @property
    def solver(self) -> str:
        """The name of the solver."""

    @property
    def aux(self) -> Types:
        """Types of what the solver returns beside the solution."""

    @property
    def batches(self) -> Batches:
        """The batch axes of the operands."""


P = TypeVar("P", bound=Any)
"""A dataclass that is a `Problem`."""


def known(p: Problem) -> int:
    """Return how many operands come before the values for the unknowns."""
    return len(p.program.inputs) - p.unknowns


def abstract(p: Problem, *types: ArrayType) -> Types:
    """Type rule: one solution per example, then what comes with it."""
    wanted = [
        t.with_shape((*(size for size, flags in p.batches if flags[k]), *t.shape))
        for k, t in enumerate(p.program.input_types)
    ]
    if list(types) != wanted:
        raise TypeError(f"{p.name} takes {wanted}, got {types}")
    return batched_types(_results(p), p.batches)


def _results(p: Problem) -> Types:
    """Return the types of the results of one example."""
    return (*p.program.input_types[known(p) :], *p.aux)


def impl(p: Problem) -> Callable[..., Any]:
    """Call the solver, once per example."""
    return several(
        lambda *operands: map_batches(lambda xs: _solve(p, xs), _results(p), p.batches, operands)
    )


def _solve(p: Problem, operands: Sequence[Any]) -> list[Any]:
    run = entered.find(p.solver)
    if run is None:
        raise ProgramError(
            f"a program calls the solver {p.solver!r} of {p.name}, which is not known in this "
            "process any more. Trace the function again, there where its solver is defined."
        )
    first = known(p)
    results = run(p.name, p.program, operands[:first], operands[first:])
    kept = [np.asarray(y)[()] for y in results[: p.unknowns + len(p.aux)]]
    found = tuple(ArrayType(y.shape, y.dtype) for y in kept)
    if found != _results(p):
        raise OutputError(
            f"the solver of {p.name} returned {', '.join(map(str, found))} where "
            f"{', '.join(map(str, _results(p)))} had come before for arguments of these types. "
            "What it returns beside the solution must keep its shapes and dtypes."
        )
    return kept


def add_batch_axis(p: P, size: int, xs: Tracers, flags: Sequence[bool]) -> tuple[P, list[Tracer]]:
    """Return the problem with one more batch axis, and its operands."""
    first = known(p)
    values = align(size, xs[first:], flags[first:])
    every = (*flags[:first], *(True for _ in values))
    return replace(p, batches=((size, every), *p.batches)), [*xs[:first], *values]


def tangents(rule: Program, p: Problem, xs: Tracers, ys: Tracers, ts: Tangents) -> list[Maybe]:
    """Return the tangents of all results of a problem, by the rule of one example.

    The rule is ``(*known, *solution, *ts) -> t_solution`` for those tangents that are there.
    """
    first = known(p)
    operands = [*xs[:first], *ys[: p.unknowns], *present(ts)]
    moving = [k for k, t in enumerate(ts) if t is not None]
    every = (True,) * p.unknowns
    for size, flags in reversed(p.batches):
        marked = (*flags[:first], *every, *(flags[k] for k in moving))
        rule, _ = vmap(rule, size, marked, every)
    return [*inline(rule, operands), *(None for _ in p.aux)]
