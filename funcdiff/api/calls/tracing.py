"""Traces a call of a function to a recording, and rebuilds its result from a program's outputs.

Where something is in the user's code is found by tracing once more, with source lines.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextvars import copy_context
from functools import lru_cache, partial
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import describe, is_numeric
from funcdiff.api.calls.inputs import as_tracers, is_array_without_axes, type_of
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.late import late
from funcdiff.core.origins import Place, Reader, reader
from funcdiff.core.policy import Policy
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.concrete import Calls, calls_made, running
from funcdiff.core.recording.entries import Recording
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.recording.snapshot import check_arguments, impression
from funcdiff.core.running.decisions import Decision, Decisions, finish
from funcdiff.core.running.evaluate import copy_aliased, executable, is_repeatable
from funcdiff.core.running.walk import inline
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.core.types import ArrayType
from funcdiff.errors import (
    OutputError,
    TracerError,
    hides,
    is_raised_by_user,
    own_cause,
    user_location,
)
from funcdiff.numpy.border.promotion import array, as_number, innermost, is_weak
from funcdiff.numpy.memory import views
from funcdiff.numpy.messages.foreign import answer_protocols
from funcdiff.numpy.messages.mistakes import note_cure

Finder: TypeAlias = Callable[[Builder, Recording], Place | None]
"""Finds a place in what was recorded with lines."""


Locate: TypeAlias = Callable[..., Place | None]
"""``locate(find, operands)`` traces a function again, and returns the place that `find` finds.

By default it is the one that fails to run, with the operands of which the function was traced.
"""


def nowhere(*_how: object) -> None:
    """Return no place: of a trace that is kept without its function."""


def place_in(
    builder: Builder,
    recording: Recording,
    repeat_call: Callable[[Builder, Sequence[Any] | None], Recording],
    find: Finder | None = None,
    operands: Sequence[Any] | None = None,
) -> Place | None:
    """Return a place in traced code, if it may be traced again; see `Trace.locate`."""
    operations = [x[0] for x in recording[0] if x and isinstance(x[0], Operation)]
    if any(call.is_opaque for call in builder.rule_calls or ()) or not is_repeatable(operations):
        return None

    def locate() -> Place | None:
        reader.set(Reader())
        with Builder(builder.name, Policy(eager=True)) as again:
            found = repeat_call(again, operands)
            if find is not None:
                return find(again, found)
            return again.values.first_failure(again)

    try:
        return copy_context().run(locate)
    except Exception as error:
        if not (builder.rule_calls or is_raised_by_user(error)):
            raise
    return None  # what runs on values, or again, may fail in its own way


def first_examples(operands: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return values for inputs of these types: of a batch, the first one, None if it is empty."""
    pairs = zip(operands, types, strict=True)
    return [x if np.shape(x) == t.shape else x[0] if len(x) else None for x, t in pairs]


# ---- tracing -------------------------------------------------------------------------------------


need_what_raises: Final = late("funcdiff.ops.control.guard", "need_what_raises")


class Trace(NamedTuple):
    """A call of a function on tracers."""

    recording: Recording  # the program in the making; its inputs are those given, then the captures
    captures: list[Any]  # values of the captured inputs: arrays, or tracers of an enclosing trace
    structure: pytree.Structure  # of the result
    numeric: tuple[bool, ...]  # for each leaf of the result, whether it is an output of the program
    others: list[Any]  # the leaves that are not: strings, flags and the like
    aux: Aux | None  # what the function returned beside its result

    @property
    def is_array(self) -> bool:
        """Whether the result is one array or number, in no container."""
        return self.structure is pytree.LEAF and self.numeric == (True,)

    @property
    def is_alone(self) -> bool:
        """Whether the result is one array or number, with labels or without."""
        return self.numeric == (True,) and (
            self.structure is pytree.LEAF or self.structure.is_labelled
        )

    @property
    def first_values(self) -> Sequence[Any]:
        """The values of the first variables, if the program has all of these."""
        return () if self.recording[3] else self.evaluated

    def rebuild(self, values: Sequence[Any]) -> Any:
        """Return the result with these values of its outputs."""
        return rebuild(self.structure, self.numeric, values, self.others)

    def scalar(self, results: Sequence[Any]) -> Any:
        """Return the first of results as the function's, which has but one: with its labels."""
        return rebuild(self.structure, self.numeric, results, ())

    # Traces again, noting lines, and returns the place in the user's code that a function finds in
    # the builder and the recording, by default the one that fails to run; None if it is not found,
    # or cannot be without repeating effects of opaque functions.
    locate: Locate
    outputs: list[Tracer]  # as handles of the trace
    calls: Calls | None  # of the user's code, that were made already
    rule_calls: list[Any] | None  # of functions with rules, that were made on values
    decisions: tuple[Decision, ...] = ()  # the outcomes for which the recording holds
    evaluated: Sequence[Any] = ()  # of the first variables, up to the last argument of `rule_calls`
    asked: bool = False  # whether the function asked for values of what is traced
    by_layout: bool = False  # whether it depends on how arguments lie in memory


