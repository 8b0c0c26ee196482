"""Keeps the traced code beside its derivative, in one program that can be swept.

A derivative computes only what it needs, and of that what simplification has left.  So while a call
is traced to be explained, every function that is traced on the way is recorded once more, as it was
written, where it was called; what it shares with its derivative is then computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, NamedTuple

from funcdiff.api.calls.inputs import as_tracers, type_of
from funcdiff.core.atoms import Atom, Entry
from funcdiff.core.origins import reader
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.entries import Recording, live_variables, program_of
from funcdiff.core.running.dataflow import variables_reached
from funcdiff.core.running.evaluate import as_run
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import copy_equation, inline, walk
from funcdiff.core.types import ArrayType
from funcdiff.reading.explanation.inspections import has_slope
from funcdiff.reading.provenance import Notes


class Swept(NamedTuple):
    """A program with all that the user has written, whether the outputs need it or not."""

    program: Program  # without common subexpressions
    values: tuple[Atom, ...]  # results of functions that are differentiated
    active: frozenset[Atom]  # variables that the derivative passes
    unused: tuple[str, ...]  # names of arguments from which no operation leads to a result


class _Marks:
    """By number, what is known of the entries of a recording."""

    def __init__(self) -> None:
        self.values: set[int] = set()
        self.active: set[int] = set()

    def add(self, number: int, others: _Marks, there: int) -> None:
        """Let an entry be what another one is."""
        for mine, theirs in ((self.values, others.values), (self.active, others.active)):
            if there in theirs:
                mine.add(number)


class Watching(Notes):
    """Notes names and lines, and records what functions do beside what becomes of them."""

    def __init__(self, caller: FrameType | None) -> None:
        super().__init__(caller)
        self._marks: dict[Builder, _Marks] = {}
        self._unused: dict[str, None] = {}
        self._outermost = _Marks()

    def note_trace(self, builder: Builder, recording: Recording, operands: Sequence[Any]) -> None:
        """Record all entries once more where the function was called."""
        outer = current_builder()
        marks = self._marks.setdefault(builder, _Marks())
        if outer is None:
            self._outermost = marks
            return
        entries, _, origins, _ = recording
        if builder.policy.pending > outer.policy.pending:
            self._note_differentiated(marks, recording, len(operands))
        program = program_of(entries, _results(entries), origins)
        xs = [*operands, *builder.captures]
        if tuple(map(type_of, xs)) != program.input_types:
            return
        operands = as_tracers(xs)
        ys = inline(program, operands)
        around = self._marks.setdefault(outer, _Marks())
        for numbers, handles in ((_inputs(entries), operands), (_results(entries), ys)):
            for number, x in zip(numbers, handles, strict=True):
                if x.builder is outer and isinstance(x.atom, int):
                    around.add(x.atom, marks, number)

    def _note_differentiated(self, marks: _Marks, recording: Recording, count: int) -> None:
        """Note what a derivative goes through, and what it is taken by in vain."""
        active, unused = active_values(recording, count)
        marks.active.update(active)
        marks.values.update(ref for ref in recording[1] if isinstance(ref, int))
        self._unused.update(dict.fromkeys(unused))

    def to_sweep(self, recording: Recording, derivative: Program | None, count: int) -> Swept:
        """Return the program of the outermost function, or of its derivative by `count` inputs."""
        entries = recording[0]
        numbers, marks = _results(entries), self._outermost
        if derivative is not None:
            self._note_differentiated(marks, recording, count)
        token = reader.set(self)  # who looks on, so that names and lines are handed on
        try:
            shared = join_with_derivative(recording, derivative)
        finally:
            reader.reset(token)
        results = len(shared.outputs) - len(numbers)
        atoms: dict[int, Atom] = dict(zip(_inputs(entries), shared.inputs, strict=True))
        atoms.update(zip(numbers, shared.outputs[results:], strict=True))
        active = frozenset(atoms[n] for n in marks.active)
        if not marks.values:  # nothing is differentiated here, so that all of it may be
            active = frozenset(atoms.values())
        return Swept(
            replace(shared, outputs=shared.outputs[:results]),
            tuple(atoms[n] for n in sorted(marks.values)),
            active,
            tuple(self._unused),
        )


@memoised
def join_with_derivative(recording: Recording, derivative: Program | None) -> Program:
    """Return a program of what a recording returns, or a derivative of it, and of all its values.

    While a reader looks on, it has names and lines.
    """
    entries, outputs, origins, _ = recording
    whole = as_run(program_of(entries, (*outputs, *_results(entries)), origins))
    with Builder("explained", SHARED) as builder:
        inputs = [builder.input(t) for t in whole.input_types]
        made = walk(whole, inputs, copy_equation)
        results, values = made[: len(outputs)], made[len(outputs) :]
        if derivative is not None:
            results = walk(as_run(derivative), inputs, copy_equation)
        return builder.program([*results, *values])


@memoised
def active_values(recording: Recording, count: int) -> tuple[frozenset[int], tuple[str, ...]]:
    """Return what a derivative by the first inputs goes through, and which of them are unused."""
    entries, _, origins, _ = recording
    numbers = [*_inputs(entries), *_results(entries)]
    program = program_of(entries, tuple(numbers), origins)
    by = [k < count for k in range(len(program.inputs))]
    reached = variables_reached(program, by, has_slope)
    pairs = zip(numbers, program.outputs, strict=True)
    active = frozenset(number for number, atom in pairs if atom in reached)
    return active, _names_of_unused(recording, count)


def _names_of_unused(recording: Recording, count: int) -> tuple[str, ...]:
    """Return what the user calls those of the first inputs that the outputs do not need."""
    entries, outputs, origins, _ = recording
    needed = live_variables(entries, outputs)
    return tuple(
        (origins[number].name if origins else "") or f"number {number + 1}"
        for number in range(count)
        if not needed[number] and entries[number][0].size
    )


def _inputs(entries: Sequence[Entry]) -> tuple[int, ...]:
    """Return the numbers of all inputs."""
    return tuple(k for k, e in enumerate(entries) if e and isinstance(e[0], ArrayType))


def _results(entries: Sequence[Entry]) -> tuple[int, ...]:
    """Return the numbers of all that is computed."""
    return tuple(k for k, e in enumerate(entries) if not (e and isinstance(e[0], ArrayType)))
