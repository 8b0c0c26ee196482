"""Functions that decide by values, ``if x < 1``, as one program with a branch for each outcome.

Such a function has no program of its own.  Where values are known it is called by the solver that
is to integrate it, and traced for each way that Python takes through it; the program then chooses
among these.  Where none of them was taken it gives nan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.adapting.conditions import forgiveness
from funcdiff.api.calls.tracing import nested_policy, record, run
from funcdiff.api.control.branching import cond
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.core.running.decisions import Decisions
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, FuncdiffError
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.creation.construction import array
from funcdiff.ops.structure.slicing import unknown


class Closure(NamedTuple):
    """A function as a program.

    Attributes
    ----------
    program
        ``(*captures, *arguments) -> outputs``.
    captures
        What it closes over: arrays, or tracers of an enclosing trace.
    structure
        The container of the outputs.
    """

    program: Program
    captures: list[Any]
    structure: pytree.Structure

    @property
    def is_traced(self) -> bool:
        """Whether its values depend on something that is traced."""
        return any(isinstance(x, Tracer) for x in self.captures)


def closure(f: Callable[..., Any], *types: ArrayType) -> Closure:
    """Trace a function of arrays of these types, without values."""
    operands = [np.zeros(t.shape, t.dtype)[()] for t in types]
    trace = record(
        f, operands, lambda xs: f(*xs), nested_policy(0, eager=False, lifts=False), types=types
    )
    program = close_over(trace.recording, len(trace.captures))
    return Closure(program, trace.captures, trace.structure)


class Way(NamedTuple):
    """A way through a function.

    Attributes
    ----------
    program
        ``(*arguments, *captures) -> (*results, *what decided)``.
    captures
        What is closed over.
    structure
        The container of the results.
    outcomes
        For which the program holds.
    """

    program: Program
    captures: list[Any]
    structure: pytree.Structure
    outcomes: tuple[int, ...]

    def results(self, xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results of traced arguments, and what decides whether they hold."""
        found = run(self.program, [*xs, *self.captures])
        count = len(found) - len(self.outcomes)
        return found[:count], found[count:]

    def at(self, xs: Sequence[Any]) -> list[Any] | None:
        """Return the results for values, or None where another way is taken."""
        found = executable(self.program)(*xs, *map(value_of, self.captures))
        count = len(found) - len(self.outcomes)
        return found[:count] if tuple(map(int, found[count:])) == self.outcomes else None


class Ways:
    """The ways through a function of arrays of these types, as far as it was called.

    `f`: the function.  What it closes over has values.
    `*types`: of its arguments.
    """

    def __init__(self, f: Callable[..., Any], *types: ArrayType) -> None:
        self._f = f
        self._types = types
        self._known: list[Way] = []

    def __call__(self, *xs: Any) -> Any:
        """Return the results for values."""
        xs = tuple(np.asarray(x, t.dtype)[()] for x, t in zip(xs, self._types, strict=True))
        found: Any
        for way in self._known:
            found = way.at(xs)
            if found is not None:
                break
        else:
            way = self._trace(xs)
            self._known.append(way)
            found = way.at(xs) or []
        return pytree.unflatten(way.structure, found)

    def _trace(self, xs: Sequence[Any]) -> Way:
        policy = nested_policy(0, eager=False, lifts=False)
        trace = record(
            self._f,
            xs,
            lambda tracers: self._f(*tracers),
            policy,
            types=self._types,
            decisions=Decisions,
        )
        entries, outputs, origins, _ = trace.recording
        decided = tuple(decision.atom for decision in trace.decisions)
        return Way(
            program_of(entries, (*outputs, *decided), origins), trace.captures, trace.structure,
            tuple(decision.outcome for decision in trace.decisions),
        )  # fmt: skip

    def program(self) -> Closure:
        """Return the program that chooses among the ways."""
        return closure(lambda *xs: self._choose(self._known, xs), *self._types)

    def _choose(self, ways: Sequence[Way], xs: Sequence[Any]) -> Any:
        first, *others = ways
        results, decided = first.results(xs)
        if not first.outcomes:  # the function decides nothing; another one did
            return pytree.unflatten(first.structure, results)
        pairs = zip(decided, first.outcomes, strict=True)
        holds = np.all(np.stack([array(d == outcome) for d, outcome in pairs]))

        def other(*xs: Any) -> Any:
            if others:
                return self._choose(others, xs)
            nobody_knows: list[Any] = [unknown(array(y)) for y in results]
            return pytree.unflatten(first.structure, [np.nan + y for y in nobody_knows])

        return cond(holds, lambda *_xs: pytree.unflatten(first.structure, results), other, *xs)


def closures(
    functions: Sequence[Callable[..., Any]], types: Sequence[ArrayType], explore: Callable[..., Any]
) -> list[Closure]:
    """Trace functions of the same arguments, by their ways if they decide by values.

    `functions`: the functions.
    `types`: of their arguments.
    `explore`: ``explore(*functions)`` calls functions of values as the solver will; it raises
      ConcreteValueError where values are not known.
    """
    forgive = forgiveness()
    try:
        return [closure(f, *types) for f in functions]
    except ConcreteValueError as error:
        forgive()
        ways = [Ways(f, *types) for f in functions]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they come again with the result
                explore(*ways)
        except FuncdiffError:
            raise error from None
        return [way.program() for way in ways]