class Aux(NamedTuple):
    """The auxiliary result: its outputs come behind those of the result."""

    structure: pytree.Structure
    numeric: tuple[bool, ...]
    others: list[Any]

    def rebuild(self, values: Sequence[Any]) -> Any:
        """Return the auxiliary result with these values of its outputs."""
        return rebuild(self.structure, self.numeric, values, self.others)


def nested_policy(
    orders: int = 1, *, eager: bool = True, lifts: bool = True, severed: bool = False,
    on_values: str = "",
) -> Policy:  # fmt: skip
    """Return how a function of the user's is recorded inside the present trace, if there is one.

    It will be differentiated `orders` times on account of this trace; the rest is as `Policy` has
    it.  Numbers are not lifted where the enclosing trace lifts none, and inside a trace, rules are
    traced whatever `on_values` says.
    """
    outer = current_builder()
    pending = 2 * orders
    if outer is not None:
        lifts = lifts and outer.policy.lifts
        pending += outer.policy.pending
        on_values = ""
    return _policy(eager, lifts, severed, pending, on_values)


@lru_cache(maxsize=64)
def _policy(eager: bool, lifts: bool, severed: bool, pending: int, on_values: str) -> Policy:  # noqa: FBT001
    return Policy(eager=eager, lifts=lifts, severed=severed, pending=pending, on_values=on_values)


def record(
    f: Callable[..., Any],
    operands: Sequence[Any],
    call: Callable[[list[Tracer]], Any],
    policy: Policy | None = None,
    *,
    has_aux: bool = False,
    keeps_aux: bool = False,
    types: Sequence[Any] | None = None,
    taps: dict[str, Any] | None = None,
    weak: Sequence[bool] = (),
    decisions: Callable[[Builder, Sequence[Any]], Decisions] | None = None,
    as_given: bool = False,
) -> Trace:
    """Run ``call(tracers)``, which calls `f`, and record what happens to the tracers.

    `operands` are values of the inputs, of which `types` are given if they have others, and `weak`
    says of the first ones whether they stand for Python numbers.  Without a policy it is that of
    `nested_policy`.  With `has_aux` the function returns a pair ``(result, aux)``, and if this
    `keeps_aux`, only what is traced in `aux` is an output.  Names given to values are noted in
    `taps`, or where the enclosing trace does.  ``decisions(builder, operands)`` answers what is
    asked for where the policy has no values.  Inputs lie in memory as the operands that the caller
    gave: where they have their values, or if they are told `as_given`.
    """
    answer_protocols()
    name = FunctionName(f)
    outside = current_builder()
    policy = policy or nested_policy()
    taps = outside.taps if taps is None and outside is not None else taps
    builder = Builder(name, policy, taps=taps)
    builder.decisions = decisions and decisions(builder, operands)
    parts = partial(_parts, name, (_is_traced if keeps_aux else is_numeric) if has_aux else None)

    def run_traced() -> Trace:
        given = types or [type_of(x) for x in operands]
        values = operands if policy.eager else [None for _ in operands]  # which may be stacks
        with builder:
            tracers = _inputs(builder, given, values, weak, operands, as_given=as_given)
            before = impression(operands)
            try:
                returned = call(tracers)
            except Exception as error:
                _raise_ours(error, builder)
                raise
            check_arguments(operands, before, name)
            if builder.refused is not None:
                raise _error_for_caught(*builder.refused, name)
            (outputs, structure, numeric, others), aux_parts = parts(builder, returned)
            ended = builder
            if outside is not None or decisions is not None:  # somebody may decide
                ended, outputs = finish(builder, outputs)
            recording = ended.recording(outputs)
            made = () if builder.decisions is None else tuple(builder.decisions.made)
            builder.decisions = builder.given = None  # which have the values
        if (looking := reader.get()) is not None and types is None:
            looking.note_trace(builder, recording, operands)

        def repeat_call(again: Builder, others: Sequence[Any] | None) -> Recording:
            values = first_examples(others or operands, given)
            returned = call(_inputs(again, given, values, weak, operands, as_given=as_given))
            return again.recording(parts(again, returned)[0][0])

        return Trace(
            recording, ended.captures, structure, numeric, others, aux_parts,
            partial(place_in, builder, recording, repeat_call), outputs, calls_made(builder),
            builder.rule_calls, made, builder.values.first(builder.evaluated),
            builder.values.were_asked, builder.decides_by_layout,
        )  # fmt: skip

    return run_isolated(run_traced)


