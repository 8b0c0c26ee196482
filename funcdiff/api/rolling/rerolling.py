"""Puts loops in the place of their iterations, in the recording of a trace that is about to end.

Decisions of the trace have the continuation state of the code at each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.control.while_loops import fori_loop, while_loop
from funcdiff.api.rolling.iterations import (
    FLAG,
    ContradictionError,
    Event,
    Iteration,
    NotALoopError,
    Of,
    Path,
    Paths,
    Place,
    Visits,
    always_ends,
    is_total,
    path_between,
    visits,
)
from funcdiff.api.rolling.looks import Counter, RangeLoop
from funcdiff.api.rolling.states import Changes, Count, Slot, State, Thing, state_of
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.origins import reader
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.running.decisions import Decision, Decisions, answering, type_of_variable
from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.core.scope import recording_in
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import BOOL, FLOAT, ArrayType
from funcdiff.errors import calling_frame, user_location
from funcdiff.ops.elementwise.logic import equal, less, logical_and
from funcdiff.ops.structure.structural import convert


class DoubtfulError(Exception):
    """After a loop something is used that was what it is before the loop, too."""


class Renamed(NamedTuple):
    """The variables of another trace, which has a loop, that stand for those of a trace."""

    builder: Builder  # of the other trace
    refs: dict[int, Ref]  # by variable
    doubtful: set[int]  # variables from before the loop that may be others behind it

    def of(self, ref: int) -> tuple[Builder, Ref]:
        """Return what a variable is behind the loop."""
        if ref in self.doubtful:
            raise DoubtfulError
        if ref not in self.refs:
            raise NotALoopError  # an iteration left it somewhere else than in the variables
        return self.builder, self.refs[ref]


class Recorded(NamedTuple):
    """A trace that is about to end: its builder, the looks so far, its outputs, and what was it."""

    builder: Builder
    events: list[Event]
    outputs: list[Tracer]
    renamed: dict[Recorder | None, Renamed]


Loops = dict[Place, dict[tuple[int, ...], Path]]
"""The ways of an iteration, by the place and state in which it begins, and then by outcomes."""

_COUNT: Final = ArrayType((), FLOAT)
"""Of iterations: a float, so that loops of numbers can become those of Python's floats."""

_ORDERS: Final = frozenset((np.less, np.less_equal, np.greater, np.greater_equal))


def roll(recorded: Recorded, loops: Loops) -> Recorded:
    """Return a recording with loops, adding to the ways that are known.

    Raises `DoubtfulError` if it is not known what is read after a loop, and `ContradictionError` if
    iterations with the same outcomes do different things.
    """
    refused: set[Any] = set()
    changed = True
    while changed:
        changed = False
        for found in visits(recorded.builder, recorded.events, loops):
            if found.place in refused:
                continue
            refused.add(found.place)  # it is done once, or not at all
            try:
                ways = _ways(recorded, found, loops)
                recorded = _Rewriting(recorded, found, ways).result()
            except NotALoopError:
                continue
            if len(ways) > len(loops.get(found.place, ways)):
                for other in [x for x in loops if x.within < found.place.within]:
                    del loops[other]  # it may have this one in it, with fewer ways
            loops[found.place] = ways
            changed = True
            break
    return recorded


def _ways(recorded: Recorded, found: Visits, loops: Loops) -> dict[tuple[int, ...], Path]:
    """Return the ways of an iteration that were known or have been gone."""
    ways = dict(loops.get(found.place, {}))
    for group in found.groups:
        for first, last in pairwise(group):
            outcomes = tuple([look.outcome for look in recorded.events[first:last]])
            path = path_between(recorded.builder, recorded.events, first, last)
            known = ways.setdefault(outcomes, path)
            if (known.looks, known.steps, known.after) != (path.looks, path.steps, path.after):
                raise ContradictionError
            written, replaced = known.written | path.written, known.replaced | path.replaced
            ways[outcomes] = known._replace(written=written, replaced=replaced)
    written = frozenset[int]().union(*(path.written for path in ways.values()))
    replaced = frozenset[int]().union(*(path.replaced for path in ways.values()))
    if not ways or written & replaced:  # who else has them sees which ones were written to
        raise NotALoopError
    return ways


