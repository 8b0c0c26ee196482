"""Memoisation of functions of programs, bounded by the number of equations that are kept.

Counting entries would not do: a loop of varying length makes programs of tens of thousands of
equations, each different.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from funcdiff.core.program import Program

P = ParamSpec("P")
R = TypeVar("R")

_EQUATIONS_KEPT: Final = 1 << 17

caches: Final[list[Memoised[Any, Any]]] = []
"""Every memoised function, for clearing and inspection."""

_MISSING: Final = object()


class Memoised(Generic[P, R]):
    """A function whose results are kept, the most recently used ones.

    Its first argument is a program or a recording; that is what an entry weighs.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.__wrapped__ = function
        self._results: OrderedDict[tuple[Any, ...], R] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()
        update_wrapper(self, function)
        caches.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result, computing it only if it is not kept."""
        key = (*args, *kwargs.items())
        with self._lock:
            found = self._results.get(key, _MISSING)
            if found is not _MISSING:
                self._results.move_to_end(key)
                return cast("R", found)
        result = self.__wrapped__(*args, **kwargs)
        with self._lock:
            if key not in self._results:
                self._results[key] = result
                self._weight += _weight(key)
            while self._weight > _EQUATIONS_KEPT and len(self._results) > 1:
                oldest, _ = self._results.popitem(last=False)
                self._weight -= _weight(oldest)
        return result

    def __len__(self) -> int:
        return len(self._results)

    @property
    def weight(self) -> int:
        """How many equations are kept."""
        return self._weight

    def cache_clear(self) -> None:
        """Forget every result."""
        with self._lock:
            self._results.clear()
            self._weight = 0


def memoised(function: Callable[P, R]) -> Memoised[P, R]:
    """Keep the results of a function of a program or a recording."""
    return Memoised(function)


def _weight(key: tuple[Any, ...]) -> int:
    """Return how many equations an entry stands for, and one for itself."""
    first = key[0]
    return 1 + (len(first.equations) if isinstance(first, Program) else len(first[0]))
