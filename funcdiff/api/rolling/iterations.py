"""Loop detection in a recording: the operations between two decisions at one place in the code.

An iteration is these operations, applied to the state of the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from types import FrameType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.api.control.branching import cond
from funcdiff.api.rolling.states import Changes, Slot, State
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.core.tracer import Recorder, Tracer
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
    written: frozenset[int]  # things that the iteration has changed in place
    replaced: frozenset[int]  # in whose place something else is at the end

    @property
    def outcomes(self) -> tuple[int, ...]:
        """Which way it is."""
        return tuple([look.outcome for look in self.looks])


Paths: TypeAlias = tuple[Path, ...]
FLAG: Final = ArrayType((), BOOL)


class _Point(NamedTuple):
    """How far an iteration is recorded: its results by number, and how many steps were done."""

    results: dict[int, Tracer]
    done: int


class Iteration:
    """The known ways of an iteration, recorded as one body with branches."""

    def __init__(self, paths: Paths, slots: Sequence[Tracer]) -> None:
        self._paths, self._slots = paths, slots

    def begins(self) -> Any:
        """Record whether the first look goes on as it did on one of the ways."""
        if self._is_complete(self._paths, 0):
            return constant(True, FLAG)
        look, point = self._paths[0].looks[0], _Point({}, 0)
        holds = [self._has_outcome(look, outcome, point) for outcome in _groups(self._paths, 0)]
        return reduce(logical_or, holds)

    def advance(self, places: Sequence[int]) -> list[Tracer]:
        """Record whether an iteration that `begins` ends, and what some slots have then.

        On a way that is not known it does not end, and the slots have what they had.
        """
        return self._follow(self._paths, 0, _Point({}, 0), places)

    def _follow(
        self, paths: Paths, depth: int, point: _Point, places: Sequence[int]
    ) -> list[Tracer]:
        path = paths[0]
        if depth == len(path.looks):
            results = self._run(path, point, len(path.steps)).results
            return [constant(True, FLAG), *(self._read(path.after[k], results) for k in places)]
        ways = [*_groups(paths, depth).values()]
        if depth and not self._is_complete(paths, depth):
            ways.append(())
        return self._choose(ways, depth, self._run(path, point, path.looks[depth].known), places)

    def _choose(
        self, ways: Sequence[Paths], depth: int, point: _Point, places: Sequence[int]
    ) -> list[Tracer]:
        paths, *others = ways
        if not paths:
            return [constant(False, FLAG), *(self._slots[k] for k in places)]
        follow = partial(self._follow, paths, depth + 1, point, places)
        if not others:
            return follow()
        look = paths[0].looks[depth]
        holds = self._has_outcome(look, look.outcome, point)
        return cond(holds, follow, partial(self._choose, others, depth, point, places))

    def _is_complete(self, paths: Paths, depth: int) -> bool:
        """Whether a look is known to have no other outcomes."""
        return paths[0].looks[depth].is_flag and len(_groups(paths, depth)) == 2

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


def always_ends(paths: Paths) -> bool:
    """Whether a way is known whatever the outcomes are but for the first."""
    return all(is_total(members, 1) for members in _groups(paths, 0).values())


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


class NotALoopError(Exception):
    """What is repeated is no loop, or it is not known whether it is one."""


class ContradictionError(Exception):
    """Two iterations that look the same are not: the code remembers what is not seen."""


class Event(NamedTuple):
    """A decision at a value while a function is traced."""

    builder: Builder
    position: int  # number of entries that the builder had
    frame: FrameType | None  # of the code that decides
    depth: int  # number of frames that called it
    state: State | None  # continuation state; None if it is not known
    asked: Slot  # the value
    predicate: Predicate  # how the outcome follows from it
    atom: Ref  # the variable of the trace that decides
    outcome: int
    is_flag: bool  # whether the outcome is a boolean
    place: str  # line of the user's code
    number: int  # of the look in the trace
    changes: Changes | None  # since the look before at which the frame's variables said the same

    @property
    def slots(self) -> list[Slot]:
        """The traced arrays of the state, and what is asked."""
        assert self.state is not None
        return list(dict.fromkeys((*self.state.slots, self.asked)))


class Place(NamedTuple):
    """Where an iteration begins: an instruction, and all that the frame's variables say there."""

    within: tuple[int, int]  # so many calls and loops
    key: tuple[Any, ...]
    types: tuple[ArrayType, ...]  # of the slots
    constant: tuple[bool, ...]  # which slots have the same value whatever the arguments are
    asked: int  # the slot that decides
    predicate: Any
    counted: bool  # whether the innermost loop that counts goes on in it; else none does


class Visits(NamedTuple):
    """Looks at one place: by frame and by iteration of the loops around, numbers of the events."""

    place: Place
    groups: list[list[int]]


