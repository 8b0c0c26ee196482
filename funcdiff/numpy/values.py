"""The concrete value of a traced array, given only where no derivative is lost by it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, Tracer
from funcdiff.core.recording import Ref
from funcdiff.errors import ConcreteValueError, LostDerivativeError, user_location
from funcdiff.numpy.mistakes import JOINED, mistake
from funcdiff.ops.structural import stop_gradient_p

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
        raise _without_value(x, "an index of a list, or range(n),", _INTEGER) from None


def text(x: Tracer) -> str:
    """Return the value of an array, if it has one, and its type."""
    try:
        return f"traced({np.array2string(np.asarray(concrete_value(x)))}: {x.type})"
    except ConcreteValueError:
        return f"traced({x.type})"


def formatted(x: Tracer, spec: str) -> str:
    """Return the value of an array as text; without a value and a format, its type."""
    try:
        value = concrete_value(x)
    except ConcreteValueError:
        if not spec:
            return text(x)
        raise _without_value(x, f"the format {spec!r}", _SHOWN) from None
    return format(value, spec) if spec else str(value)


def _without_value(x: Tracer, what: str, cure: str) -> ConcreteValueError:
    assert x.builder is not None
    return ConcreteValueError(
        f"{what} needs the value of a traced array of type {x.type}, at {user_location()}, but "
        f"{x.builder.name} is traced without values (inside vmap, cond, scan or jit). {cure} Under "
        "jit, an argument that is named in static_argnames keeps its value."
    )


def known(x: Any) -> Any:
    """Return the value of an array, traced or not, as an ndarray or a NumPy scalar."""
    return concrete_value(x) if isinstance(x, Tracer) else np.asarray(x)


def is_constant(x: Tracer) -> bool:
    """Return whether an array has no derivative to lose.

    So it is with integers and booleans, with what came through `stop_gradient`, and with all that
    is computed from such values and plain arrays alone.
    """
    if x.builder is None or x.builder.severed:
        return True
    return not x.type.differentiable or not _comes_from_input(x.builder, x.atom)


def _comes_from_input(builder: Builder, atom: Ref) -> bool:
    """Return whether a floating value is computed from inputs, on a way that keeps derivatives."""
    pending, seen = [atom], set()
    while pending:
        number = pending.pop()
        if not isinstance(number, int) or number in seen:
            continue
        seen.add(number)
        origin = builder.origin(number)
        if origin is not None:
            op, refs = origin
            if op.primitive is not stop_gradient_p:
                kinds = zip(refs, op.operands, strict=True)
                pending.extend(ref for ref, kind in kinds if kind.differentiable)
            continue
        source = builder.captured(number)
        if source is None or (isinstance(source, Tracer) and not is_constant(source)):
            return True
    return False


def constant_value(x: Tracer, what: str) -> Any:
    """Return the value of an array that has no derivative to lose.

    `what` is what messages call the conversion if the code is not known.

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
    code, cure, place = mistake()
    if constant or not _has_value(x):
        counts = what == "int(x)" or not x.type.differentiable
        if counts and cure is not JOINED:
            cure = _MASK if x.type.dtype.kind == "b" else _INTEGER
        raise _without_value(x, code or what, cure)
    raise LostDerivativeError(
        f"{code or what} met a traced array of type {x.type}, at {place}. That would "
        f"drop its derivative silently. {cure} Where no derivative is wanted, use "
        "fd.stop_gradient(x)."
    )


def _has_value(x: Tracer) -> bool:
    """Return whether the trace of an array knows its value, or what fails on the way to it."""
    try:
        with np.errstate(all="ignore"):
            concrete_value(x)
    except Exception as error:
        return not isinstance(error, ConcreteValueError)
    return True
