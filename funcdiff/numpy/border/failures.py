"""Errors that the traced code may catch: of operations that may raise, and of refused values.

What catches the error, ``try: s = float(x)`` and ``except TypeError: s = 0.0``, goes on as another
function than the one that was to be differentiated or compiled; so its trace must fail.

What is recorded runs later, where no ``try`` of the traced function is active any more.  So what
may raise is computed when it is recorded, but only where somebody could notice: the handlers that
are active in each frame are read off the exception tables of its code.
"""

from __future__ import annotations

import dis
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Ref
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation, operation
from funcdiff.core.program import program_of_operation
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.quiet import error_state, floating_errors, without_warnings
from funcdiff.core.running.decisions import decided
from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.core.running.memo import memoised
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.errors import ConcreteValueError, LostDerivativeError, is_ours, user_location
from funcdiff.ops.user.failing import Fails, error_of, fails_p

_BOUNDARY: Final = run_isolated.__code__
"""Calls of traced functions are made from here: what is outside of the outermost catches nothing
that a plain call would not raise there as well."""


def may_be_caught(*, is_nested: bool, by_with: bool) -> bool:
    """Return whether a handler is active in what is traced.

    `is_nested` says that there is a trace around the innermost one, `by_with` that each ``with``
    counts, and not only where the name `suppress` is near.
    """
    found = pending = False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code is _BOUNDARY:
            found = found or pending
            if not is_nested or found:
                return found
        elif not pending:
            place = frame.f_lasti
            kinds = (kind for start, end, kind in _handlers(code) if start <= place < end)
            pending = next(kinds, "") in (("try", "with") if by_with else ("try",))
        frame = frame.f_back
    return found


@lru_cache(maxsize=4096)
def _handlers(code: CodeType) -> tuple[tuple[int, int, str], ...]:
    """Return which instructions a ``try`` protects or, if none does, only a ``with``.

    What a handler does not want it passes on, to that around its own instructions; so does what
    only puts things in order: after ``except``, and for a list.
    """
    if not code.co_exceptiontable or is_ours(code.co_filename):
        return ()
    names = {step.offset: step.opname for step in dis.get_instructions(code)}
    following = dict(pairwise(sorted(names)))
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    entries = parse(code)

    def kind(place: int) -> str:
        around = [entry.target for entry in entries if entry.start <= place < entry.end]
        if not around:
            return ""
        (target,) = around
        second = names.get(following.get(target, -1), "")
        is_with = second == "WITH_EXCEPT_START" and "suppress" not in code.co_names
        if names.get(target) == "PUSH_EXC_INFO" and not is_with:
            return "try"
        return kind(target) or "with" * is_with

    return tuple([(entry.start, entry.end, kind(entry.start)) for entry in entries])


_LOOKING: Final = frozenset({
    "logging", "pdb", "bdb", "IPython", "reprlib", "pprint", "traceback", "pydevd",
    "_pydevd_bundle", "debugpy", "_pytest",
})  # fmt: skip
"""Modules that show values to people, and catch what is raised meanwhile."""


def fail_traces(x: Tracer, error: Exception, convert: Callable[[Any], Any] | None = None) -> None:
    """Let the traces that `x` comes from fail at their end, whoever catches the error.

    `x` has no value to give, or a derivative to lose.  Where NumPy itself raises for ``convert(x)``
    of an array of its shape, a function that catches the error does the same with and without a
    trace.
    """
    if is_shown() or (convert is not None and _raises(convert, x)):
        return
    message = type(error), str(error)
    for builder in set(traces_of(x, of_derivative=isinstance(error, LostDerivativeError))):
        builder.refused = builder.refused or message


def _raises(convert: Callable[[Any], Any], x: Tracer) -> bool:
    if not x.type.shape:
        return False
    try:
        convert(np.zeros(x.type.shape, x.type.dtype))
    except (TypeError, ValueError):
        return True
    return False