class _Rewriting:
    """Records a trace once more, with a loop in the place of what was repeated."""

    def __init__(
        self, recorded: Recorded, found: Visits, ways: dict[tuple[int, ...], Path]
    ) -> None:
        self._old, self._events, self._outputs, self._before = recorded
        self._paths: Paths = tuple(ways.values())
        self._new = Builder(self._old.name, self._old.policy, taps=self._old.taps)
        self._renamed = Renamed(self._new, {}, set())
        self._positions: dict[int, int] = {}
        self._place = found.place
        flags = found.place.constant
        self._varying = [
            k for k in range(len(flags)) if any(p.after[k] != Of(k) for p in self._paths)
        ]
        groups = [group for group in found.groups if len(group) > 1]
        self._runs = sorted((group[0], group[-1]) for group in groups)
        overlaps = any(a[1] >= b[0] for a, b in pairwise(self._runs))
        decides = any(flags[k] for k in self._varying)  # what Python decided by that is not known
        if found.place.counted:
            self._left: RangeLoop | Counter | None = _innermost(self._events[self._runs[0][0]]).loop
            ends = all(map(self._is_counted, groups))
        else:
            self._left, ends = None, not is_total(self._paths, 0)
        if overlaps or decides or not self._varying or not ends:
            raise NotALoopError

    def _is_counted(self, group: Sequence[int]) -> bool:
        """Whether looks are one in each iteration of a ``for`` loop, and it is known how it ends.

        It ends behind the last of them by its count; or it is left before it goes on twice.
        """
        events = [self._events[k] for k in group]
        numbers = [_innermost(event).number for event in events]
        follow = all(b == a + 1 for a, b in pairwise(numbers))
        if not follow or _is_last(events[-1]):
            return follow
        later = [e for e in self._events[group[-1] :] if _same_loop(e, events[-1])]
        left = not _may_stay(later[-1]) and _innermost(later[-1]).number <= numbers[-1] + 1
        return left and not is_total(self._paths, 0)

    def result(self) -> Recorded:
        """Return the trace with the loop."""
        events, kept = self._events, list[Event]()
        place, following = 0, 0
        with recording_in(self._old.parent), self._new:
            for first, last in self._runs:
                self._copy(place, events[first].position)
                # whether the loop begins at all is a decision of its own
                kept += map(self._translate, events[following : first + 1])
                kept += self._loop(events[first], events[last])
                place, following = events[last].position, last + 1
            self._copy(place, len(self._old.entries))
            kept += map(self._translate, events[following:])
            outputs = [self._output(y) for y in self._outputs]
        return Recorded(self._new, kept, outputs, {**self._before, self._old: self._renamed})

    # ---- operations ------------------------------------------------------------------------

    def _copy(self, start: int, stop: int, *, operations: bool = True) -> None:
        """Record some of the entries again: all, or the inputs among them."""
        for number in range(start, stop):
            entry = self._old.entries[number]
            self._positions[number] = len(self._new.entries)
            if entry and not isinstance(entry[0], Operation):
                self._renamed.refs[number] = self._new.take_input(self._old, number)
            elif entry and operations:
                ys = self._new.record(entry[0], [self._ref(x) for x in entry[1:]])
                self._renamed.refs.update((number + k, y.atom) for k, y in enumerate(ys))

    def _ref(self, ref: Ref) -> Ref:
        """Return what stands for a variable."""
        return ref if isinstance(ref, Literal) else self._renamed.of(ref)[1]

    def _loop(self, begin: Event, end: Event) -> list[Event]:
        """Record the loop from one look to another; return what is decided at its end."""
        starts = [self._tracer(slot) for slot in begin.slots]
        self._copy(begin.position, end.position, operations=False)
        results, number = self._record(starts, begin)
        final = dict(zip(self._varying, results, strict=True))
        for k, y in final.items():
            slot = end.slots[k]
            if slot.builder is not self._old or isinstance(slot.atom, Literal):
                raise NotALoopError
            if slot.atom in self._renamed.refs:
                self._renamed.doubtful.add(slot.atom)
            self._renamed.refs[slot.atom] = y.atom
        asked = final.get(self._place.asked, starts[self._place.asked])
        decided = self._translate(end, Slot(asked.builder, asked.atom, asked.type))
        return [decided] if number is None else [self._ending(end, number), decided]

    def _record(
        self, starts: Sequence[Tracer], begin: Event
    ) -> tuple[Sequence[Tracer], Tracer | None]:
        """Record the loop; return what is in the slots that vary, and which iteration it left."""
        paths, varying = self._paths, self._varying
        first, last = (_innermost(begin).number, _last(begin)) if self._place.counted else (0, None)

        def iteration(values: Sequence[Any]) -> Iteration:
            changed = dict(zip(varying, values, strict=True))
            return Iteration(paths, [changed.get(k, x) for k, x in enumerate(starts)])

        init = [starts[k] for k in varying]
        if last is not None and is_total(paths, 0):
            results = fori_loop(first, last, lambda _, xs: iteration(xs).advance(varying)[1:], init)
            return results, None

        def goes_on(carry: tuple[Any, ...]) -> Any:
            number, is_known, values = carry
            holds = iteration(values).begins()
            holds = holds if is_known is None else logical_and(is_known, holds)
            return holds if last is None else logical_and(less(number, _number(last)), holds)

        def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            number, is_known, values = carry
            ends, *values = iteration(values).advance(varying)
            after = None if last is None else number + convert(ends, FLOAT)
            return after, None if is_known is None else ends, values

        count = None if last is None else _number(first)
        is_known = None if always_ends(paths) else constant(True, FLAG)
        number, _, values = while_loop(goes_on, step, (count, is_known, init))
        return values, number

    def _ending(self, end: Event, number: Tracer) -> Event:
        """Return the decision whether a ``for`` loop is in its last iteration."""
        is_last = equal(number, _number(_last(end)))
        return end._replace(
            builder=self._new,
            position=len(self._new.entries),
            state=None,
            asked=Slot(is_last.builder, is_last.atom, is_last.type),
            predicate=_itself,
            outcome=int(_is_last(end)),
            is_flag=True,
        )

    # ---- what refers to them ---------------------------------------------------------------

    def _tracer(self, slot: Slot) -> Tracer:
        """Return what was in a slot, in the new trace."""
        if slot.builder is self._old:
            return Builder.handle(self._new, self._ref(slot.atom), slot.type)
        x = Builder.handle(slot.builder, slot.atom, slot.type)
        return x if slot.builder is None else Builder.handle(self._new, self._new.ref(x), x.type)

    def _slot(self, slot: Slot) -> Slot:
        if slot.builder is not self._old:
            return slot
        return slot._replace(builder=self._new, atom=self._ref(slot.atom))

    def _translate(self, event: Event, asked: Slot | None = None) -> Event:
        """Return a look in terms of the new trace."""
        if event.builder is not self._old:
            return event
        state = event.state
        if state is not None and self._left in [count.loop for count in state.counts]:
            state = None  # how far it is depends on values now
        try:
            if state is not None:
                state = state._replace(slots=tuple(map(self._slot, state.slots)))
        except (DoubtfulError, NotALoopError):
            state = None
        return event._replace(
            builder=self._new,
            position=self._positions.get(event.position, len(self._new.entries)),
            state=state,
            asked=asked or self._slot(event.asked),
        )

    def _output(self, y: Tracer) -> Tracer:
        if y.builder is not self._old:
            return y
        return type(y)(self._new, self._ref(y.atom), y.type)


