"""Explains a call on a tape, as a gradient is computed at first sight: no program is derived.

That does where all numbers are finite and no operation holds a program of its own, as loops do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from funcdiff.backend.tape.steps import NeedsProgramError, Step
from funcdiff.backend.tape.tape import Tape, attempt, check_finite
from funcdiff.core.atoms import Entry, Ref
from funcdiff.core.dataflow import variables_reached
from funcdiff.core.memo import memoised
from funcdiff.core.origins import UNKNOWN, Origin
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.types import ArrayType
from funcdiff.reading.costs import Counts, counts_of
from funcdiff.reading.explanation.diagnosis import lines_of, report_of
from funcdiff.reading.explanation.kinks import has_slope
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.explanation.roots import not_finite
from funcdiff.reading.explanation.sweep import Looks, Sweep, looks_of
from funcdiff.reading.explanation.watching import unused_arguments


class _Plan(NamedTuple):
    """How a recording is explained while it runs."""

    recording: Recording  # each operation once, the inputs first
    looks: dict[int, Looks]  # by variable
    lines: tuple[Origin, ...]
    line_of: tuple[int, ...]  # by variable: index of the line that makes it
    counts: Counts
    unused: tuple[str, ...]  # names of arguments that the result does not depend on


def explain_recording(
    name: str, recording: Recording, arrays: Sequence[Any], count: int | None
) -> Report | None:
    """Run a recording, or the gradient of its first output by the first `count` inputs, and report.

    None if that takes the program.
    """
    plan = report_plan(recording, count)
    watch = None if plan is None else attempt(_run_watch, plan, arrays, count)
    if plan is None or watch is None:
        return None
    counts, seconds = watch.costs()
    return report_of(name, (), watch.sweep, plan.unused, lines_of(counts, seconds))


def _run_watch(plan: _Plan, arrays: Sequence[Any], count: int | None) -> _Watch:
    if any(not_finite(np.asarray(x)) is not None for x in arrays):
        raise NeedsProgramError
    watch = _Watch(plan)
    tape = Tape(plan.recording, count or 0, arrays, watch)
    if count is not None:
        y = tape.outputs[0]
        check_finite(tape.pull([np.ones(np.shape(y), y.dtype)[()]]))
    return watch


@memoised
def report_plan(recording: Recording, count: int | None) -> _Plan | None:
    """Return what is to be looked at; None if operations hold programs, or are the user's."""
    if any(entry and type(entry[0]) is Operation and entry[0].calls_user for entry in recording[0]):
        return None
    shared = _share(recording)
    entries, _, origins = shared
    assert origins is not None
    program = program_of(entries, tuple(range(len(entries))), origins)
    by = [count is None or k < count for k in range(len(program.inputs))]
    active = None if count is None else variables_reached(program, by, has_slope)
    looks = {
        program.equations[place].results[0].number: found
        for place, found in looks_of(program, active).items()
    }
    lines: dict[Origin, int] = {}
    plain = [Origin(place=origin.place, derived=origin.derived) for origin in origins]
    line_of = tuple([lines.setdefault(origin, len(lines)) for origin in plain])
    unused = unused_arguments(recording, count or 0)
    return _Plan(shared, looks, tuple(lines), line_of, counts_of.__wrapped__(program), unused)


def _share(recording: Recording) -> Recording:
    """Return the recording with the inputs first, and what is computed twice computed once."""
    entries, outputs, origins = recording
    assert origins is not None
    inputs = [k for k, entry in enumerate(entries) if entry and type(entry[0]) is ArrayType]
    numbers = {old: new for new, old in enumerate(inputs)}
    kept: list[Entry] = [entries[k] for k in inputs]
    known: list[Origin] = [origins[k] for k in inputs]
    found: dict[Entry, int] = {}

    def rename(refs: Sequence[Ref]) -> list[Ref]:
        return [numbers[ref] if type(ref) is int else ref for ref in refs]

    for old, entry in enumerate(entries):
        if not entry or type(entry[0]) is ArrayType:
            continue
        op: Operation = entry[0]
        entry = (op, *rename(entry[1:]))
        new = found.setdefault(entry, len(kept))
        made = range(new, new + op.result_count)
        if new == len(kept):
            kept += [entry, *(() for _ in made[1:])]
            known += [UNKNOWN for _ in made]
        for k, ref in enumerate(made, old):
            numbers[k] = ref
            known[ref] = known[ref].merge(origins[k])
    return tuple(kept), tuple(rename(outputs)), tuple(known)


@dataclass(slots=True)
class _Pulled:
    """A derivative of an operation, as a line uses it: as it is and timed, and how often."""

    line: int
    step: Step
    timed: Step
    count: int = 0


class _Watch:
    """Times operations and looks at what they compute; the observer of a tape."""

    def __init__(self, plan: _Plan) -> None:
        self.sweep = Sweep()
        self._plan, self._line_of = plan, plan.line_of
        self._forward, self._backward = ([0.0] * len(plan.lines) for _ in range(2))
        self._pulled: dict[tuple[int, int], _Pulled] = {}

    def run(self, number: int, op: Operation, operands: Sequence[Any]) -> Any:
        """Run an operation, and look at the results."""
        start = perf_counter()
        results = op.run(*operands)
        self._forward[self._line_of[number]] += perf_counter() - start
        ys = (results,) if op.result_count == 1 else results
        if not op.primitive.implementation.view:
            for y in ys:
                if not_finite(y) is not None:
                    raise NeedsProgramError
        if number in self._plan.looks:
            self.sweep.look(self._plan.looks[number], operands, ys)
        return results

    def pull(self, number: int, step: Step) -> Step:
        """Return a derivative that is timed, the same for each use of a line."""
        line = self._line_of[number]
        pulled = self._pulled.get((line, id(step)))
        if pulled is None:
            pulled = self._pulled[line, id(step)] = _Pulled(line, step, self._time(line, step))
        pulled.count += 1
        return pulled.timed

    def _time(self, line: int, step: Step) -> Step:
        taken = self._backward

        def time_calls(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*xs: Any) -> Any:
                start = perf_counter()
                ys = function(*xs)
                taken[line] += perf_counter() - start
                return ys

            return run

        return step._replace(run=time_calls(step.run), add=step.add and time_calls(step.add))

    def costs(self) -> tuple[Counts, dict[Origin, float]]:
        """Return counts and seconds by where they come from."""
        lines, counts = self._plan.lines, {at: list(row) for at, row in self._plan.counts.items()}
        seconds = {
            origin: taken for origin, taken in zip(lines, self._forward, strict=True) if taken
        }
        derived = [Origin(place=origin.place, derived=True) for origin in lines]
        for pulled in self._pulled.values():
            row = counts.setdefault(derived[pulled.line], [0, 0, 0, 0])
            for k, count in enumerate(counts_of_step(pulled.step.program)):
                row[k] += pulled.count * count
        for origin, taken in zip(derived, self._backward, strict=True):
            if taken:
                seconds[origin] = seconds.get(origin, 0.0) + taken
        return counts, seconds


@memoised
def counts_of_step(program: Program) -> tuple[float, ...]:
    """Return what the derivative of an operation costs: operations, bytes and equations."""
    rows = counts_of(program).values()
    return tuple(sum(row[k] for row in rows) for k in range(4))
