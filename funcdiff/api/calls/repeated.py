"""Keeps what a call has recorded, for calls that would record the same again.

A function is traced in every call, since what it does may have changed; but if nothing that it can
see has (see `surroundings`), and it did not ask for values, its trace is that of before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from funcdiff import pytree
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.surroundings import Surroundings, parts_of, surroundings
from funcdiff.api.calls.tracing import Trace
from funcdiff.core.origins import reader
from funcdiff.core.scope import innermost
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType

_monitoring: Final[Any] = getattr(sys, "monitoring", None)
_TOOLS: Final = (0, 1)
"""Of Python 3.12: debuggers, and what measures coverage."""

_MOST_MISSES: Final = 8
"""So many times in a row something may have changed before a call is not looked at any more."""

_MOST_BYTES: Final = 1 << 18
_BYTES_AN_ENTRY: Final = 1 << 13
"""Of the arrays that a function sees: to compare them takes less time than to record it again."""

_BYTES_OF_AN_ENTRY: Final = 100
_MOST_CALLS: Final = 256
_MOST_BYTES_KEPT: Final = 1 << 25
"""Bounds of all that is kept."""


class _Call:
    """What is known of a call.

    Attributes
    ----------
    kept
        What the function saw, and what it recorded; None if it did not come again yet.
    misses
        How many times in a row it has seen something else.
    """

    __slots__ = ("kept", "misses")

    def __init__(self) -> None:
        self.kept: tuple[Surroundings, Trace] | None = None
        self.misses = 0


_calls: Final[dict[tuple[Any, ...], _Call]] = {}


def forget_calls() -> None:
    """Forget all that is known of calls."""
    _calls.clear()


def _forget_seldom() -> None:
    """Forget calls that did not come again or, if that leaves too many, all."""
    for key, call in _calls.copy().items():
        if call.kept is None:
            _calls.pop(key, None)
    if len(_calls) > _MOST_CALLS // 2:
        _calls.clear()


def trace_or_repeat(
    f: Callable[..., Any],
    inputs: Inputs,
    given: Sequence[Any],
    kind: tuple[Hashable, ...],
    traced: Callable[[], Trace],
) -> Trace:
    """Return what ``traced()`` does, or did before in what is the same call.

    Parameters
    ----------
    f
        The user's function.
    inputs
        Its differentiated arguments, of which only the types decide what is recorded.
    given
        Its other arguments.
    kind
        All else that decides, where they stand included.
    traced
        Calls and traces the function.
    """
    if _is_looked_at() or inputs.others or any(isinstance(x, Tracer) for x in inputs.operands):
        return traced()
    how, parts = parts_of(f)
    key = (how, kind, inputs.structures, inputs.weak, *_looks(inputs, given))
    call = _calls.get(key)
    if call is None:
        if len(_calls) >= _MOST_CALLS:
            _forget_seldom()
        _calls[key] = _Call()
        return traced()
    if call.kept is not None:
        seen, trace = call.kept
        if seen.are_unchanged(parts):
            call.misses = 0
            # an error is located where the function runs again
            locate = lambda find=None: traced().locate(find)  # noqa: E731
            return Trace._make((*trace[:_LOCATE], locate, *trace[_LOCATE + 1 :]))
    if call.misses >= _MOST_MISSES:
        return traced()
    before = surroundings(parts, given) if all(map(_is_plain, inputs.structures)) else None
    trace = traced()
    if before is None or not (
        _is_decided(trace)
        and before.nbytes <= max(_MOST_BYTES, _BYTES_AN_ENTRY * len(trace.recording[0]))
        and before.are_unchanged(parts)
    ):
        call.kept, call.misses = None, _MOST_MISSES
    else:
        call.kept, call.misses = (before, _without_values(trace)), call.misses + 1
        if sum(_size(*c.kept) for c in _calls.values() if c.kept) > _MOST_BYTES_KEPT:
            _calls.clear()
    return trace


def _is_looked_at() -> bool:
    """Whether somebody waits for what a call does: a trace outside, a reader, or a debugger."""
    if innermost.get() is not None or reader.get() is not None or sys.gettrace() is not None:
        return True
    return _monitoring is not None and any(map(_monitoring.get_tool, _TOOLS))


def _looks(inputs: Inputs, given: Sequence[Any]) -> list[Any]:
    """Return what of the arguments decides."""
    found: list[Any] = []
    for x in inputs.operands:
        found += (type(x), ArrayType(x.shape, x.dtype))
    for x in given:
        found += (type(x), _COMPARED.get(type(x), id)(x))
    return found


_COMPARED: Final[dict[type, Callable[[Any], Any]]] = {
    **dict.fromkeys((bool, int, str), lambda x: x),
    **dict.fromkeys((float, complex), repr),
}
"""How arguments are compared that are not the same object; what can be seen is kept alive."""

_LOCATE: Final = Trace._fields.index("locate")


def _is_plain(structure: pytree.Structure) -> bool:
    """Whether there are only lists, tuples and dictionaries in a structure."""
    return structure.container in (None, list, tuple, dict) and all(
        map(_is_plain, structure.children)
    )


def _is_decided(trace: Trace) -> bool:
    """Whether types have decided all of a trace, and nothing else has happened."""
    return not (
        trace.asked
        or trace.others
        or trace.aux
        or trace.calls
        or trace.rule_calls
        or trace.decisions
        or trace.evaluated
        or sum(x.nbytes for x in trace.captures) > _MOST_BYTES_KEPT
    )


def _size(seen: Surroundings, trace: Trace) -> int:
    """Return how many bytes are kept, roughly."""
    arrays: int = sum(x.nbytes for x in trace.captures)
    return seen.nbytes + arrays + _BYTES_OF_AN_ENTRY * len(trace.recording[0])


def _nowhere(find: object = None) -> None:  # noqa: ARG001
    return None


def _without_values(trace: Trace) -> Trace:
    """Return a trace that keeps no arguments alive."""
    outputs = [type(y)(None, y.atom, y.type) for y in trace.outputs]
    return trace._replace(outputs=outputs, locate=_nowhere)