def _innermost(event: Event) -> Count:
    """Return how far the innermost ``for`` loop is at a look."""
    assert event.state is not None
    return event.state.counts[-1]


def _same_loop(event: Event, other: Event) -> bool:
    """Whether looks are in the same ``for`` loop, but maybe in other iterations of it."""
    if event.frame is not other.frame or event.state is None or other.state is None:
        return False
    *around, innermost = event.state.counts or (None,)
    *others, its = other.state.counts
    return around == others and innermost is not None and innermost.loop == its.loop


def _last(event: Event) -> int:
    return len(_innermost(event).over) - 1


def _is_last(event: Event) -> bool:
    return _innermost(event).number == _last(event)


def _may_stay(event: Event) -> bool:
    """Whether the innermost ``for`` loop may go on behind a look."""
    assert event.state is not None
    return not event.is_flag or event.outcome in event.state.staying


def _is_order(asked: Slot) -> bool:
    """Whether a value was computed by ``a < b`` or the like."""
    if asked.builder is None or isinstance(asked.atom, Literal):
        return False
    op = asked.builder.entries[asked.atom][0]
    return isinstance(op, Operation) and op.function in _ORDERS


def _number(value: int) -> Tracer:
    return constant(float(value), _COUNT)


def _itself(x: Tracer) -> Tracer:
    """Return what is asked; looks are told apart by the function, which is one for all of them."""
    return x


