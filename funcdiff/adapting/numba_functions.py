"""Functions that numba compiles, as the Python code that they are.

What is compiled knows the original's global names, and no traced arrays; Python's knows the copy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from funcdiff.adapting.substitutes import Substitute
from funcdiff.adapting.vectorizing import vectorize


def without_numba(plain: ModuleType) -> Substitute:
    """Return what stands for the module `numba`."""
    same = _decorator(_same)
    names = {"jit": same, "njit": same, "vectorize": _decorator(_elementwise)}
    return Substitute(plain, names)


def _decorator(python: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a decorator, with arguments or without, that does that to a function."""

    def decorate(*args: Any, **_options: Any) -> Any:
        return python(args[0]) if args and isinstance(args[0], FunctionType) else python

    return decorate


def _same(function: Any) -> Any:
    function.py_func = function
    return function


def _elementwise(function: Any) -> Any:
    """Return a function of arrays; of numbers it gives a number, as a ufunc does."""
    loop = vectorize(function)

    @wraps(function)
    def elementwise(*args: Any) -> Any:
        return loop(*args)[()]

    return _same(elementwise)
