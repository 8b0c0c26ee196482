"""Callbacks to custom solvers: Python code, run with concrete arrays, registered by name.

A solver lives as long as a program that calls it, which holds its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.effects import call_once
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import OutputError
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
    def has_effects(self) -> bool:
        """Whether the solver may do more than return its results."""
        return getattr(entered[self.solver], "has_effects", True)


P = TypeVar("P", bound=Problem)


def problem(
    name: str,
    params: type[P],
    jvp: Callable[[P, Tracers, Tangents], Pushed],
    transpose: Callable[[P, Types, Tangents, Tangents], Tangents] | None = None,
) -> Primitive[P]:
    """Declare the primitive of a kind of problem."""

    def batch(p: P, size: int, xs: Tracers, flags: Sequence[bool]) -> Tracers:
        first = known(p)
        values = align(size, xs[first:], flags[first:])
        every = (*flags[:first], *(True for _ in values))
        wider = replace(p, batches=((size, every), *p.batches))
        return bind(primitive, wider, *xs[:first], *values)

    primitive = Primitive(
        name, params, _abstract, _impl, jvp, transpose, batch, facts=Facts(calls_user=True)
    )
    return primitive


def known(p: Problem) -> int:
    """Return how many operands come before the values for the unknowns."""
    return len(p.program.inputs) - p.unknowns


def _abstract(p: Problem, *types: ArrayType) -> Types:
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


def _impl(p: Problem) -> Callable[..., Any]:
    """Call the solver, once per example."""
    return several(
        lambda *operands: map_batches(lambda xs: _solve(p, xs), _results(p), p.batches, operands)
    )


def _solve(p: Problem, operands: Sequence[Any]) -> list[Any]:
    first = known(p)
    results = call_once(
        (p.solver, p.program), operands,
        lambda: entered[p.solver](p.name, p.program, operands[:first], operands[first:]),
    )  # fmt: skip
    kept = [np.asarray(y)[()] for y in results[: p.unknowns + len(p.aux)]]
    found = tuple(ArrayType(y.shape, y.dtype) for y in kept)
    if found != _results(p):
        raise OutputError(
            f"the solver of {p.name} returned {', '.join(map(str, found))} where "
            f"{', '.join(map(str, _results(p)))} had come before for arguments of these types. "
            "What it returns beside the solution must keep its shapes and dtypes."
        )
    return kept


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
