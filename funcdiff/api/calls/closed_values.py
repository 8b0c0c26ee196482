"""Values and functions of which nothing is decided by anything but themselves and arguments."""

from __future__ import annotations

import itertools
import sys
from functools import reduce
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.closed_code import Names
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.border.dispatch import implementation, ufuncs
from funcdiff.numpy.messages.foreign import operation_of
from funcdiff.numpy.namespace import OURS, Namespace
from funcdiff.ops.families import by_ufunc

IMMUTABLE: Final = frozenset({
    type(None), bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented),
})  # fmt: skip

_TYPES: Final = frozenset({
    bool, int, float, complex, str, list, tuple, dict, range, slice, zip, enumerate, map, filter,
    reversed, np.ndarray, np.finfo, np.iinfo, itertools.product, itertools.combinations,
    itertools.permutations, itertools.chain, itertools.accumulate, itertools.islice,
    itertools.repeat, itertools.pairwise, itertools.starmap, itertools.zip_longest,
})  # fmt: skip

_FUNCTIONS: Final = frozenset({
    abs, all, any, callable, divmod, isinstance, iter, len, max, min, next, pow, round, sorted, sum,
    reduce, np.bartlett, np.blackman, np.broadcast_shapes, np.diag_indices, np.hamming, np.hanning,
    np.indices, np.isscalar, np.issubdtype, np.kaiser, np.promote_types, np.tril_indices,
    np.triu_indices,
})  # fmt: skip
"""Functions without effects beside those that are ours for traced arrays."""

_MODULES: Final = frozenset({"math", "cmath", "_operator"})
"""Modules in C that have only such functions."""

_OURS: Final = (
    "funcdiff.api.control.", "funcdiff.api.inspection.stop_gradient",
    "funcdiff.nn.", "funcdiff.scipy.fft.", "funcdiff.scipy.linalg.", "funcdiff.scipy.special.",
)  # fmt: skip
"""Modules of ours that have only such functions, and one of them."""

_WARN: Final = frozenset({np.polyfit, np.histogram, np.histogram2d, np.histogramdd})
"""Functions of which ours may warn, in every call."""

_FIELD: Final = type(vars(Names)["globals"])
"""What gives a named tuple's field: it is in its class."""


def home(function: Any) -> str:
    """Return the package in which a function is defined."""
    if type(function) is FunctionType:
        return _module(function).partition(".")[0]
    return str(function.__module__).partition(".")[0]


def _module(function: FunctionType) -> str:
    """Return in which module a function is defined, whatever it says."""
    return str(function.__globals__.get("__name__"))


def _is_ours(function: Any) -> bool:
    """Whether a function of funcdiff's has no effects, and sees nothing but its arguments."""
    name, module = function.__name__, _module(function)
    if OURS.get(name) is function:
        return True
    if module == Namespace.__module__:
        return is_closed(function.__wrapped__, type(function.__wrapped__))
    is_made = getattr(sys.modules[module], name, None) is not function  # of one of the user's
    return not is_made and f"{module}.{name}".startswith(_OURS)


def is_closed(x: Any, kind: type) -> bool:
    """Whether all that is done with a value is decided by it, and it never changes."""
    if issubclass(kind, np.generic):
        return x.dtype in DTYPE_NAMES
    if issubclass(kind, np.dtype):
        return x in DTYPE_NAMES
    if kind is np.ufunc:
        return x in by_ufunc or x in ufuncs or operation_of(x) is not None
    if kind is _FIELD:
        return True
    if kind is type:
        ours = x.__module__ in ("numpy", "builtins")
        return x in _TYPES or (ours and issubclass(x, np.generic | Exception))
    if kind not in (FunctionType, BuiltinFunctionType, type(np.sum)):
        return False
    if x in _FUNCTIONS or (x.__module__ in _MODULES and type(x.__self__) is ModuleType):
        return True
    if home(x) == "funcdiff":
        return _is_ours(x)
    return x not in _WARN and home(x) == "numpy" and implementation(x) is not None
