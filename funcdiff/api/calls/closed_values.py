"""Purity of values: constants, and functions that only compute from their arguments."""

from __future__ import annotations

import builtins
import cmath
import math
import sys
from functools import cache, reduce
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.border.dispatch import implementation, ufuncs
from funcdiff.numpy.messages.foreign import operation_of
from funcdiff.numpy.namespace import OURS, Namespace
from funcdiff.ops.families import by_ufunc

_VALUES: Final = frozenset({type(None), bool, int, float, complex, str, type(...)})
_PYTHONS: Final = frozenset({
    abs, all, any, bool, complex, dict, divmod, enumerate, filter, float, int, isinstance, len,
    list, map, max, min, np.ndarray, pow, range, reduce, reversed, round, slice, sorted, sum, tuple,
    zip, *(x for m in (math, cmath) for x in vars(m).values() if type(x) is BuiltinFunctionType),
    *(x for x in vars(np).values() if type(x) is type and issubclass(x, np.number)), np.bool,
    *(x for x in vars(builtins).values() if type(x) is type and issubclass(x, Exception)),
})  # fmt: skip
"""They call nothing but operators of arguments; exceptions, too, if only to be raised."""

CLOSED: Final[set[Any]] = set()
"""Functions of packages above this one that only compute from their arguments; they add them."""

_OURS: Final = (
    "funcdiff.api.control.", "funcdiff.api.inspection.stop_gradient",
    "funcdiff.nn.", "funcdiff.scipy.fft.", "funcdiff.scipy.linalg.", "funcdiff.scipy.special.",
)  # fmt: skip
"""Modules of ours that have only such functions, and one of them."""

_NUMPYS: Final = (np, np.linalg, np.fft)
_METHODS: Final = frozenset({name for x in (np.ndarray, list, dict, np.ufunc) for name in dir(x)})
_OPEN: Final = ("base", "ctypes", "data", "dump", "dumps", "resize", "setflags", "tofile")
"""Methods of arrays that write elsewhere, and attributes that show more than their content."""


def kind_of(x: Any) -> type:
    """Return a type that is compared and hashed as types are: that of a value, or `object`."""
    kind = type(x)
    if type(kind) is type:
        return kind
    return np.dtype if issubclass(kind, np.dtype) else object


def is_value(x: Any) -> bool:
    """Whether it is a number, a string that formats nothing, None, or a tuple or slice of these."""
    kind = kind_of(x)
    if kind is tuple:
        return all(map(is_value, x))
    if kind is slice:
        return all(map(is_value, (x.start, x.stop, x.step)))
    return kind in _VALUES and not (kind is str and "%" in x)


def is_closed(x: Any, kind: type) -> bool:
    """Whether it never changes, and nothing but arguments decides what it does."""
    if kind is range or kind is np.bool or issubclass(kind, np.number):
        return kind is range or kind in _PYTHONS
    if kind is np.dtype:
        return x in DTYPE_NAMES
    if kind is np.ufunc:
        return x in by_ufunc or x in ufuncs or operation_of(x) is not None
    if kind not in (type, FunctionType, BuiltinFunctionType, type(np.sum)):
        return any(x is module for module in _NUMPYS)
    if x in _PYTHONS or x in CLOSED or (kind is not type and implementation(x) is not None):
        return True
    return kind is FunctionType and _is_ours(x)


@cache
def is_attribute(name: str) -> bool:
    """Whether it only computes as an attribute of arrays, lists, dictionaries, and NumPy itself."""
    found = [vars(module)[name] for module in _NUMPYS if name in vars(module)]
    if name == "dtype" or not found:
        return name in _METHODS and not name.startswith("__") and name not in _OPEN
    return name not in _OPEN and all(is_value(x) or is_closed(x, kind_of(x)) for x in found)


def _is_ours(f: FunctionType) -> bool:
    """Whether a function stands in one of our modules, and was not made of one of the user's."""
    name, home = f.__name__, sys.modules.get(str(f.__module__))
    made = sys.modules.get(str(f.__globals__.get("__name__")))
    if made is None or vars(made) is not f.__globals__:
        return False
    if made.__name__ == Namespace.__module__:
        return implementation(getattr(f, "__wrapped__", f)) is not None
    known = getattr(home, name, None) is f and f"{f.__module__}.{name}".startswith(_OURS)
    return OURS.get(name) is f or known
