"""Iterations of loops that Python decides by values, as operations on the state of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.api.control.branching import cond
from funcdiff.core.atoms import Literal
from funcdiff.core.builder import Builder, constant, current_builder
from funcdiff.core.primitive import Operation
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.elementwise.logic import equal, logical_not, logical_or

Predicate: TypeAlias = Callable[[Tracer], Tracer]


class Of(NamedTuple):
    """The value of a slot at the beginning of an iteration."""

    slot: int


class Const(NamedTuple):
    """An array that the user's code has from elsewhere."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and _bytes(self.value) == _bytes(other.value)

    def __hash__(self) -> int:
        return hash(_bytes(self.value))


Source: TypeAlias = int | Of | Const | Literal
"""Where an operand comes from; an int is the number of a result within the iteration."""


class Look(NamedTuple):
    """A look at a value within an iteration, after so many of its operations."""

    known: int
    asked: Source
    predicate: Predicate
    outcome: int
    is_flag: bool


class Step(NamedTuple):
    """An operation of an iteration: the number of its first result, and its operands."""

    number: int
    operation: Operation
    operands: tuple[Source, ...]


class Path(NamedTuple):
    """An iteration on one way: from a decision to the next one at the same place."""

    looks: tuple[Look, ...]  # the first is that at the beginning, at the value in the last slot
    steps: tuple[Step, ...]  # its operations
    after: tuple[Source, ...]  # what is in the slots at the end

    @property
    def outcomes(self) -> tuple[int, ...]:
        """Which way it is."""
        return tuple([look.outcome for look in self.looks])


Paths: TypeAlias = tuple[Path, ...]
_FLAG: Final = ArrayType((), BOOL)


class _Point(NamedTuple):
    """How far an iteration is recorded: its results by number, and how many steps were done."""

    results: dict[int, Tracer]
    done: int


class Iteration:
    """The known ways of an iteration, recorded as one body with branches."""

    def __init__(self, paths: Paths, slots: Sequence[Tracer]) -> None:
        self._paths, self._slots = paths, slots

    def goes_on(self) -> Any:
        """Record whether the way that comes is one of those."""
        return self._is_known(self._paths, 0, _Point({}, 0))

    def after(self, places: Sequence[int]) -> list[Tracer]:
        """Record what some slots have at the end of the iteration."""
        return self._after(self._paths, 0, _Point({}, 0), places)

    def _is_known(self, paths: Paths, depth: int, point: _Point) -> Any:
        if is_total(paths, depth):
            return constant(True, _FLAG)
        point = self._run(paths[0], point, paths[0].looks[depth].known)
        known = constant(False, _FLAG)
        for outcome, members in _groups(paths, depth).items():
            holds = self._has_outcome(paths[0].looks[depth], outcome, point)
            if not is_total(members, depth + 1):
                rest = partial(self._is_known, members, depth + 1, point)
                holds = cond(holds, rest, partial(constant, False, _FLAG))
            known = holds if known.builder is None else logical_or(known, holds)
        return known

    def _after(
        self, paths: Paths, depth: int, point: _Point, places: Sequence[int]
    ) -> list[Tracer]:
        path = paths[0]
        if depth == len(path.looks):
            results = self._run(path, point, len(path.steps)).results
            return [self._read(path.after[k], results) for k in places]
        (outcome, members), *_ = ways = list(_groups(paths, depth).items())
        if len(ways) == 1:
            return self._after(members, depth + 1, point, places)
        point = self._run(path, point, path.looks[depth].known)
        others = tuple([other for _, group in ways[1:] for other in group])
        return cond(
            self._has_outcome(path.looks[depth], outcome, point),
            partial(self._after, members, depth + 1, point, places),
            partial(self._after, others, depth, point, places),
        )

    def _has_outcome(self, look: Look, outcome: int, point: _Point) -> Any:
        """Record whether a look has an outcome; what it needs was done."""
        asked = look.predicate(self._read(look.asked, point.results))
        if look.is_flag:
            return asked if outcome else logical_not(asked)
        return equal(asked, constant(outcome, asked.type))

    def _run(self, path: Path, point: _Point, stop: int) -> _Point:
        """Record the operations of a way up to one, but those that were done."""
        builder = current_builder()
        assert builder is not None
        results = dict(point.results)
        for number, operation, operands in path.steps[point.done : stop]:
            refs = [builder.ref(self._read(x, results)) for x in operands]
            results.update(enumerate(builder.record(operation, refs), number))
        return _Point(results, max(point.done, stop))

    def _read(self, source: Source, results: Mapping[int, Tracer]) -> Tracer:
        if isinstance(source, Of):
            return self._slots[source.slot]
        if isinstance(source, Literal):
            return Builder.handle(None, source, source.type)
        if isinstance(source, Const):
            builder = current_builder()
            assert builder is not None
            return builder.capture(source.value)
        return results[source]


def _bytes(value: Any) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype, array.shape, array.tobytes()


def is_total(paths: Paths, depth: int) -> bool:
    """Whether a way is known whatever the outcomes are from one look on."""
    if any(len(path.looks) == depth for path in paths):
        return True
    ways = _groups(paths, depth)
    every = paths[0].looks[depth].is_flag and set(ways) == {0, 1}
    return every and all(is_total(members, depth + 1) for members in ways.values())


def _groups(paths: Paths, depth: int) -> dict[int, Paths]:
    """Return the ways that have each outcome at a look."""
    groups: dict[int, Paths] = {}
    for path in paths:
        outcome = path.looks[depth].outcome
        groups[outcome] = (*groups.get(outcome, ()), path)
    return groups
