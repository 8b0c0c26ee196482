"""Functions that numba compiles, as the Python code that they are.

What is compiled knows the original's global names, and no traced arrays; Python's knows the copy's.
Kernels that write into what they return have no such code to call: these are the original's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

from funcdiff.adapting.substitutes import Substitute
from funcdiff.adapting.vectorizing import vectorize


def without_numba(plain: ModuleType) -> Substitute:
    """Return what stands for the module `numba`."""
    kinds = {
        _same: ("jit", "njit"),
        _elementwise: ("vectorize",),
        _original: ("cfunc", "guvectorize", "stencil"),
    }
    found = {name: _decorator(kind) for kind, names in kinds.items() for name in names}
    return Substitute(plain, found)


def _decorator(python: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a decorator, with arguments or without, that does that to a function."""

    def decorate(*args: Any, **_options: Any) -> Any:
        return python(args[0]) if args and isinstance(args[0], FunctionType) else python

    return decorate


def _same(function: Any) -> Any:
    function.py_func = function
    return function


def _original(function: Any) -> Any:
    return attrgetter(function.__qualname__)(sys.modules[function.__module__])


def _elementwise(function: Any) -> Any:
    """Return a function of arrays; of numbers it gives a number, as a ufunc does."""
    loop = vectorize(function)

    @wraps(function)
    def elementwise(*args: Any) -> Any:
        return loop(*args)[()]

    return _same(elementwise)
