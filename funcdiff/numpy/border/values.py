"""The concrete value of a traced array, given only where no derivative is lost by it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.decisions import decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import ConcreteValueError, LostDerivativeError, user_location
from funcdiff.numpy.border.swallowing import remember, traces_of
from funcdiff.numpy.messages.mistakes import JOINED, mistake
from funcdiff.ops.elementwise.logic import not_equal
from funcdiff.ops.structure.structural import reshape

_INTEGER: Final = (
    "Use NumPy's functions: np.floor(x), funcdiff.numpy.take(a, i, axis=0) for a[i], fd.switch or "
    "np.stack(list)[i] for list[i]; write fd.fori_loop(0, n, body, init), not for k in range(n)."
)
_MASK: Final = (
    "Write np.where(mask, x, y), or where=mask in a reduction: without values there is no shape "
    "that depends on them."
)
_SHOWN: Final = "Leave the format out, which shows the type, or show what the function returns."


def concrete_value(x: Tracer) -> Any:
    """Return the value of an array of an eager trace; raises ConcreteValueError otherwise."""
    if x.builder is None:
        return x.atom.array  # type: ignore[union-attr]
    return x.builder.value(x.atom)


def index_value(x: Tracer) -> int:
    """Return the value of an integer."""
    try:
        return int(concrete_value(x))
    except ConcreteValueError:
        found = decided(x, lambda x: x)
        if found is not None:
            return found
        missing = _without_value(x, "an index of a list, or range(n),", _INTEGER)
        remember(x, missing)
        raise missing from None


def text(x: Tracer) -> str:
    """Return the value of an array, if it has one, and its type."""
    try:
        return f"traced({np.array2string(np.asarray(concrete_value(x)))}: {x.type})"
    except ConcreteValueError:
        return f"traced({x.type})"


def format_value(x: Tracer, spec: str) -> str:
    """Return the value of an array as text; without a value and a format, its type.

    What has a derivative is marked by a tilde, ``~2.500``, which people read and no parser takes:
    of ``float(f"{x}")`` the derivative would be lost without a word.
    """
    try:
        value = concrete_value(x)
    except ConcreteValueError:
        if not spec:
            return text(x)
        raise _without_value(x, f"the format {spec!r}", _SHOWN) from None
    if is_constant(x):
        return format(value, spec)
    if not spec and np.ndim(value):
        return f"~{np.array2string(value, prefix='~')}"
    shown = format(value, spec)
    number = shown.lstrip(" ")
    return f"{'~':>{len(shown) - len(number)}}{number}"


def _without_value(x: Tracer, what: str, cure: str) -> ConcreteValueError:
    assert x.builder is not None
    return ConcreteValueError(
        f"{what} needs the value of a traced array of type {x.type}, at {user_location()}, but "
        f"{x.builder.name} is traced without values (inside cond, scan, jit, or vmap of "
        f"examples that differ in it). {cure} Under jit, an argument that is named in "
        "static_argnames keeps its value."
    )


def value_of(x: Any) -> Any:
    """Return the value of an array, traced or not, as an ndarray or a NumPy scalar."""
    return concrete_value(x) if isinstance(x, Tracer) else np.asarray(x)


def is_traced(value: Any) -> bool:
    """Return whether a value is a traced array, or holds one in nested lists or tuples."""
    if isinstance(value, list | tuple):
        return any(map(is_traced, value))
    return isinstance(value, Tracer)


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
            remember(x, error, bool)
            raise
        return bool(found)


def _as_truth(x: Tracer) -> Tracer:
    """Record whether a value is not zero."""
    return reshape(x if x.type.dtype == BOOL else not_equal(x, constant(0, x.type)), ())


def constant_value(x: Tracer, what: str, convert: Callable[[Any], Any] | None = None) -> Any:
    """Return the value of an array that has no derivative to lose.

    `what` is what messages call the conversion if the code is not known; see `remember` for the
    others.

    Raises
    ------
    ConcreteValueError
        If the trace has no values.
    LostDerivativeError
        If the array has a derivative.
    """
    constant = is_constant(x)
    if constant:
        with suppress(ConcreteValueError):
            value = concrete_value(x)
            return value if isinstance(value, np.generic) else np.array(value)
        if not x.type.shape and x.type.dtype.kind in "biu":
            found = decided(x, lambda x: x)
            if found is not None:
                return x.type.dtype.type(found)
    code, cure, place = mistake()
    if constant or not _has_value(x):
        counts = what == "int(x)" or not x.type.differentiable
        if counts and cure is not JOINED:
            cure = _MASK if x.type.dtype.kind == "b" else _INTEGER
        missing = _without_value(x, code or what, cure)
        remember(x, missing, convert)
        raise missing
    lost = LostDerivativeError(
        f"{code or what} met a traced array of type {x.type}, at {place}. That would "
        f"drop its derivative silently. {cure} Where no derivative is wanted, use "
        "fd.stop_gradient(x)."
    )
    remember(x, lost, convert)
    raise lost


def _has_value(x: Tracer) -> bool:
    """Return whether the trace of an array knows its value, or what fails on the way to it."""
    try:
        with np.errstate(all="ignore"):
            concrete_value(x)
    except Exception as error:
        return not isinstance(error, ConcreteValueError)
    return True
