"""Decisions of a trace, with the continuation state of the code at each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcdiff.api.rolling.iterations import ContradictionError, Event, NotALoopError
from funcdiff.api.rolling.rolling import DoubtfulError, Loops, Recorded, Renamed, roll
from funcdiff.api.rolling.states import Slot, state_of
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.builder import Builder, current_builder
from funcdiff.core.decisions import Decision, Decisions, type_of_variable
from funcdiff.core.evaluate import is_repeatable
from funcdiff.core.origins import reader
from funcdiff.core.primitive import Operation
from funcdiff.core.scope import recording_in
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import calling_frame, user_location


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
        self._events: list[Event] = []
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
        self._events.append(
            Event(
                builder, position, frame, _depth(frame), frame and state_of(frame),
                Slot(x.builder, x.atom, x.type), predicate, atom, outcome, self._is_flag(atom),
                user_location(),
            )
        )  # fmt: skip
        return outcome

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
            self._events = []  # which keep frames alive
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
            self._events = [
                event._replace(atom=self._builder.ref(event.predicate(self._operand_of(event))))
                for event in found.events
            ]

    def _operand_of(self, event: Event) -> Tracer:
        x = self._move(event.asked.builder, event.asked.atom)
        assert x is not None
        return x

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
