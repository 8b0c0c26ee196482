"""Isolates the values that custom rules get and keep: read-only, in memory of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from operator import is_
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.core.recording.quiet import without_warnings
from funcdiff.core.scope import innermost, setting


def read_only(x: Any) -> Any:
    """Return a value that is not changed by whoever gets it: a read-only view of an array."""
    if issubclass(type(x), np.ndarray):  # which a traced array is only by `isinstance`
        x = x.view()
        x.setflags(False)
    return x


def own(x: Any) -> Any:
    """Return a value in memory of our own: what a rule returns may be a buffer that it keeps."""
    return x.copy() if issubclass(type(x), np.ndarray) else x


class Same:
    """A call whose rule runs, which may call the function with these very arguments once more.

    `results` is what it has returned, in a tuple; None if it was not called yet.
    """

    def __init__(
        self, function: Any, args: Sequence[Any], results: tuple[Any] | None = None
    ) -> None:
        self._function, self._args, self.results = function, args, results
        self._is_known = results is not None

    def is_of(self, function: Any, args: Sequence[Any]) -> bool:
        """Whether it is this function, called with these arguments."""
        mine = self._args
        return function is self._function and len(args) == len(mine) and all(map(is_, args, mine))

    def result(self, compute: Callable[[], Any]) -> Any:
        """Return what the function returns, calling it only if that is not known."""
        if self._is_known:
            assert self.results is not None
            return pytree.map(own, self.results[0])
        found = compute()
        self.results = (found,)
        return found


NO_CALL: Final = Same(None, ())
"""Stands for a call that is not to be found again."""

_rule: Final[ContextVar[Same | None]] = ContextVar("funcdiff_rule", default=None)

call_of_rule: Final[Callable[[], Same | None]] = _rule.get
"""Return the call whose rule runs on values; None if none does."""


def as_rule(same: Same, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call code of the user's as if nothing was being traced, and note whose rule it is.

    NumPy's floating-point warnings are off.
    """
    of_rule, of_builder = _rule.set(same), innermost.set(None)
    try:
        return without_warnings(f, args)
    finally:
        innermost.reset(of_builder)
        _rule.reset(of_rule)


def running_rule(same: Same) -> AbstractContextManager[None]:
    """Note that the rule of a call is being recorded."""
    return setting(_rule, same)


_LEAVES: Final = frozenset((np.ndarray, np.float64, float))


def map_arrays(f: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf of a container, which mostly is a tuple of arrays."""
    kind = type(tree)
    if kind is tuple:
        return tuple([f(x) if type(x) is np.ndarray else map_arrays(f, x) for x in tree])
    if kind in _LEAVES:
        return f(tree)
    return pytree.map(f, tree)
