"""Memoisation of functions of programs, bounded by the number of equations that are kept.

All functions share one bound, and the results that were not used for the longest time go first.
Counting entries would not do: a loop of varying length makes programs of tens of thousands of
equations, each different.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from funcdiff.core.collection import paused
from funcdiff.core.program import Program

P = ParamSpec("P")
R = TypeVar("R")

_EQUATIONS_KEPT: Final = 1 << 18

caches: Final[list[Memoised[Any, Any]]] = []
"""Every memoised function, for clearing and inspection."""

_MISSING: Final[Any] = (object(), 0)


class _Store:
    """The results of all memoised functions.

    Attributes
    ----------
    results
        Result and weight by function and arguments, the one used last at the end.
    weight
        Of all results together.
    lock
        Held while either is changed.
    """

    def __init__(self) -> None:
        self.results: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()
        self.weight = 0
        self.lock = threading.Lock()

    def enter(self, key: tuple[Any, ...], result: Any, weight: int) -> None:
        """Keep a result, and forget what was not used for the longest time instead."""
        with self.lock:
            if key in self.results:
                return
            self.results[key] = result, weight
            self._count(key[0], 1, weight)
            if self.weight > _EQUATIONS_KEPT:
                self._forget_oldest()

    def clear(self, function: Memoised[Any, Any]) -> None:
        """Forget the results of a function."""
        with self.lock:
            self._forget([key for key in self.results if key[0] is function])

    def _forget_oldest(self) -> None:
        """Keep to the bound, but leave every function its last result, however large that is."""
        excess = self.weight - _EQUATIONS_KEPT
        gone = []
        taken: dict[Memoised[Any, Any], int] = {}
        for key, (_, weight) in self.results.items():
            function = key[0]
            before = taken.get(function, 0)
            if before + 1 == len(function):
                continue
            taken[function] = before + 1
            gone.append(key)
            excess -= weight
            if excess <= 0:
                break
        self._forget(gone)

    def _forget(self, keys: list[tuple[Any, ...]]) -> None:
        for key in keys:
            self._count(key[0], -1, -self.results.pop(key)[1])

    def _count(self, function: Memoised[Any, Any], entries: int, weight: int) -> None:
        function.entries += entries
        function.weight += weight
        self.weight += weight


_store: Final = _Store()


class Memoised(Generic[P, R]):
    """A function whose results are kept, the most recently used ones.

    Its first argument is a program or a recording; that is what an entry weighs.

    Attributes
    ----------
    entries
        How many results are kept; ``len`` of the function.
    weight
        How many equations they were derived from.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.__wrapped__ = function
        self.entries = 0
        self.weight = 0
        update_wrapper(self, function)
        caches.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result, computing it only if it is not kept."""
        key = (self, *args, *kwargs.items())
        with _store.lock:
            found = _store.results.get(key, _MISSING)
            if found is not _MISSING:
                _store.results.move_to_end(key)
                return cast("R", found[0])
        with paused():
            result = self.__wrapped__(*args, **kwargs)
        _store.enter(key, result, _weight(args[0]))
        return result

    def __len__(self) -> int:
        return self.entries

    def cache_clear(self) -> None:
        """Forget every result."""
        _store.clear(self)


def memoised(function: Callable[P, R]) -> Memoised[P, R]:
    """Keep the results of a function of a program or a recording."""
    return Memoised(function)


def _weight(first: Any) -> int:
    """Return how many equations an entry stands for, and one for itself."""
    if isinstance(first, Program):
        return 1 + first.equation_count
    operations = [entry[0] for entry in first[0] if entry]
    return 1 + sum(getattr(op, "equation_count", 1) for op in operations)
