"""Decorators of packages, for adapted code: the caches of `functools`, and numba's.

No traced result is kept in a cache.  What numba compiles knows the original's global names, and no
traced arrays: it is the Python code that it was, which knows the copy's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any, Final

from funcdiff.adapting.substitutes import Substitute
from funcdiff.adapting.vectorizing import vectorize
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import any_traced
from funcdiff.pytree import flatten

# ---- caches --------------------------------------------------------------------------------------


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:  # noqa: FBT001, FBT002
    """Do what `functools.lru_cache` does, but keep no traced results."""
    if callable(maxsize):
        return _cache_values(maxsize, 128, typed=False)
    return lambda function: _cache_values(function, maxsize, typed=typed)


class _TracedResult(Exception):  # noqa: N818
    """Carries a traced result past a cache, which keeps no exceptions."""


def _cache_values(function: Any, maxsize: int | None, *, typed: bool) -> Any:
    def plain(*args: Any, **keywords: Any) -> Any:
        found = function(*args, **keywords)
        if _holds_traced(found):
            raise _TracedResult(found)
        return found

    cached = functools.lru_cache(maxsize, typed)(plain)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if current_builder() is None:
            return cached(*args, **keywords)
        if _holds_traced((args, keywords)):
            return function(*args, **keywords)
        try:
            return cached(*args, **keywords)
        except _TracedResult as result:
            return result.args[0]

    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(call, name, getattr(cached, name))
    return call


def _holds_traced(value: Any) -> bool:
    return any_traced(flatten(value)[0])


cache: Final = lru_cache(maxsize=None)
"""Do what `functools.cache` does, but keep no traced results."""


# ---- numba ---------------------------------------------------------------------------------------


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
