"""Replays calls of opaque functions: a result seen while tracing serves when the program runs.

In an eager trace a value may be asked for (``if f(x) > 0``) that the program computes again when
it runs.  Of code with effects, or that takes long, the result of the first call is kept until then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.scope import setting


class _Call(NamedTuple):
    """Copies of the results, and the builder that asked for them, None if it did not use them."""

    results: list[Any]
    builder: Any


class Calls:
    """Calls that were made during a trace and those within it, whose results wait for their use."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[_Call]] = {}

    def note(self, key: Hashable, results: Sequence[Any], builder: Any) -> None:
        """Keep the results of a call."""
        copies = [np.array(y)[()] for y in results]
        self._waiting.setdefault(key, []).append(_Call(copies, builder))

    def take(self, key: Hashable, builder: Any) -> list[Any] | None:
        """Return results that wait for a builder, or for the program if that is None.

        What a builder has asked for itself, or one beside it, was another call.
        """
        waiting = self._waiting.get(key, [])
        for k, call in enumerate(waiting):
            if builder is None or call.builder is None or _is_within(call.builder, builder):
                del waiting[k]
                return call.results
        return None


class _Use(NamedTuple):
    """Who uses results: a program that runs, with the calls of its trace, or a builder."""

    calls: Calls | None
    builder: Any


_using: Final[ContextVar[_Use | None]] = ContextVar("funcdiff_calls", default=None)


def _is_within(inner: Any, outer: Any) -> bool:
    builder = inner.parent
    while builder is not None and builder is not outer:
        builder = builder.parent
    return builder is outer


def _outermost(builder: Any) -> Any:
    while builder.parent is not None:
        builder = builder.parent
    return builder


def calls_made(builder: Any) -> Calls | None:
    """Return the calls that were made in a trace and those around it, None as long as none was."""
    found: Calls | None = (builder if builder.parent is None else _outermost(builder)).calls
    return found


def calls_of(builder: Any) -> Calls:
    """Return the calls that are made in a trace and those around it."""
    outermost = _outermost(builder)
    if outermost.calls is None:
        outermost.calls = Calls()
    found: Calls = outermost.calls
    return found


def key_of(code: Hashable, operands: Sequence[Any]) -> Hashable:
    """Return what tells calls apart: what is called, and the operands, by bits."""
    arrays = map(np.asarray, operands)
    return code, tuple([(x.shape, x.dtype, x.tobytes()) for x in arrays])


def call_once(
    code: Hashable, operands: Sequence[Any], call: Callable[[], Sequence[Any]]
) -> Sequence[Any]:
    """Return what ``call()`` returns; of a call that was made while tracing, what it returned."""
    use = _using.get()
    if use is None:
        return call()
    builder = use.builder
    calls = calls_of(builder) if use.calls is None else use.calls
    key = key_of(code, operands)
    results: Sequence[Any] | None = calls.take(key, builder)
    if results is None:
        with setting(_using, None):  # the user's code makes calls of its own
            results = call()
    if builder is not None:
        calls.note(key, results, builder)
    return results


def running(calls: Calls) -> AbstractContextManager[None]:
    """Let a program that runs use the results of calls that were made when it was traced."""
    return setting(_using, _Use(calls, None))


def asking(builder: Any) -> AbstractContextManager[None]:
    """Let a builder that evaluates what it has recorded keep the results of calls."""
    return setting(_using, _Use(None, builder))
