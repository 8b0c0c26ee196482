"""Functions that numba compiles: as they are where nothing is traced, and else in Python.

With plain values the compiled function of the original package is called, so that values are its.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from funcdiff.adapting.elementwise import vectorize
from funcdiff.adapting.substitutes import Substitute
from funcdiff.core.tracer import Tracer
from funcdiff.pytree import flatten


def without_numba(plain: ModuleType) -> Substitute:
    """Return what stands for the module `numba`."""
    return Substitute(
        plain,
        {
            "jit": _decorator(lambda function: function),
            "njit": _decorator(lambda function: function),
            "vectorize": _decorator(vectorize),
        },
    )


def _decorator(python: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a decorator, with arguments or without; `python` is what is done of traced arrays."""

    def decorate(*args: Any, **_options: Any) -> Any:
        if args and callable(args[0]) and hasattr(args[0], "__code__"):
            return _function(args[0], python(args[0]))
        return lambda function: _function(function, python(function))

    return decorate


def _function(written: Any, python: Any) -> Any:
    """Return a function that is the original's compiled one, or Python's if something is traced."""

    @wraps(written)
    def function(*args: Any, **keywords: Any) -> Any:
        is_traced = any(isinstance(x, Tracer) for x in flatten((args, keywords))[0])
        found = None if is_traced else _compiled(written)
        return (found or python)(*args, **keywords)

    function.py_func = written  # type: ignore[attr-defined]
    return function


def _compiled(written: Any) -> Any:
    """Return the original's function of that name, or None if it is within another one."""
    found: Any = sys.modules.get(written.__module__)
    for part in written.__qualname__.split("."):
        found = getattr(found, part, None)
    return found
