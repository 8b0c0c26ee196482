"""Inspects and empties the caches of derived programs and their executables."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Final, NamedTuple

from funcdiff.api.calls.repeated import forget_calls
from funcdiff.backend.tape.tape import forget_sightings
from funcdiff.core.late import late_import
from funcdiff.core.primitive import forget_operations
from funcdiff.core.recording.builder import direct
from funcdiff.core.running.memo import caches

_LRU: Final = type(lru_cache(len))
"""The type of what `functools.cache` and `functools.lru_cache` make."""


class CacheInfo(NamedTuple):
    """What one cache holds.

    Attributes
    ----------
    name
        The function whose results are kept.
    entries
        How many results.
    equations
        How many equations the programs they were derived from have; the cache is bounded by that.
    """

    name: str
    entries: int
    equations: int


class CacheInfos(list[CacheInfo]):
    """What all caches hold, the fullest first; shows as a table in notebooks."""

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        shown: str = late_import("funcdiff.reading.tables").records_html(
            "kept between calls", CacheInfo._fields, self
        )
        return shown


def cache_info() -> CacheInfos:
    """Return what is kept of derived programs, the fullest cache first.

    Returns
    -------
    list of CacheInfo
        One entry per cache that holds something.  It shows as a table in notebooks.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.clear_caches()
    >>> fd.cache_info()
    []
    >>> for x in [3.0, 4.0]:  # what comes back is derived as a program
    ...     y = fd.grad(lambda x: x * x)(x)
    >>> "gradient_program" in [info.name for info in fd.cache_info()]
    True
    """
    found = [
        CacheInfo(getattr(cache, "__name__", "unknown"), len(cache), cache.weight)
        for cache in caches
    ]
    kept = (info for info in found if info.entries)
    return CacheInfos(sorted(kept, key=lambda info: -info.equations))


def clear_caches() -> None:
    """Forget all derived programs and executables; the next calls derive them again.

    Programs of `jit` stay with the jitted function: see its ``clear_cache``.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.clear_caches()
    >>> fd.cache_info()
    []
    """
    for cache in caches:
        cache.cache_clear()
    forget_sightings()
    forget_calls()
    direct.clear()
    for name, module in list(sys.modules.items()):
        if name == "funcdiff" or name.startswith("funcdiff."):
            for value in list(vars(module).values()):
                if isinstance(value, _LRU):
                    value.cache_clear()
    forget_operations()  # last: the others refer to them