class Rolling:
    """One trace in which iterations become loops; adds to the loops that are known."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.is_doubtful = False  # it may read something after a loop that no other call would have
        self.is_contradicted = False  # the function has state between iterations that is not seen

    def __call__(self, builder: Builder, operands: Sequence[Any]) -> Decisions:
        """Return the decisions of the trace."""
        return _RollingDecisions(self, builder, operands)


class _RollingDecisions(Decisions):
    """Decisions of which those of a loop are its conditions."""

    def __init__(self, rolling: Rolling, builder: Builder, operands: Sequence[Any]) -> None:
        super().__init__(builder, operands)
        self._rolling = rolling
        self._depth = _depth(sys._getframe())
        self._events: list[Event] = []
        self._before: dict[tuple[int, Any], tuple[int, tuple[Thing, ...]]] = {}
        self._count = 0
        self._renamed: dict[Recorder | None, Renamed] = {}

    def decide(self, x: Tracer, predicate: Callable[[Tracer], Tracer]) -> int | None:
        """Note the outcome of a predicate, and where Python's code goes on with it."""
        builder, frame = current_builder(), calling_frame()
        assert builder is not None
        position = len(builder.entries)
        found = self._decision(x, predicate)
        if found is None:
            return None
        atom, outcome = found
        self._known[atom] = outcome
        asked = Slot(x.builder, x.atom, x.type)
        state = None if frame is None or answering.get() else state_of(frame)
        if state is not None and state.asks_again and not _is_order(asked):
            state = None  # it may be one of several looks there
        changes = None if state is None else self._changes(frame, state)
        self._events.append(
            Event(
                builder, position, frame, _depth(frame) - self._depth, state,
                asked, predicate, atom, outcome, self._is_flag(atom),
                user_location(), self._count, changes,
            )
        )  # fmt: skip
        return outcome

    def _changes(self, frame: FrameType | None, state: State) -> Changes | None:
        """Return what has changed since the frame's variables said the same, and note this look."""
        self._count += 1
        where = id(frame), state.key
        before = self._before.get(where)
        self._before[where] = self._count, state.things
        return None if before is None else state.changes(*before)

    def finish(self, builder: Builder, outputs: list[Tracer]) -> tuple[Builder, list[Tracer]]:
        """Return the builder and the outputs of a trace, with loops for its iterations."""
        if self._can_roll(builder):
            recorded = Recorded(builder, self._events, outputs, {})
            try:
                found = roll(recorded, self._rolling.loops)
                if found is not recorded:
                    self._replace(builder, found)
                    builder, outputs = found.builder, found.outputs
            except (DoubtfulError, NotALoopError):
                self._rolling.is_doubtful = True
            except ContradictionError:
                self._rolling.is_contradicted = True
        if builder is self._builder:
            decisions = {e.atom: Decision(e.atom, e.outcome, e.place) for e in self._events}
            self.made = list(decisions.values())
            self._events, self._before = [], {}  # which keep frames alive
        return builder, outputs

    def _can_roll(self, builder: Builder) -> bool:
        """Whether nothing but its operations knows what a trace has recorded."""
        if not any(event.builder is builder for event in self._events):
            return False
        operations = [x[0] for x in builder.entries if x and isinstance(x[0], Operation)]
        return is_repeatable(operations) and not builder.taps and reader.get() is None

    def _replace(self, old: Builder, found: Recorded) -> None:
        """Let what decides follow from the loops of a trace."""
        self._renamed |= found.renamed
        self._moved = {}
        if old is self._builder:
            self._builder = found.builder
        with recording_in(self._builder):
            moved = [self._move(e.asked.builder, e.asked.atom) for e in found.events]
            pairs = zip(found.events, moved, strict=True)
            self._events = [
                e._replace(atom=self._builder.ref(e.predicate(x)))
                for e, x in pairs
                if x is not None
            ]

    def _move(self, builder: Recorder | None, atom: Ref) -> Tracer | None:
        while builder in self._renamed and not isinstance(atom, Literal):
            builder, atom = self._renamed[builder].of(atom)
        return super()._move(builder, atom)

    def _is_flag(self, atom: Ref) -> bool:
        if isinstance(atom, Literal):
            return atom.type.dtype == BOOL
        return bool(type_of_variable(self._builder, atom).dtype == BOOL)


def _depth(frame: Any) -> int:
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