def is_shown() -> bool:
    """Whether a log, or a debugger, asks: it shows the error and gives no value to the function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "funcdiff.api.calls.tracing":
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LOOKING:
            return True
        frame = frame.f_back
    return False


def traces_of(x: Tracer, *, of_derivative: bool) -> Iterator[Recorder]:
    """Give the traces of whose inputs `x` is computed.

    They are those whose derivative it has or, otherwise, those without values that it needs.
    """
    builder = x.builder
    if builder is None or (of_derivative and builder.policy.severed):
        return
    for number in _inputs(builder, x.atom, of_derivative=of_derivative):
        outside = builder.capture_of(number) if of_derivative else builder.input_value(number)
        traced = isinstance(outside, Tracer)
        if outside is None or (not of_derivative and (traced or not builder.policy.eager)):
            yield builder
        if traced:
            yield from traces_of(outside, of_derivative=of_derivative)


@memoised
def _passes_on(op: Operation, place: int) -> bool:
    """Whether a tangent of an operand becomes one of a result, by the rule of the operation.

    If not, the slope is zero wherever there is one: so it is of ``floor`` and of a comparison.
    """
    if op.calls_user or op.primitive.jvp is None:
        return True
    with Builder("a slope", SHARED) as builder:
        xs = [builder.input(t) for t in op.operands]
        ts = [builder.input(t) if k == place else None for k, t in enumerate(op.operands)]
        try:
            _, tangents = op.primitive.jvp(op.params, xs, ts)
        except Exception:  # a rule that refuses does not say that it is zero
            return True
    return any(t is not None for t in tangents)


def _inputs(builder: Recorder, atom: Ref, *, of_derivative: bool) -> Iterator[int]:
    """Give the inputs from which a value is computed or, if asked, on a way of derivatives."""
    pending, seen = [atom], set()
    while pending:
        number = pending.pop()
        if not isinstance(number, int) or number in seen:
            continue
        seen.add(number)
        origin = builder.origin(number)
        if origin is None:
            yield number
            continue
        op, refs = origin
        if not of_derivative:
            pending.extend(refs)
        else:
            pending.extend(
                ref
                for place, (ref, type_) in enumerate(zip(refs, op.operands, strict=True))
                if type_.differentiable and _passes_on(op, place)
            )


# ---- Evaluates operations that may raise at once, where the plain call would raise as well -------
#
# That is where the user's code could catch the exception, and wherever floating-point errors raise.
# Where there are no values, whether it raises is a decision like the outcome of an ``if``.


def attempt(builder: Builder, number: int) -> int:
    """Let the last equation do now what it does in the plain call, if it may raise there.

    Return the number of its first result, which may have become another one.
    """
    errors = () if not builder.records_user else floating_errors()[0]
    if not errors:
        builder.state = error_state()
    op, *refs = builder.entries[number]
    assert isinstance(op, Operation)
    if not builder.records_user or not (errors or op.may_raise):
        return number
    is_nested = builder.parent is not None
    if not errors and not may_be_caught(is_nested=is_nested, by_with=True):
        return number
    if is_nested and not is_repeatable((op,)):
        return number  # bodies and rules hold one call of the user's several times
    try:
        for ref in refs:
            builder.value(ref)
        if number:
            with suppress(ConcreteValueError):  # what was before raises nothing in this state
                builder.value(number - 1)
    except ConcreteValueError:
        if op.calls_user and not errors:
            return number
        # of what is repeated or mapped, it is known where it is computed
        is_seen = not errors or (builder.state is None and not builder.policy.eager)
        if is_seen and not may_be_caught(is_nested=is_nested, by_with=False):
            return number
        return _decide(builder, number)
    except Exception as error:  # of what came before, where it would not have been caught
        builder.refused = builder.refused or (type(error), str(error))
        raise
    try:
        builder.values.of(number, builder)
    except Exception:
        del builder.entries[number:]
        raise
    if builder.policy.on_values:  # what is known need not be computed again
        builder.evaluated = max(builder.evaluated, number + len(op.results))
    return number


def _decide(builder: Builder, number: int) -> int:
    """Decide by whether the last equation raises; return the number that it has then."""
    made = builder.entries[number:]
    op, *refs = made[0]
    if not op.may_raise and not _computes(op):
        return number
    del builder.entries[number:]
    program = program_of_operation(op)
    errors, exception = floating_errors()
    warning = [kind for kind, what in np.geterr().items() if what == "warn" and kind in errors]
    raising = tuple([kind for kind in errors if kind not in warning])
    groups = [(kind,) for kind in warning] if exception is None else [tuple(warning)]
    for kinds in [*([raising] if raising or not warning else []), *(groups if warning else [])]:
        outcome = _outcome(
            builder, operation(fails_p, Fails(program, (), kinds), op.operands), refs
        )
        failure = error_of(program, outcome) if outcome else None
        if isinstance(failure, FloatingPointError) and kinds != raising:
            failure = RuntimeWarning(*failure.args)
            if exception is None:
                warnings.warn(failure, stacklevel=2)
                continue
        if failure is not None:
            raise failure
    number = len(builder.entries)
    for entry in made:
        builder.entries.append(entry)
    return number


def _outcome(builder: Builder, asks: Operation, refs: Sequence[Ref]) -> int:
    """Decide by the outcome of a `fails`, and return it."""
    p = asks.params
    assert isinstance(p, Fails)
    (flag,) = without_warnings(builder.record, (asks, refs))
    calls = p.errors and "call" in np.geterr().values()  # the user's code, not known here
    outcome = None if calls else without_warnings(decided, (flag, lambda x: x))
    if outcome is None:
        missing = ConcreteValueError(
            f"whether {p.program.equations[0].primitive} raises an exception decides what happens "
            f"at {user_location()}, but {builder.name} is traced without values (inside cond, "
            "scan, or vmap of examples that differ in it; or np.errstate has a call=). Leave out "
            "the try or np.errstate and compute what is right for both, with np.where or fd.cond "
            "and np.linalg.eigvalsh(x).min() > 0, say."
        )
        fail_traces(flag, missing)
        raise missing
    return outcome


def _computes(op: Operation) -> bool:
    """Whether an operation may meet a floating-point error: not if it only moves elements."""
    moves = op.primitive.implementation.view or op.primitive.facts.elements == "moved"
    return not moves and any(t.dtype.kind in "fc" for t in (*op.operands, *op.results))
