"""Validates the parameters of an equation against the fields that their class declares."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from funcdiff.core.primitive import Params
from funcdiff.core.program import Program
from funcdiff.core.types import DTYPE_NAMES, ArrayType


def fault_of(params: Params) -> str | None:
    """Return which parameter is not what its class declares, None if all are.

    Types are exact, for parameters are compared by ``==``, and 0 is equal to 0.0 and to False.
    """
    hints = _hints(cast("Hashable", type(params)))
    for field in fields(params):
        value = getattr(params, field.name)
        if not _is_static(value):
            return (
                f"{field.name} is the {type(value).__name__} {value!r}: parameters are ints, "
                "floats (not nan), bools, strings, None, dtypes, types, programs and tuples of "
                "these"
            )
        if not _is_of_type(value, hints[field.name]):
            found = f"the {type(value).__name__} {value!r}"
            return f"{field.name} is {found}, where {field.type} is declared"
    return None


@lru_cache(maxsize=1024)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_static(value: Any) -> bool:
    """Whether a value is hashable, equal to itself, printable and parseable."""
    if type(value) is tuple:
        return all(map(_is_static, value))
    if isinstance(value, np.dtype):
        return value in DTYPE_NAMES
    if type(value) is float:
        return value == value
    return value is None or isinstance(value, str) or type(value) in (bool, int, ArrayType, Program)


def _is_of_type(value: Any, hint: Any) -> bool:
    """Whether a static value is of a declared type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if args[-1:] == (...,):
            return all(_is_of_type(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(_is_of_type, value, args))
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if origin in (Union, UnionType):
        return any(_is_of_type(value, arg) for arg in args)
    if hint is str or origin is np.dtype:
        return isinstance(value, origin or hint)
    return hint in (Any, object) or type(value) is hint
