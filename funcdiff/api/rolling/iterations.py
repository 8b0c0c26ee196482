"""Loop detection in a recording: the operations between two decisions at one place in the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import FrameType
from typing import Any, NamedTuple

from funcdiff.api.rolling.paths import Const, Look, Of, Path, Predicate, Source, Step
from funcdiff.api.rolling.states import Slot, State
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.builder import Builder
from funcdiff.core.evaluate import is_repeatable
from funcdiff.core.primitive import Operation
from funcdiff.core.tracer import Recorder, Tracer


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

    @property
    def slots(self) -> list[Slot]:
        """The traced arrays of the state, and what is asked."""
        assert self.state is not None
        return list(dict.fromkeys((*self.state.slots, self.asked)))


class Visits(NamedTuple):
    """Looks at one place in one state: by frame, the numbers of the events."""

    key: tuple[Any, ...]
    frames: list[list[int]]
    rank: tuple[int, bool, int, int]


def visits(builder: Builder, events: Sequence[Event], known: Any) -> Iterator[Visits]:
    """Yield the places that were looked at repeatedly or are `known`, inner loops first."""
    constants = _Constants()
    places: dict[tuple[Any, ...], dict[int, list[int]]] = {}
    for k, event in enumerate(events):
        if event.builder is builder and event.state is not None:
            slots = event.slots
            flags = tuple([constants.has(slot.builder, slot.atom) for slot in slots])
            types = tuple([slot.type for slot in slots])
            asked = slots.index(event.asked)
            key = (event.state.key, types, flags, asked, event.predicate.__code__)
            places.setdefault(key, {}).setdefault(id(event.frame), []).append(k)
    found = []
    for key, frames in places.items():
        pairs = [pair for group in frames.values() for pair in pairwise(group)]
        if pairs or key in known:
            depth = events[next(iter(frames.values()))[0]].depth
            distance = min((b - a for a, b in pairs), default=0)
            # at the condition of a loop, all iterations begin with one outcome
            outcomes = len({events[a].outcome for a, _ in pairs})
            rank = (-depth, key not in known, distance, outcomes)
            found.append(Visits(key, list(frames.values()), rank))
    yield from sorted(found, key=lambda visits: visits.rank)


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
        return Path(looks, tuple(steps), tuple(after))

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
