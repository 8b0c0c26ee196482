"""Marks traces as failed in which a value was refused, even if the traced code catches the error.

What catches the error, ``try: s = float(x)`` and ``except TypeError: s = 0.0``, goes on as another
function than the one that was to be differentiated or compiled; so its trace must fail.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Ref
from funcdiff.core.builder import Builder
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.errors import LostDerivativeError

_LOOKING: Final = frozenset({
    "logging", "pdb", "bdb", "IPython", "reprlib", "pprint", "traceback", "pydevd",
    "_pydevd_bundle", "debugpy", "_pytest",
})  # fmt: skip
"""Modules that show values to people, and catch what is raised meanwhile."""


def remember(x: Tracer, error: Exception, convert: Callable[[Any], Any] | None = None) -> None:
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
