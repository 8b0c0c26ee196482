"""Memoises functions of programs, in a cache bounded by the number of equations it keeps.

All functions share one bound, and the results that were not used for the longest time go first.
Counting entries would not do: a loop of varying length makes programs of tens of thousands of
equations, each different.

What is kept is one dictionary, which every step leaves whole: there is nothing that an interrupt
between two steps, another thread or a fork could find half done, and no lock.

Garbage is not collected meanwhile: a derivation makes many objects that stay, and no cycles.  The
collector, which is called after so many new objects, would look at all of them again and again:
nearly half of the time for some thousand equations.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from functools import partial, update_wrapper
from itertools import count
from typing import Any, Final, Generic, ParamSpec, TypeVar

from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program

P = ParamSpec("P")
R = TypeVar("R")


class _Pause:
    """Whether somebody has switched the collector off who will switch it on."""

    is_on = False


def without_collection(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a function returns; the collector, if it runs, does not run meanwhile."""
    runs = gc.isenabled()
    try:
        if runs:
            _Pause.is_on = True
            gc.disable()
        result = function(*args, **kwargs)
    finally:
        if runs:
            gc.enable()  # an interrupt may arrive behind a call, so that this is the first one
            _Pause.is_on = False
    return result


def _end_in_child() -> None:
    """Switch the collector on in a process that was forked during a pause of another thread."""
    if _Pause.is_on:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)


# ---- the cache -----------------------------------------------------------------------------------


_EQUATIONS_KEPT: Final = 1 << 18

caches: Final[list[Memoised[Any, Any]]] = []
"""Every memoised function, for clearing and inspection."""


class _Kept:
    """A result that is kept."""

    __slots__ = ("result", "used", "weight")

    def __init__(self, result: Any, weight: int, used: int) -> None:
        # Time of the last use, by the store's clock.
        # 1, the number of equations that it was derived from, and the result's `kept_weight`.
        self.result, self.weight, self.used = result, weight, used


class _Store:
    """The results of all memoised functions."""

    def __init__(self) -> None:
        self.results: dict[tuple[Any, ...], _Kept] = {}  # by function and arguments
        self.clock = count()  # counts the uses of results
        self._bound = 0  # of the weight of all results, until they are weighed again

    def find(self, key: tuple[Any, ...]) -> _Kept | None:
        """Return what is kept, noting that it is used."""
        found = self.results.get(key)
        if found is not None:
            found.used = next(self.clock)
        return found

    def enter(self, key: tuple[Any, ...], result: Any, weight: int) -> None:
        """Keep a result, and forget what was not used for the longest time instead."""
        self.results.setdefault(key, _Kept(result, weight, next(self.clock)))
        self._bound += weight
        if self._bound > _EQUATIONS_KEPT:
            self._bound = self._forget_oldest()

    def of(self, function: Memoised[Any, Any]) -> list[_Kept]:
        """Return what is kept of a function."""
        return [kept for key, kept in self.results.copy().items() if key[0] is function]

    def clear(self, function: Memoised[Any, Any]) -> None:
        """Forget the results of a function."""
        for key in self.results.copy():
            if key[0] is function:
                self.results.pop(key, None)

    def _forget_oldest(self) -> int:
        """Keep to the bound, but leave every function its last result, however large that is.

        Some room is left, so that this does not happen again at once.  Returns the weight.
        """
        results = self.results.copy()
        weight = sum(kept.weight for kept in results.values())
        if weight <= _EQUATIONS_KEPT:
            return weight
        left = Counter(key[0] for key in results)
        for key in sorted(results, key=lambda key: results[key].used):
            if weight <= _EQUATIONS_KEPT * 7 // 8:
                break
            if left[key[0]] > 1:
                left[key[0]] -= 1
                weight -= results[key].weight
                self.results.pop(key, None)
        return weight


_store: Final = _Store()


class Memoised(Generic[P, R]):
    """A function whose results are kept, the most recently used ones.

    Its first argument is a program, a recording or an operation; that is what an entry weighs, with
    the `kept_weight` of the result, if it has one: for memory that is not Python's.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.__wrapped__ = function
        update_wrapper(self, function)
        caches.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result, computing it only if it is not kept.

        In a context of its own: however that ends, no builder stays open.
        """
        key = (self, *args, *kwargs.items())
        found = _store.find(key)
        if found is not None:
            kept: R = found.result
            return kept
        derive: Callable[[], R] = partial(self.__wrapped__, *args, **kwargs)
        result = copy_context().run(without_collection, derive)
        _store.enter(key, result, _weight(args[0]) + getattr(result, "kept_weight", 0))
        return result

    def peek(self, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Return the result if it is kept, and compute nothing; None is never kept."""
        found = _store.find((self, *args, *kwargs.items()))
        result: R | None = None if found is None else found.result
        return result

    def __len__(self) -> int:
        return len(_store.of(self))

    @property
    def weight(self) -> int:
        """How many equations the results that are kept were derived from."""
        return sum(kept.weight for kept in _store.of(self))

    def cache_clear(self) -> None:
        """Forget every result."""
        _store.clear(self)


def memoised(function: Callable[P, R]) -> Memoised[P, R]:
    """Keep the results of a function of a program, a recording or an operation."""
    return Memoised(function)


def _weight(first: Any) -> int:
    """Return how many equations an entry stands for, and one for itself."""
    if isinstance(first, Program | Operation):
        return 1 + first.equation_count
    operations = [entry[0] for entry in first[0] if entry]
    return 1 + sum(getattr(op, "equation_count", 1) for op in operations)