def _inputs(
    builder: Builder,
    types: Sequence[Any],
    values: Sequence[Any],
    weak: Sequence[bool],
    operands: Sequence[Any],
    *,
    as_given: bool,
) -> list[Tracer]:
    """Add inputs that stand for what the operands are: arrays, NumPy scalars or numbers."""
    flags = chain(weak, repeat(False))
    pairs = zip(types, values, strict=True)
    inputs = [builder.input(t, x, weak=flag) for (t, x), flag in zip(pairs, flags, strict=False)]
    for k, (t, x) in enumerate(zip(types, operands, strict=True)):
        if not (t.shape or inputs[k].weak) and is_array_without_axes(x):
            inputs[k] = views.as_array(inputs[k])
        if as_given or values[k] is not None:
            views.note_argument(inputs[k], builder, k)
    builder.given = operands
    return inputs


def _raise_ours(error: Exception, builder: Builder) -> None:
    """Raise an error of ours in the place of which another one stands."""
    if isinstance(error, ValueError | SystemError) and isinstance(error.__cause__, TracerError):
        raise error.__cause__ from None
    ours = own_cause(error)
    if ours is not None:
        raise ours from None
    if builder.refused is not None and hides(error, builder.refused[0]):
        kind, message = builder.refused
        refusal = kind(message)
        note_cure(error)
        for note in getattr(error, "__notes__", ()):
            if note.startswith("funcdiff:"):
                refusal.add_note(note)
        raise refusal from error
    note_cure(error, builder.refused)


def _error_for_caught(kind: type[Exception], message: str, name: FunctionName) -> Exception:
    """Return the error for a function that caught one of ours and went on in another way."""
    return kind(
        f"{message} {name} went on from there, but not as it does with plain numbers. Mend the "
        "line that is named. Where the error was caught, ask before, by isinstance or the shape."
    )


def _pair(result: Any, name: FunctionName) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise OutputError(
            f"has_aux=True needs a pair (result, aux), but {name} returned {describe(result)}, at "
            f"{user_location()}. Return a tuple of both, or leave has_aux out."
        )
    return result


def _is_traced(leaf: Any) -> bool:
    """Whether a leaf is computed from what is traced."""
    return isinstance(leaf, Tracer)


_Outputs: TypeAlias = tuple[list[Tracer], pytree.Structure, tuple[bool, ...], list[Any]]
"""The outputs, and what a result is made of: see `Trace`."""


def _parts(
    name: FunctionName, is_output: Callable[[Any], bool] | None, builder: Builder, returned: Any
) -> tuple[_Outputs, Aux | None]:
    """Take a result apart, and what is beside it if `is_output` says what of that is an output.

    Checks that no output needs are computed with them.
    """
    result = returned if is_output is None else _pair(returned, name)[0]
    outputs, structure, numeric, others = _outputs(result)
    for leaf in others:
        _refuse_unfinished(leaf, name)
    aux_parts = None
    if is_output is not None:
        more = _outputs(returned[1], is_output)
        outputs, aux_parts = outputs + more[0], Aux(*more[1:])
    if builder.may_raise and builder.records_user:
        need_what_raises(builder, outputs)
    return (outputs, structure, numeric, others), aux_parts


def _refuse_unfinished(leaf: Any, name: FunctionName) -> None:
    """Refuse a generator, another iterator or a coroutine, whose code would run after the trace."""
    if isinstance(leaf, Coroutine):
        leaf.close()
        cure = "Write def, not async def."
    elif isinstance(leaf, Iterator):
        cure = "Return a list, a tuple or np.stack of its items: no yield, list(map(...))."
    else:
        return
    raise OutputError(
        f"{name} returned a {type(leaf).__name__}, at {user_location()}: its code would run when "
        f"the trace has ended. {cure}"
    )


