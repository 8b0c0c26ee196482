"""Promotes arguments for the strict operations: dtypes, scalars and broadcasting.

Promotion is NumPy's own (NEP 50): Python numbers are weak, traced ones too (`Tracer.weak`);
everything else is strong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal, literal
from funcdiff.core.recording.builder import Builder, aside, constant, current_builder, direct
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, DTYPE_NAMES, ArrayType, native
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.dispatch import refusal_error
from funcdiff.numpy.messages.foreign import describe_class, lost_by_tracing
from funcdiff.ops.elementwise.logic import exact_narrowings
from funcdiff.ops.structure.structural import convert, reshape
from funcdiff.space import broadcast

Shape: TypeAlias = tuple[int, ...]
Traced: TypeAlias = Any
"""A traced array, as handlers see it: NumPy's stubs, which type the calls of np, know no tracer."""

_DIRECT_KEPT: Final = 1 << 17

WEAK: Final = (int, float, complex)
"""Types of Python numbers, whose dtype gives way to that of an array."""

_PYTHON_TYPES: Final[dict[str, Any]] = {
    "b": BOOL, "i": int, "u": int, "f": float, "c": complex,
}  # fmt: skip
"""Types of the numbers that weak tracers stand for, by the kind of their dtype.

To NumPy a Python bool is an array of booleans, whose dtype gives way to every other anyway.
"""

SPECIAL_NUMBERS: Final = frozenset({*range(-16, 17), 0.5, -0.5})
"""Numbers that stay literals; others become inputs, or programs would differ in each of them."""


def innermost(*operands: Any) -> Builder:
    """Return the builder that records at the moment; where nobody does, one of its own.

    Raises `EscapedTracerError` if that is so, and an operand depends on what was traced.
    """
    builder = current_builder()
    if builder is None:
        builder = aside()
        for x in operands:
            if isinstance(x, Tracer):
                builder.ref(x)
    return builder


def remember(key: Any, what: Any) -> None:
    """Let what was recorded be recorded directly the next time (see `Builder.direct`)."""
    if len(direct) >= _DIRECT_KEPT:
        direct.clear()
    direct[key] = what


@lru_cache(maxsize=4096)
def _literal(kind: str, value: Any, type_: ArrayType) -> Literal:
    return literal(value, type_)


def scalar(value: Any, type_: ArrayType) -> Traced:
    """Return a Python number filled to a type: a literal or, while the builder lifts, an input."""
    if not value or (type(value) is complex and not (value.real and value.imag)):
        return constant(value, type_)  # the table of numbers would take -0.0 for 0.0
    builder = innermost()
    ref = builder.numbers.get((value, type_))
    if ref is None:
        number = _literal(type(value).__name__, value, type_)
        lifted = builder.policy.lifts and value not in SPECIAL_NUMBERS and type_.differentiable
        ref = builder.numbers[value, type_] = builder.lift(number).atom if lifted else number
    return builder.handle(None if isinstance(ref, Literal) else builder, ref, type_)


def concrete(value: Any) -> np.ndarray[Any, Any] | np.generic:
    """Return a value that is not traced as a NumPy array or scalar of a dtype that we know.

    Raises `UnsupportedNumPyError` for strings, objects, dates and records, masked arrays and
    matrices.
    """
    lost = lost_by_tracing(value)
    if lost:
        raise UnsupportedNumPyError(
            f"{describe_class(value)} met a traced array at {user_location()}: {lost}."
        )
    array: np.ndarray[Any, Any] | np.generic
    array = native(value if isinstance(value, np.ndarray | np.generic) else np.asarray(value))
    if array.dtype not in DTYPE_NAMES:
        listed = isinstance(value, np.ndarray | np.generic | list | tuple)
        what = f"an operand of dtype {array.dtype}" if listed else f"a {type(value).__name__}"
        raise UnsupportedNumPyError(
            f"{what} met a traced array at {user_location()}. "
            "Only boolean, integer, floating and complex numbers, and arrays of them, can be "
            f"computed with{_conversion(value)}."
        )
    return array


def _conversion(value: Any) -> str:
    """Return how messages advise to make numbers of what holds none."""
    if value is None:
        return ": compare with None by `is`"
    if value is NotImplemented:
        return (
            ": a method of a plain object returned it for a traced array. Call that of the traced "
            "one, A.multiply(C) for C.multiply(A), or use an operator, C * A"
        )
    if isinstance(value, str):
        return ": decide by a text before it meets an array"
    if hasattr(value, "toarray"):
        return ". Of a sparse matrix C, use the operators, C @ x and C * x, or C.toarray()"
    return f"; convert it with {'.astype(float)' if np.ndim(value) else 'float(v)'} first"


def array(value: Any) -> Traced:
    """Return anything array-like as a tracer: a tracer itself, arrays as captures.

    A Python number takes NumPy's default dtype, and a traced one is weak no more.
    """
    if isinstance(value, Tracer):
        handle = Builder.array_handle  # as np.asarray(number)
        return handle(value.builder, value.atom, value.type) if value.weak else value
    if type(value) in WEAK or type(value) is bool:
        dtype = np.asarray(value).dtype
        if dtype in DTYPE_NAMES:  # an integer of more than 64 bits is an object
            return scalar(value, ArrayType((), dtype))
    return innermost().capture(concrete(value))


