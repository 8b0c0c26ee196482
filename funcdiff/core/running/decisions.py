"""Guards of a trace: the decisions on values, with their variables and outcomes.

A function under `jit` is traced with values at hand.  Where it asks for one, ``if x > 0``, the
outcome is noted as a *decision*: what was recorded holds wherever all decisions turn out the same.
What is asked inside a derivative, say, is recorded in the trace that decides as well, so that a
decision is always about a variable of that one.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import Builder, builders
from funcdiff.core.recording.concrete import Values
from funcdiff.core.recording.entries import first_result, operands_needed
from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.core.scope import recording_in
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.errors import user_location


class Decision(NamedTuple):
    """A value that decided what was recorded next."""

    atom: Ref  # a boolean or an integer without axes
    outcome: int
    place: str  # line of the user's code that asked


answering: Final = ContextVar("answering", default=False)
"""Whether what is asked of a value is part of the answer to another question: do examples agree?"""


class Decisions:
    """The decisions of a trace, in order.

    `operands` are the values of the builder's first inputs; captures have their own.
    """

    is_sure: ClassVar[bool] = True  # whether every question about a value has an answer

    def __init__(self, builder: Builder, operands: Sequence[Any]) -> None:
        self.made: list[Decision] = []
        self._builder = builder
        self._values = Values(builder.name, builder.entries)
        given = dict(enumerate(operands))
        self._values.inputs = ChainMap(given, builder.values.inputs)
        self._known: dict[Ref, int] = {}
        self._moved: dict[tuple[Recorder, Ref], Tracer] = {}

    def decide(self, x: Tracer, predicate: Callable[[Tracer], Tracer]) -> int | None:
        """Note the outcome of a predicate and return it; None if the value of `x` is not known.

        `predicate` records, in the trace that decides, a boolean or an integer without axes.
        """
        found = self._decision(x, predicate)
        if found is None:
            return None
        atom, outcome = found
        if atom not in self._known:
            self._known[atom] = outcome
            self.made.append(Decision(atom, outcome, user_location()))
        return outcome

    def finish(self, builder: Builder, outputs: list[Tracer]) -> tuple[Builder, list[Tracer]]:
        """Return the builder of a trace that ends, and its outputs, or what they become."""
        return builder, outputs

    def _decision(self, x: Tracer, predicate: Callable[[Tracer], Tracer]) -> tuple[Ref, int] | None:
        """Record a predicate; return what decides and its outcome, None if that is not known."""
        here = self._move(x.builder, x.atom)
        if here is None:
            return None
        around = answering.set(True)
        try:
            with recording_in(self._builder), np.errstate(all="ignore"):
                atom = self._builder.ref(predicate(here))
                outcome = self._known[atom] if atom in self._known else self._outcome(atom)
        finally:
            answering.reset(around)
        return None if outcome is None else (atom, outcome)

    def argument(self, x: Tracer) -> np.ndarray[Any, Any] | None:
        """Return the value of an argument of the function; None of anything else.

        It is no decision: what relies on it must decide by it.
        """
        here = self._move(x.builder, x.atom) if self.is_sure else None
        if here is None or here.builder is not self._builder or isinstance(here.atom, Literal):
            return None
        if isinstance(self._builder.entries[here.atom][0], Operation):
            return None
        return np.array(self._values.of(here.atom, self._builder))

    def _outcome(self, atom: Ref) -> int | None:
        """Return the value of a variable of the deciding trace, if it has one."""
        return int(self._values.of(atom, self._builder))

    def _move(self, builder: Recorder | None, atom: Ref) -> Tracer | None:
        """Return what the deciding trace has in place of a variable of one within; None: nothing.

        What is computed there is recorded here as well; that it is the same is found out when the
        program is simplified.
        """
        if builder is self._builder or builder is None or isinstance(atom, Literal):
            type_ = (
                atom.type if isinstance(atom, Literal) else type_of_variable(self._builder, atom)
            )
            return Builder.handle(None if isinstance(atom, Literal) else self._builder, atom, type_)
        moved = self._moved
        for number in operands_needed(builder.entries, atom, lambda n: (builder, n) in moved):
            op, *refs = builder.entries[number]
            if not isinstance(op, Operation):
                found = self._input(builder, number)
                if found is None:
                    return None
                moved[builder, number] = found
                continue
            if not is_repeatable((op,)):
                return None  # whose effects would happen twice
            xs = [self._move(builder, ref) for ref in refs]
            ys = self._builder.record(op, [x.atom for x in xs if x is not None])
            for k, y in enumerate(ys):
                moved[builder, number + k] = y
        return moved[builder, atom]

    def _input(self, builder: Recorder, number: int) -> Tracer | None:
        value = builder.input_value(number)
        if isinstance(value, Tracer):
            return self._move(value.builder, value.atom)
        if value is None or (builder.capture_of(number) is None and not builder.policy.eager):
            return None
        return self._builder.capture(np.asarray(value)[()] if np.ndim(value) == 0 else value)


def type_of_variable(builder: Builder, number: int) -> Any:
    """Return the type of a variable of a trace."""
    first = first_result(builder.entries, number)
    head = builder.entries[first][0]
    return head.results[number - first] if isinstance(head, Operation) else head


def decided(x: Tracer, predicate: Callable[[Tracer], Tracer]) -> int | None:
    """Return the outcome of a predicate of a value that only a deciding trace knows.

    None if there is no such trace around, or it cannot know the value, as in the body of a loop.
    """
    for builder in builders():
        if builder.decisions is not None:
            found: int | None = builder.decisions.decide(x, predicate)
            return found
    return None


def finish(builder: Builder, outputs: list[Tracer]) -> tuple[Builder, list[Tracer]]:
    """Return the builder of a trace that ends, and its outputs, as the trace that decides says."""
    deciding = (b.decisions for b in builders() if b.decisions is not None)
    return next((decisions.finish(builder, outputs) for decisions in deciding), (builder, outputs))


def argument_value(x: Tracer) -> np.ndarray[Any, Any] | None:
    """Return the value of an argument of the function whose trace decides; None of anything else.

    What relies on it must decide by it.
    """
    deciding = (b.decisions for b in builders() if b.decisions is not None)
    return next((decisions.argument(x) for decisions in deciding), None)
