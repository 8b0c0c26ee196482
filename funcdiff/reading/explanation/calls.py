"""Traces a call with names and lines, and reports on it: on a tape, or else by its program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import FrameType
from typing import Any, NamedTuple

from funcdiff.api.calls.differentiated import SplitCall, with_values
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.operands import Operands, on_operands
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.api.calls.transformed import Transformed
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.api.jit import JittedFunction
from funcdiff.core.effects import running
from funcdiff.core.origins import reader
from funcdiff.core.program import Program
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer
from funcdiff.errors import FuncdiffError, user_frame
from funcdiff.reading.examining import check_outside
from funcdiff.reading.explanation.diagnosis import diagnose
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.explanation.taped import explain_recording
from funcdiff.reading.explanation.watching import Watching
from funcdiff.reading.provenance import taking_notes


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
