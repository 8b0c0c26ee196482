"""Traces a call with names and lines, runs its program equation by equation, and reports on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
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
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.origins import Origin, Place, reader
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import running
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer
from funcdiff.errors import FuncdiffError, user_frame
from funcdiff.reading.costs import Counts, counts_of
from funcdiff.reading.explanation.findings import Advice, Fault, LineCost
from funcdiff.reading.explanation.inspections import (
    first_of,
    phrase,
    phrase_of,
    value_text,
)
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.explanation.sweep import (
    Root,
    Run,
    Sweep,
    SweepError,
)
from funcdiff.reading.explanation.watching import Swept, Watching
from funcdiff.reading.provenance import check_outside, origin_of, taking_notes

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
    lines = _lines_of(counts_of(swept.program), sweep.seconds())
    advice = [*sweep.advice.values(), *map(_advice_on_unused, swept.unused)]
    masked, kinks = sweep.masked.values(), sweep.kinks.values()
    return Report(name, tuple(faults), tuple(masked), tuple(kinks), tuple(advice), tuple(lines))


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


def _lines_of(counts: Counts, seconds: Mapping[Origin, float]) -> list[LineCost]:
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


class _Call(NamedTuple):
    """A call that was traced."""

    trace: Trace
    notes: Watching  # names and lines of the user's code
    operands: list[Any]  # the inputs that are no captures
    by: int = 0  # how many of them, the first ones, it is differentiated by
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
    trace, notes = call.trace, call.notes
    arrays = [*call.operands, *trace.captures]
    token = reader.set(notes)  # who looks on, so that names and lines are handed on
    try:
        swept = notes.to_sweep(trace.recording, call.derivative(), call.by)
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