def as_number(x: Tracer) -> Traced:
    """Return another handle on a value without axes, which stands for a Python number."""
    return Builder.weak_handle(x.builder, x.atom, x.type)


def is_weak(value: Any) -> bool:
    """Whether a value is a Python number, or stands for one in a trace."""
    return value.weak if isinstance(value, Tracer) else type(value) in WEAK


def cast_all(given: Sequence[Any], dtype: np.dtype[Any], casting: Any, what: str) -> list[Tracer]:
    """Return arrays in a dtype; raise `TypeError`, which says `what`, if the rule forbids it."""
    xs = [array(x) for x in given]
    for x in xs:
        if not np.can_cast(x.dtype, dtype, casting):
            raise TypeError(
                f"{what} from {x.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
    return [convert(x, dtype) for x in xs]


def dtype_of(value: Any) -> Any:
    """Return a dtype, or the type of a Python number, which is weak."""
    if isinstance(value, Tracer):
        return _PYTHON_TYPES[value.type.dtype.kind] if value.weak else value.type.dtype
    return type(value) if type(value) in WEAK else concrete(value).dtype


def model_of(x: Tracer) -> Any:
    """Return what NumPy casts as it would cast `x`: an array without elements, or a number."""
    found = dtype_of(x)
    return found(1) if isinstance(found, type) else np.empty(0, found)


def shape_of(value: Any) -> Shape:
    """Return the shape of anything array-like."""
    if isinstance(value, Tracer):
        return value.type.shape
    return () if type(value) in WEAK else np.shape(value)


def fit(value: Any, type_: ArrayType) -> Traced:
    """Convert and broadcast a value to a type, the way NumPy would inside a ufunc."""
    if not isinstance(value, Tracer):
        if type(value) in WEAK or type(value) is bool:
            return scalar(value, type_)
        value = innermost().capture(concrete(value))
    if value.type is type_:
        return value
    return broadcast_to(convert_as_numpy(value, type_.dtype), type_.shape)


def convert_as_numpy(x: Tracer, dtype: np.dtype[Any]) -> Traced:
    """Convert to another dtype, into whose range a Python integer has to fit."""
    if x.weak and x.type.dtype.kind == "i" and dtype in exact_narrowings:
        return exact_narrowings[dtype](x)
    return convert(x, dtype)


def broadcast_to(x: Tracer, shape: Shape) -> Traced:
    """Broadcast by NumPy's rule: axes of length 1 are repeated, new axes come in front."""
    if x.shape == shape:
        return x
    kept, axes = _broadcast_axes(x.shape, shape)
    return broadcast(reshape(x, kept), shape, axes)


@lru_cache(maxsize=4096)
def _broadcast_axes(given: Shape, shape: Shape) -> tuple[Shape, Shape]:
    """Return the lengths of those axes that are not repeated, and where they are in `shape`."""
    extra = len(shape) - len(given)
    fits = extra >= 0 and all(n in (1, shape[k + extra]) for k, n in enumerate(given))
    if not fits:
        raise ValueError(
            f"could not broadcast an array of shape {given} to shape {shape}, at {user_location()}"
        )
    pairs = [(k + extra, n) for k, n in enumerate(given) if n == shape[k + extra]]
    return tuple(n for _, n in pairs), tuple(k for k, _ in pairs)


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return NumPy's common shape; raises ValueError if there is none."""
    try:
        return tuple(map(int, np.broadcast_shapes(*shapes)))
    except ValueError:
        shown = " ".join(map(str, shapes))
        raise ValueError(
            f"operands could not be broadcast together with shapes {shown}, at "
            f"{user_location()}. Counted from the last axis, lengths must be equal or 1: insert an "
            "axis, x[:, None], or reshape one of them."
        ) from None


def common_dtype(values: Sequence[Any]) -> np.dtype[Any]:
    """Return NumPy's promoted dtype of array-likes, Python numbers being weak."""
    weights = list(map(_weight, values))
    first = weights[0] if weights else None
    if isinstance(first, np.dtype) and all(weight is first for weight in weights):
        return first
    return np.result_type(*weights)


def _weight(value: Any) -> Any:
    """Return what `np.result_type` takes for a value: a dtype, or a Python number."""
    if isinstance(value, Tracer):
        found = dtype_of(value)
        return found(1) if isinstance(found, type) else found
    return value if type(value) in WEAK else concrete(value).dtype


def promote(*values: Any) -> list[Traced]:
    """Return tracers of one dtype, shapes as they were."""
    dtype = common_dtype(values)
    return [
        v
        if isinstance(v, Tracer) and v.type.dtype is dtype
        else fit(v, ArrayType(shape_of(v), dtype))
        for v in values
    ]


def promote_arrays(*values: Any) -> list[Traced]:
    """Return tracers of one dtype as functions do that are no ufuncs: Python numbers are strong."""
    return promote(*map(array, values))


def promote_and_broadcast(*values: Any) -> list[Traced]:
    """Return tracers of one type: promoted and broadcast together."""
    type_ = ArrayType(broadcast_shapes(*map(shape_of, values)), common_dtype(values))
    return [fit(v, type_) for v in values]


def program_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a dtype that arrays of programs can have."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in DTYPE_NAMES:
        raise refusal_error(f"dtype={found}", "Use a boolean, integer, floating or complex dtype.")
    return found
