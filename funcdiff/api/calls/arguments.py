"""Validates arguments: functions, integers, names; describes others in messages."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.late import close_matches
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.hidden import foreign_fault
from funcdiff.pytree.statics import static_key

R = TypeVar("R")


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


def describe(value: Any) -> str:
    """Return how messages call a value that is not what was wanted."""
    if value is None:
        return "None"
    name = type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return f"{value.type}" if isinstance(value, Tracer) else f"{article} {name}"


def is_numeric(leaf: Any) -> bool:
    """Whether a leaf is a number or an array of numbers, rather than a str, bool or object."""
    if type(leaf) is float or isinstance(leaf, Tracer):
        return True
    if isinstance(leaf, bool | enum.Enum):
        return False
    if isinstance(leaf, int | float | complex):
        return True
    return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind in "biufc"


@contextmanager
def lists_are_containers(tree: Any, name: str) -> Iterator[None]:
    """Note what a list is, if code that computes with what the user gave as `name` fails."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        if isinstance(tree, list | tuple):
            kind = type(tree).__name__
            error.add_note(
                f"funcdiff: {name} is a {kind}, at {user_location()}, and a {kind} is a container "
                "of numbers, not an array: give np.array([...])."
            )
        raise


def check_function(f: Any, transform: str, parameter: str | None = None) -> None:
    """Refuse what cannot be called, such as the result of the function that was meant.

    `parameter` is the name of the argument, where the transform takes others beside it.
    """
    if not callable(f):
        role = f" as {parameter}" if parameter else ""
        call = "f instead of f(x)" if parameter else f"fd.{transform}(f)(x)"
        cure = f"Give the function itself, not its result: {call}."
        if not any(map(is_numeric, pytree.flatten(f)[0])):  # no function returned this
            cure = "Give a function, by its name or as a lambda."
        raise InputError(
            f"fd.{transform} takes a function{role}, but {describe(f)} was given, at "
            f"{user_location()}. {cure}"
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


def refuse_foreign(leaf: Any, transform: str, f: Callable[..., Any]) -> None:
    """Refuse tables, sparse matrices and iterators, which hold numbers but are no settings."""
    fault = foreign_fault(leaf)
    if fault is not None:
        raise InputError(
            f"{transform}: an argument of {FunctionName(f)} {fault.problem}, at "
            f"{user_location()}. {fault.cure}"
        )
