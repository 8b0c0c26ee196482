"""Traces a call with names and lines, and reports on it: on a tape, or else by its program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.differentiated import SplitCall, with_values
from funcdiff.api.calls.inputs import Inputs, Operands, Selection, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.api.calls.transformed import Transformed
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.api.jit import JittedFunction
from funcdiff.backend.tape.on_values import Arithmetic
from funcdiff.backend.tape.steps import NeedsProgramError, Step, pull_step, with_shape
from funcdiff.backend.tape.tape import Tape, attempt, check_finite
from funcdiff.core.atoms import Atom, Entry, Literal, Ref
from funcdiff.core.origins import UNKNOWN, Origin, Place, reader
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import running
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.running.dataflow import variables_reached
from funcdiff.core.running.memo import memoised
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import FuncdiffError, user_frame
from funcdiff.reading.costs import Counts, counts_of
from funcdiff.reading.explanation.findings import Advice, Fault, LineCost
from funcdiff.reading.explanation.inspections import (
    first_of,
    has_slope,
    phrase,
    phrase_of,
    value_text,
)
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.explanation.sweep import (
    Looks,
    Root,
    Run,
    Sweep,
    SweepError,
    looks_of,
    not_finite,
)
from funcdiff.reading.explanation.watching import Swept, Watching, names_of_unused
from funcdiff.reading.provenance import check_outside, origin_of, taking_notes
from funcdiff.transforms.jvp import Mask

# ---- Makes a report of a sweep: faults in order, and the costs of lines --------------------------


_OPERANDS: Final = 3
"""So many operands of an equation are shown."""


def diagnose(
    name: str, swept: Swept, arrays: Sequence[Any], word_of: Callable[[Any], str]
) -> Report:
    """Sweep a program on the values of its inputs, and report what is found."""
    sweep = Sweep()
    run = sweep.run(swept.program, swept.active)
    try:
        run(*arrays)
        faults = _faults(run, swept, word_of)
    except SweepError as failure:
        faults = [_failure(failure)]
    lines = lines_of(counts_of(swept.program), sweep.seconds())
    return report_of(name, faults, sweep, swept.unused, lines)


def report_of(
    name: str,
    faults: Sequence[Fault],
    sweep: Sweep,
    unused: Sequence[str],
    lines: Sequence[LineCost],
) -> Report:
    """Return a report of what a sweep has found, of arguments without influence, and of costs."""
    advice = [*sweep.advice.values(), *map(_advice_on_unused, unused)]
    return Report(
        name,
        tuple(faults),
        tuple(sweep.masked.values()),
        tuple(sweep.kinks.values()),
        tuple(advice),
        tuple(lines),
    )


def _advice_on_unused(word: str) -> Advice:
    return Advice(
        None,
        f"the argument {word}",
        "no operation leads from it to the result, so that its derivative is zero",
        "leave it out of what is differentiated, or use it",
    )


# ---- faults --------------------------------------------------------------------------------------


def _faults(run: Run, swept: Swept, word_of: Callable[[Any], str]) -> list[Fault]:
    """Return where values are first not finite, in order, and derivatives, from behind."""
    program = swept.program
    targets: list[Atom] = list(dict.fromkeys([*swept.values, *program.outputs]))
    found = run.roots([x for x in targets if not origin_of(program, x).derived])
    known = {root.variable for root in found}
    backward = [r for r in run.roots(targets) if r.variable not in known]
    order = _order_of_places(program)
    backward.sort(key=lambda r: -order.get(origin_of(program, r.variable).place, -1))
    return list(dict.fromkeys(_fault(root, word_of) for root in [*found, *backward]))


def _order_of_places(program: Program) -> dict[Place | None, int]:
    """Return when lines run, going forward."""
    found: dict[Place | None, int] = {}
    for index, eq in enumerate(program.equations):
        for v in eq.results:
            origin = origin_of(program, v)
            if not origin.derived:
                found.setdefault(origin.place, index)
    return found


def _fault(root: Root, word_of: Callable[[Any], str]) -> Fault:
    while root.found.inner is not None:
        root = root.found.inner
    program, v, flags = root.program, root.variable, root.flags
    origin = origin_of(program, v)
    index, count = first_of(flags), int(np.count_nonzero(flags))
    eq = next((eq for eq in program.equations if v in eq.results), None)
    if eq is None:
        text = value_text(root.found.value, index)
        word = origin.name or word_of(root.found.value) or phrase_of(program, v)
        return Fault("argument", None, word, text, count, np.size(flags), index)
    operands: list[tuple[str, str]] = []
    for atom, x in zip(eq.operands, root.found.operands, strict=True):
        if not isinstance(atom, Literal) and len(operands) < _OPERANDS:
            same = eq.primitive.pointwise and np.shape(x) == np.shape(flags)
            operands.append((phrase_of(program, atom), value_text(x, index if same else None)))
    return Fault(
        "derivative" if origin.derived else "value", origin.place, phrase(program, eq),
        value_text(root.found.value, index), count, np.size(flags), index,
        tuple(dict.fromkeys(operands)),
    )  # fmt: skip


def _failure(failure: SweepError) -> Fault:
    program, eq = failure.program, failure.eq
    place = origin_of(program, eq.results[0]).place if eq.results else None
    found = f"{type(failure.error).__name__}: {failure.error}"
    return Fault("error", place, phrase(program, eq), found)


# ---- costs ---------------------------------------------------------------------------------------


def lines_of(counts: Counts, seconds: Mapping[Origin, float]) -> list[LineCost]:
    """Return what lines cost, of operations and of time by where they come from, the slowest first.

    What has the same line in different functions is one.
    """
    places: dict[tuple[str, int] | None, Place | None] = {}
    sums: dict[tuple[str, int] | None, list[list[float]]] = {}

    def add(origin: Origin, *values: float) -> None:
        key = origin.place and origin.place[:2]
        if key not in places:
            places[key], sums[key] = origin.place, [[0.0, 0.0] for _ in range(3)]
        for pair, value in zip(sums[key], values, strict=True):
            pair[origin.derived] += value

    for origin, taken in seconds.items():
        add(origin, taken, 0, 0)
    for origin, (flops, read, written, _) in counts.items():
        add(origin, 0.0, flops, read + written)
    lines = []
    for key, (times, operations, moved) in sums.items():
        memory = int(moved[0]), int(moved[1])
        pair = times[0], times[1]
        lines.append(LineCost(places[key], pair, (operations[0], operations[1]), memory))
    return sorted(lines, key=lambda line: -line.total_seconds)


# --------------------------------------------------------------------------------------------------
# Explains a call on a tape, as a gradient is computed at first sight: no program is derived.
#
# That does where all numbers are finite and no operation holds a program of its own, as loops do.


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
    entries, _, origins, _ = shared
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
    unused = names_of_unused(recording, count or 0)
    return _Plan(shared, looks, tuple(lines), line_of, counts_of.__wrapped__(program), unused)


def _share(recording: Recording) -> Recording:
    """Return the recording with the inputs first, and what is computed twice computed once."""
    entries, outputs, origins, _ = recording
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
    return tuple(kept), tuple(rename(outputs)), tuple(known), ()


@dataclass(slots=True)
class _Pulled:
    """A derivative of an operation, as a line uses it: its program, timed, and how often."""

    line: int
    program: Program
    timed: Step
    count: int = 0


class _Watch(Arithmetic):
    """Times operations and looks at what they compute on a tape."""

    sees_all = True

    def __init__(self, plan: _Plan) -> None:
        self.sweep = Sweep()
        self._plan, self._line_of = plan, plan.line_of
        self._forward, self._backward = ([0.0] * len(plan.lines) for _ in range(2))
        self._pulled: dict[tuple[int, Operation, int], _Pulled] = {}

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

    def pull(self, number: int, op: Operation, active: Mask, present: Mask) -> Step:
        """Return a derivative that is timed, the same for each use of a line."""
        line, step = self._line_of[number], pull_step(op, active, present)
        key = line, op, id(step)
        pulled = self._pulled.get(key)
        if pulled is None:
            program = with_shape(step.program, op.operands[0].shape)
            pulled = self._pulled[key] = _Pulled(line, program, self._time(line, step))
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
            for k, count in enumerate(counts_of_step(pulled.program)):
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


class _Call(NamedTuple):
    """A call that was traced."""

    trace: Trace
    notes: Watching  # names and lines of the user's code
    operands: list[Any]  # the inputs that are no captures
    by: int | None = None  # how many of them, the first ones, it is differentiated by
    # Makes the program of the gradient, if the call returns one.
    derivative: Callable[[], Program | None] = lambda: None


def explanation(name: str, f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Report:
    """Trace and run a call of `f`, and report what is found."""
    check_outside()
    caller = user_frame()
    plain: Any = f.__wrapped__ if isinstance(f, JittedFunction) else f  # where values decide
    given = _Gradient.of(plain)
    if not isinstance(f, JittedFunction) or not f.has_static_parameters:
        f = plain
    call = given and run_isolated(lambda: given.trace(args, kwargs, caller))
    call = call or run_isolated(lambda: _trace(f, args, kwargs, caller))
    trace, notes, by = call.trace, call.notes, call.by
    arrays = [*call.operands, *trace.captures]
    found = None
    if not (notes.has_derivatives or trace.rule_calls):
        found = explain_recording(name, trace.recording, arrays, by)
    if found is not None:
        return found
    token = reader.set(notes)  # who looks on, so that names and lines are handed on
    try:
        swept = notes.to_sweep(trace.recording, call.derivative(), by or 0)
    finally:
        reader.reset(token)
    with nullcontext() if trace.calls is None else running(trace.calls):
        return diagnose(name, swept, arrays, notes.array_name)


def _trace(
    f: Callable[..., Any], args: Any, kwargs: dict[str, Any], caller: FrameType | None
) -> _Call:
    invocation = Operands((args, kwargs))
    notes = Watching(caller)
    with taking_notes(notes):
        trace = record(
            f, invocation.xs, on_operands(f, invocation), nested_policy(0, lifts=False),
            taps={}, weak=invocation.weak,
        )  # fmt: skip
    return _Call(trace, notes, invocation.xs)


class _Gradient(NamedTuple):
    """What `grad` and `value_and_grad` were given."""

    f: Callable[..., Any]
    selection: Selection
    has_aux: bool
    wants_value: bool

    @classmethod
    def of(cls, f: Callable[..., Any]) -> _Gradient | None:
        """Return what a gradient was made of; None of any other function."""
        make, args, kwargs = f._parts() if type(f) is Transformed else (None, (), {})
        if make not in (grad, value_and_grad) or kwargs.get("holomorphic"):
            return None
        given = inspect.signature(make).bind(*args, **kwargs).arguments
        selection = Selection(
            given["f"], make.__name__, given.get("argnums"), given.get("argnames")
        )
        return cls(given["f"], selection, given.get("has_aux", False), make is value_and_grad)

    def trace(self, args: Any, kwargs: dict[str, Any], caller: FrameType | None) -> _Call | None:
        """Return a call, traced; None if there is no gradient, which the call has to say itself.

        Arguments that are not differentiated are traced, too, unless they must be plain numbers.
        """
        places = self.selection.places(args, kwargs)
        inputs = SplitCall(self.f, self.selection, args, kwargs).inputs
        others = (
            tuple(None if k in places else x for k, x in enumerate(args)),
            {k: None if k in places else x for k, x in kwargs.items()},
        )
        rest, notes = Operands(others), Watching(caller)
        try:
            trace = self._record(places, inputs, rest, notes)
        except FuncdiffError:
            if not rest.xs:
                raise
            rest, notes = Operands(others, lambda _leaf: False), Watching(caller)
            trace = self._record(places, inputs, rest, notes)
        type_ = trace.outputs[0].type if trace.is_array else None
        if type_ is None or type_.shape or type_.dtype.kind != "f":
            return None

        count = len(inputs.operands)

        def derivative() -> Program | None:
            return gradient_program(
                trace.recording, count, holomorphic=False, wants_value=self.wants_value,
                elementwise=False,
            ).program  # fmt: skip

        return _Call(trace, notes, [*inputs.operands, *rest.xs], count, derivative)

    def _record(
        self, places: Sequence[int | str], inputs: Inputs, rest: Operands, notes: Watching
    ) -> Trace:
        count = len(inputs.operands)

        def call(tracers: list[Tracer]) -> Any:
            others, named = rest.tree(tracers[count:])
            values = inputs.rebuild(tracers[:count])
            args, kwargs = with_values(others, named, places, values)
            return self.f(*args, **kwargs)

        with taking_notes(notes):
            return record(
                self.f, [*inputs.operands, *rest.xs], call, nested_policy(1, lifts=False),
                has_aux=self.has_aux, keeps_aux=True, taps={}, weak=(*inputs.weak, *rest.weak),
            )  # fmt: skip
