"""The caches of `functools`, in which no traced result is kept."""

from __future__ import annotations

import functools
from functools import wraps
from typing import Any, Final

from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import any_traced
from funcdiff.pytree import flatten


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
