"""Validates and converts arguments: numeric leaves, and errors for leaves without derivatives."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff import pytree
from funcdiff.core.late import close_matches
from funcdiff.core.recording.builder import constant_left, current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, native
from funcdiff.errors import InputError, notebook_cell, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.messages.foreign import describe_class, lost_by_tracing
from funcdiff.pytree.hidden import foreign_fault
from funcdiff.pytree.statics import static_key

R = TypeVar("R")

_SCALARS: Final = {float: np.float64, complex: np.complex128}


def name_of(f: Any) -> str:
    """Return the name of a function, or of the class of what is called like one."""
    # not where it is: programs hold the name, and are the same wherever that is
    name = getattr(f, "__name__", None)
    return str.__str__(name) if isinstance(name, str) else type(f).__name__


def look_up_call(
    known: Mapping[Any, R], kind: Hashable, statics: tuple[Any, ...], name: object
) -> tuple[Hashable, R | None]:
    """Return the key of a call of some kind with these options, and what is known under it.

    Raises `InputError` if one of them is not hashable.
    """
    try:
        key = kind, static_key(statics)
        return key, known.get(key)
    except TypeError as error:
        raise InputError(
            f"an argument of {name} that is not a number is not hashable ({error}), at "
            f"{user_location()}. Use tuples and frozen objects for options."
        ) from error


class FunctionName:
    """How messages call a function: its name and where it was defined, found when it is shown."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __str__(self) -> str:
        f = self.function
        name = name_of(f)
        code = getattr(inspect.unwrap(f), "__code__", None)
        if code is None:
            return name
        return (
            f"{name} ({notebook_cell(code.co_filename) or code.co_filename}:{code.co_firstlineno})"
        )


def describe(value: Any) -> str:
    """Return how messages call a value that is not what was wanted."""
    if value is None:
        return "None"
    name = type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return f"{value.type}" if isinstance(value, Tracer) else f"{article} {name}"


def check_function(f: Any, transform: str, parameter: str | None = None) -> None:
    """Refuse what cannot be called, such as the result of the function that was meant.

    `parameter` is the name of the argument, where the transform takes others beside it.
    """
    if not callable(f):
        role = f" as {parameter}" if parameter else ""
        cure = "f instead of f(x)" if parameter else f"fd.{transform}(f)(x)"
        raise InputError(
            f"fd.{transform} takes a function{role}, but {describe(f)} was given, at "
            f"{user_location()}. Give the function itself, not its result: {cure}."
        )


def check_functions(transform: str, **given: Any) -> None:
    """Refuse what was given for functions, by their parameters."""
    for parameter, f in given.items():
        check_function(f, transform, parameter)


def check_optional_functions(transform: str, **given: Any) -> None:
    """Refuse what was given for functions that may be left out, by their parameters."""
    check_functions(transform, **{key: f for key, f in given.items() if f is not None})


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return what messages ask about a name that is not known: whether a near one is meant."""
    near = close_matches(name, list(known), 1)
    return f"Did you mean {near[0]!r}?" if near else otherwise


def is_int(value: object) -> bool:
    """Whether a value is an integer of Python or NumPy, and no boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def ints_of(given: Any) -> tuple[int, ...] | None:
    """Return an integer, or a collection of integers, as a tuple; None if it is anything else."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    values = tuple(given) if several else (given,)
    return tuple(map(int, values)) if all(map(is_int, values)) else None


def names_of(given: Any) -> tuple[str, ...] | None:
    """Return a name, or a collection of names, as a tuple; None if it is anything else."""
    if isinstance(given, str):
        return (given,)
    names = tuple(given) if isinstance(given, Iterable) else (given,)
    return names if all(isinstance(name, str) for name in names) else None


def is_numeric(leaf: Any) -> bool:
    """Whether a leaf is a number or an array of numbers, rather than a str, bool or object."""
    if type(leaf) is float or isinstance(leaf, Tracer):
        return True
    if isinstance(leaf, bool | enum.Enum):
        return False
    if isinstance(leaf, int | float | complex):
        return True
    return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind in "biufc"


def is_array_without_axes(x: Any) -> bool:
    """Whether an operand is, or stands for, an array of shape (), rather than a scalar."""
    return isinstance(x, np.ndarray) and not x.shape


def refuse_foreign(leaf: Any, transform: str, f: Callable[..., Any]) -> None:
    """Refuse tables, sparse matrices and iterators, which hold numbers but are no settings."""
    fault = foreign_fault(leaf)
    if fault is not None:
        raise InputError(
            f"{transform}: an argument of {FunctionName(f)} {fault.problem}, at "
            f"{user_location()}. {fault.cure}"
        )


def operand(leaf: Any) -> Any:
    """Return a numeric leaf as the interpreter takes it: an array, a NumPy scalar, or a tracer."""
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf if leaf.dtype.isnative else native(leaf)
    if isinstance(leaf, Tracer):
        if current_builder() is not None:
            return leaf
        value = constant_left(leaf)
        return np.asarray(value) if isinstance(leaf, np.ndarray) else value
    lost = lost_by_tracing(leaf)
    if lost:
        raise InputError(f"{describe_class(leaf)} was given at {user_location()}: {lost}.")
    if isinstance(leaf, np.generic):
        return leaf
    x = _SCALARS.get(kind, np.asarray)(leaf)
    if kind is int and x.dtype != np.int64:  # uint64, or objects
        raise InputError(
            f"the integer {leaf} does not fit in int64, at {user_location()}. Make it a float."
        )
    return x


def type_of(x: Any) -> ArrayType:
    """Return the type of an operand."""
    return x.type if isinstance(x, Tracer) else ArrayType(x.shape, x.dtype)


def differentiable_operand(leaf: Any, structure: pytree.Structure, k: int, argument: object) -> Any:
    """Return a leaf of a differentiated argument as an operand.

    Raises `InputError`, with the leaf's path, if it is an integer or boolean array.
    """
    x = operand(leaf)
    if x.dtype.kind in "fc":
        return x
    path = f"{argument}{pytree.paths(structure)[k]}"
    what = f"an array of dtype {x.dtype}" if np.ndim(x) else f"the integer {leaf!r}"
    number = f"such as {float(leaf)}" if type(leaf) is int else "such as 2.0"
    if isinstance(leaf, np.bool_):
        what = f"the boolean {leaf}"
    raise InputError(
        f"{path} is {what}, which has no derivative, at {user_location()}. Make it a float "
        f"({'.astype(float)' if np.ndim(x) else number}), keep it out of the "
        "differentiated argument, or mark its dataclass field as static "
        "(field(metadata={'static': True}))."
    )


def as_tracers(values: Sequence[Any]) -> list[Tracer]:
    """Return operands, of which some are traced, as tracers of the innermost builder."""
    return [array(x) for x in values]
