"""The concrete value of a traced array, given only where no derivative is lost by it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.running.decisions import decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import ConcreteValueError, LostDerivativeError, user_location
from funcdiff.numpy.border.deferring import holders, without_labels
from funcdiff.numpy.border.failures import fail_traces, traces_of
from funcdiff.numpy.messages.mistakes import JOINED, mistake
from funcdiff.ops.elementwise.logic import not_equal
from funcdiff.ops.structure.slicing import Slice, take_slice
from funcdiff.ops.structure.structural import reshape

_INTEGER: Final = (
    "Use NumPy's functions: np.floor(x), funcdiff.numpy.take(a, i, axis=0) for a[i], fd.switch or "
    "np.stack(list)[i] for list[i]; write fd.fori_loop(0, n, body, init), not for k in range(n)."
)
_MASK: Final = (
    "Write np.where(mask, x, y), or where=mask in a reduction: without values there is no shape "
    "that depends on them."
)
_MOST: Final = 64
"""Elements of an array, at most, each of which decides where all of them are asked for."""


def concrete_value(x: Tracer) -> Any:
    """Return the value of an array of an eager trace; raises ConcreteValueError otherwise."""
    if x.builder is None:
        return x.atom.array  # type: ignore[union-attr]
    return x.builder.value(x.atom)


def value_or_decision(x: Tracer) -> Any:
    """Return the value of an array; integers and booleans without one decide, if anybody can tell.

    Raises `ConcreteValueError` if neither is so.
    """
    try:
        return concrete_value(x)
    except ConcreteValueError:
        found = _value_by_decisions(x)
        if found is None:
            raise
        return found


def integer_or_none(x: Tracer) -> int | None:
    """Return the value of an integer, or None where nobody knows it."""
    try:
        return int(value_or_decision(x))
    except ConcreteValueError:
        return None


def _value_by_decisions(x: Tracer) -> Any:
    """Return the integers or booleans of which each decides; None if they are not known."""
    if x.type.dtype.kind not in "biu" or x.type.size > _MOST:
        return None
    outcomes = []
    for place in range(x.type.size):
        outcome = decided(x, partial(_element, place))
        if outcome is None:
            return None
        outcomes.append(outcome)
    return np.array(outcomes, x.type.dtype).reshape(x.type.shape)[()]


def _element(place: int, x: Tracer) -> Tracer:
    """Return one element of an array, counted in C order."""
    if not x.type.shape:
        return x
    flat = reshape(x, (x.type.size,))
    return reshape(take_slice(flat, Slice((place,), (place + 1,), (1,))), ())


def index_value(x: Tracer) -> int:
    """Return the value of an integer."""
    return int(value_for(x, "an index of a list, or range(n),", _INTEGER))


def key_value(x: Tracer) -> Any:
    """Return the value of an integer or a boolean that is a key."""
    return value_for(x, "a key of a dict, or a member of a set,", _INTEGER)


def value_for(x: Tracer, what: str, cure: str) -> Any:
    """Return `value_or_decision`; the error says for `what` the value was needed."""
    try:
        return value_or_decision(x)
    except ConcreteValueError:
        missing = without_value(x, what, cure)
        fail_traces(x, missing)
        raise missing from None


def without_value(x: Tracer, what: str, cure: str, place: str = "") -> ConcreteValueError:
    """Return the error for what needs a value that there is not."""
    assert x.builder is not None
    return ConcreteValueError(
        f"{what} needs the value of a traced array of type {x.type}, at "
        f"{place or user_location()}, but {x.builder.name} is traced without values (inside cond, "
        f"scan, jit, or vmap of examples that differ in it). {cure} Under jit, an argument that is "
        "named in static_argnames keeps its value."
    )


def value_of(x: Any) -> Any:
    """Return the value of an array, traced or not, as an ndarray or a NumPy scalar."""
    return concrete_value(x) if isinstance(x, Tracer) else np.asarray(x)


def fact(x: Any, predicate: Callable[[Any], Any]) -> int:
    """Return an integer or a boolean that follows from a value; without one, it is decided by that.

    `predicate` takes an ndarray or a tracer, and gives a scalar.  Raises `ConcreteValueError` if
    nobody knows the value.
    """
    try:
        return int(predicate(value_of(x)))
    except ConcreteValueError:
        found = decided(x, predicate)
        if found is None:
            raise
        return found


def is_traced(value: Any) -> bool:
    """Return whether a value is a traced array, or holds one in nested lists or tuples."""
    if isinstance(value, list | tuple):
        return any(map(is_traced, value))
    return isinstance(value, Tracer) or (
        type(value) in holders and isinstance(without_labels(value), Tracer)
    )


def is_constant(x: Tracer) -> bool:
    """Return whether an array has no derivative to lose.

    So it is with integers and booleans, with what came through `stop_gradient`, and with all that
    is computed from such values and plain arrays alone.
    """
    if x.builder is None or x.builder.policy.severed:
        return True
    return not x.type.differentiable or next(traces_of(x, of_derivative=True), None) is None


def truth(x: Tracer) -> bool:
    """Return whether the value of an array holds."""
    try:
        return bool(concrete_value(x))
    except ConcreteValueError as error:
        found = decided(x, _as_truth) if x.type.size == 1 else None
        if found is None:
            fail_traces(x, error, bool)
            raise
        return bool(found)


def _as_truth(x: Tracer) -> Tracer:
    """Record whether a value is not zero."""
    return reshape(x if x.type.dtype == BOOL else not_equal(x, constant(0, x.type)), ())


def constant_value(x: Tracer, what: str, convert: Callable[[Any], Any] | None = None) -> Any:
    """Return the value of an array that has no derivative to lose.

    `what` is what messages call the conversion if the code is not known; see `remember` for the
    others.  Raises `ConcreteValueError` if the trace has no values, `LostDerivativeError` if the
    array has a derivative.
    """
    constant = is_constant(x)
    if constant:
        with suppress(ConcreteValueError):
            value = value_or_decision(x)
            return value if isinstance(value, np.generic) else np.array(value)
    code, cure, place = mistake()
    if constant or not has_value(x):
        counts = what == "int(x)" or not x.type.differentiable
        if counts and cure is not JOINED:
            cure = _MASK if x.type.dtype.kind == "b" else _INTEGER
        missing = without_value(x, code or what, cure, place)
        fail_traces(x, missing, convert)
        raise missing
    lost = LostDerivativeError(
        f"{code or what} met a traced array of type {x.type}, at {place}. That would "
        f"drop its derivative silently. {cure} Where no derivative is wanted, use "
        "fd.stop_gradient(x)."
    )
    fail_traces(x, lost, convert)
    raise lost


def has_value(x: Tracer) -> bool:
    """Return whether the trace of an array knows its value, or what fails on the way to it."""
    try:
        with np.errstate(all="ignore"):
            concrete_value(x)
    except Exception as error:
        return not isinstance(error, ConcreteValueError)
    return True