def _outputs(tree: Any, is_output: Callable[[Any], bool] = is_numeric) -> _Outputs:
    if isinstance(tree, Tracer):  # the most common result
        return [tree], pytree.LEAF, (True,), []
    leaves, structure = pytree.flatten(tree)
    numeric = tuple(map(is_output, leaves))
    outputs = [
        leaf if isinstance(leaf, Tracer) else _constant(leaf)
        for leaf, flag in zip(leaves, numeric, strict=True)
        if flag
    ]
    others = [leaf for leaf, flag in zip(leaves, numeric, strict=True) if not flag]
    return outputs, structure, numeric, others


def _constant(leaf: Any) -> Any:
    """Return what is not traced as a tracer, which of a Python number stands for one."""
    return as_number(array(leaf)) if is_weak(leaf) else array(leaf)


def restore_kinds(results: Sequence[Any], models: Sequence[Tracer | None]) -> list[Any]:
    """Return results as the outputs of a body are: arrays, NumPy's scalars or Python's numbers.

    Tracers come on handles of their own.  Where a model is None, it is not known what it would be.
    """
    return [
        y if model is None else _restore_kind(y, model)
        for y, model in zip(results, models, strict=True)
    ]


def _restore_kind(y: Any, model: Tracer) -> Any:
    if isinstance(y, Tracer):
        return type(model)(y.builder, y.atom, y.type)
    if model.weak:
        return y.item()
    return np.asarray(y) if isinstance(model, np.ndarray) else y


def rebuild(
    structure: pytree.Structure,
    numeric: Sequence[bool],
    values: Sequence[Any],
    others: Sequence[Any],
) -> Any:
    """Put results and the leaves that were not traced back into their container."""
    if structure is pytree.LEAF:
        return values[0] if numeric[0] else others[0]
    numbers, rest = iter(values), iter(others)
    leaves = [next(numbers) if flag else next(rest) for flag in numeric]
    return pytree.unflatten(structure, leaves)


def arrange_results(
    derivative: Any,
    value: Any,
    trace: Trace,
    aux: Sequence[Any],
    wants_value: bool,  # noqa: FBT001
) -> Any:
    """Return a derivative beside the value, if it is wanted, and the auxiliary result with it."""
    if trace.aux is None:
        return (value, derivative) if wants_value else derivative
    rest = trace.aux.rebuild(aux)
    return ((value, rest), derivative) if wants_value else (derivative, rest)


def run(
    program: Program, operands: Sequence[Any], trace: Trace | None = None, *, derived: bool = True
) -> list[Any]:
    """Execute a program, or, if an operand is traced, record it in the trace outside.

    NumPy's floating-point warnings are off: a derivative may meet infinities that the function
    does not.  An error is noted to come from a line of the function that `trace` is of, from which
    the program is `derived`, or has the operands.
    """
    if any_traced(operands):
        tracers, builder = as_tracers(operands), innermost()
        for x in tracers:
            builder.ref(x)  # raises for an escaped one, even if the program does not use it
        # handles of their own: changing one in place must not change an argument or a residual
        return [views.fresh(y) for y in quiet(inline, program, tracers)]
    try:
        if trace is not None and trace.calls is not None:
            with running(trace.calls):
                results = quiet(executable(program), *operands)
        else:
            results = quiet(executable(program), *operands)
    except Exception as error:
        given = None if derived or trace is None else operands[: -len(trace.captures) or None]
        place = trace.locate(None, given) if trace is not None else None
        if place is not None:
            error.add_note(f"funcdiff: which was recorded at {place}")
        else:  # it is a derivative that fails, not the function
            what = "derivative" if derived else "compiled function"
            error.add_note(f"funcdiff: in a {what} that was computed at {user_location()}")
        raise
    return copy_aliased(results, operands)


def copy_arrays(captures: Sequence[Any]) -> list[Any]:
    """Return captures that stay as they are when the trace has ended, whoever writes to what."""
    return [x.copy(order="K") if isinstance(x, np.ndarray) else x for x in captures]


def split_residuals(results: list[Any], trace: Trace) -> tuple[list[Any], list[Any]]:
    """Separate the outputs from the residuals, which must not change if an output is changed."""
    count = len(trace.recording[1])
    outputs, residuals = results[:count], results[count:]
    ours = {id(x) for x in outputs}
    return outputs, [
        x.copy() if isinstance(x, np.ndarray) and id(x) in ours else x for x in residuals
    ]