def visits(builder: Builder, events: Sequence[Event], known: Any) -> Iterator[Visits]:
    """Yield the places that were looked at repeatedly: inner loops first, and `known` places."""
    constants, last = _Constants(), dict[Any, Any]()
    places: dict[Place, dict[Any, list[int]]] = {}
    for k, event in enumerate(events):
        if event.builder is not builder or event.state is None:
            continue
        slots, counts = event.slots, event.state.counts
        place = Place(
            (event.depth, event.state.nesting),
            event.state.key,
            tuple([slot.type for slot in slots]),
            tuple([constants.has(slot.builder, slot.atom) for slot in slots]),
            slots.index(event.asked),
            event.predicate.__code__,
            counted=False,
        )
        numbers = tuple([count.number for count in counts])
        places.setdefault(place, {}).setdefault((id(event.frame), numbers), []).append(k)
        if counts and not counts[-1].loop.is_read:
            within = event.depth, counts[-1].loop.nesting
            counted = places.setdefault(place._replace(within=within, counted=True), {})
            group = counted.setdefault((id(event.frame), numbers[:-1]), [])
            if not group or last[id(event.frame), place] != numbers:  # the first of its iteration
                group.append(k)
            last[id(event.frame), place] = numbers
    found = [Visits(place, [*groups.values()]) for place, groups in places.items()]

    def rank(visits: Visits) -> tuple[Any, ...]:
        (calls, loops), place = visits.place.within, visits.place
        return -calls, -loops, place not in known, place.key[1], place.counted

    again = [visits for visits in found if max(map(len, visits.groups)) > 1]
    yield from sorted(again, key=rank)


class _Constants:
    """Tells what has a value whatever the arguments are: what Python decides by it is no look."""

    def __init__(self) -> None:
        self._flags: dict[Recorder, list[bool]] = {}

    def has(self, builder: Recorder | None, atom: Ref) -> bool:
        """Whether a value is one."""
        if builder is None or isinstance(atom, Literal):
            return True
        flags = self._flags.setdefault(builder, [])
        for number in range(len(flags), len(builder.entries)):
            entry = builder.entries[number]
            if not entry:
                flags.append(flags[number - 1])
            elif isinstance(entry[0], Operation):
                flags.append(all(isinstance(x, Literal) or flags[x] for x in entry[1:]))
            else:
                flags.append(self._of_input(builder, number))
        return flags[atom]

    def _of_input(self, builder: Recorder, number: int) -> bool:
        value = builder.input_value(number)
        if isinstance(value, Tracer):
            return self.has(value.builder, value.atom)
        is_captured = builder.capture_of(number) is not None
        return value is not None and (is_captured or builder.policy.eager)


def path_between(builder: Builder, events: Sequence[Event], first: int, last: int) -> Path:
    """Return what happened between two decisions at the same place.

    Raises `NotALoopError` if that cannot happen again, or reads what is not among the variables.
    """
    return _Extraction(builder, events, first, last).path()


class _Extraction:
    """Reads an iteration off a recording."""

    def __init__(self, builder: Builder, events: Sequence[Event], first: int, last: int) -> None:
        self._builder = builder
        self._looks = events[first:last]
        self._begin, self._end = events[first], events[last]
        self._slots = {(slot.builder, slot.atom): k for k, slot in enumerate(self._begin.slots)}
        self._numbers: dict[int, int] = {}

    def path(self) -> Path:
        """Return the iteration."""
        start, stop = self._begin.position, self._end.position
        changes = self._end.changes
        if changes is None or changes.before != self._begin.number:
            raise NotALoopError
        if any(look.builder is not self._builder for look in self._looks):
            raise NotALoopError
        steps: list[Step] = []
        done: list[int] = []  # by position, how many steps stand before
        for number in range(start, stop):
            done.append(len(steps))
            entry = self._builder.entries[number]
            if not entry:
                self._numbers[number] = len(self._numbers)
            elif isinstance(entry[0], Operation):
                op, *refs = entry
                if not is_repeatable((op,)) or op.ends:
                    raise NotALoopError
                operands = tuple([self._source(self._builder, ref) for ref in refs])
                self._numbers[number] = len(self._numbers)
                steps.append(Step(self._numbers[number], op, operands))
        done.append(len(steps))
        looks = tuple(
            [
                Look(
                    done[look.position - start],
                    self._source(look.asked.builder, look.asked.atom),
                    look.predicate,
                    look.outcome,
                    look.is_flag,
                )
                for look in self._looks
            ]
        )
        after = [self._source(slot.builder, slot.atom) for slot in self._end.slots]
        return Path(looks, tuple(steps), tuple(after), changes.written, changes.replaced)

    def _source(self, builder: Recorder | None, ref: Ref) -> Source:
        """Return where a value comes from, in terms of the state at the beginning."""
        if isinstance(ref, Literal):
            return ref
        if (builder, ref) in self._slots:
            return Of(self._slots[builder, ref])
        if builder is not self._builder:
            raise NotALoopError
        if ref in self._numbers:
            return self._numbers[ref]
        value = builder.capture_of(ref)
        if value is None:
            raise NotALoopError
        if isinstance(value, Tracer):
            return self._source(value.builder, value.atom)
        return Const(value)
