"""Memoises traces of calls that would record the same again.

A function is traced in every call, since what it does may have changed.  But if its code only
computes (see `closed_code`), if nothing that it can see has changed (see `surroundings`), and if it
did not ask for values and did not warn, its trace is that of before.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from types import FunctionType
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.closed_values import is_value
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.retracing import nowhere
from funcdiff.api.calls.surroundings import OpenError, Surroundings, derivation
from funcdiff.api.calls.tracing import Trace
from funcdiff.api.calls.transformed import Transformed
from funcdiff.core.late import listening
from funcdiff.core.origins import reader
from funcdiff.core.quiet import warns_as_usual
from funcdiff.core.scope import innermost

_monitoring: Final[Any] = getattr(sys, "monitoring", None)
_TOOLS: Final = (0, 1)
"""Of Python 3.12: debuggers, and what measures coverage."""

_MOST_MISSES: Final = 8
"""So many times in a row something has changed before a call is not looked at any more."""

_MOST_CALLS: Final = 256
_MOST_BYTES: Final = 1 << 25
_BYTES_AN_ENTRY: Final = 1 << 13
"""Of arrays that a function sees: to compare them takes less time than to record an entry again."""

_NUMBERS: Final = frozenset({bool, int, float, complex, np.float64})
_OPERANDS: Final = frozenset({*_NUMBERS, np.ndarray, np.float32, np.complex128, np.complex64})
_FUNCTIONS: Final = (FunctionType, Transformed, partial)
_ONE_LEAF: Final = (pytree.LEAF,)
_CONTAINERS: Final = (None, type(None), list, tuple, dict)
_LOCATE: Final = Trace._fields.index("locate")


class _Call:
    """What was seen and recorded, None if it may not be kept, and the misses in a row."""

    __slots__ = ("kept", "misses")

    def __init__(self) -> None:
        self.kept: tuple[Surroundings, Trace] | None = None
        self.misses = 0


_calls: Final[dict[tuple[Any, ...], _Call]] = {}


def forget_calls() -> None:
    """Forget all that is known of calls."""
    _calls.clear()


def known_call(
    f: Callable[..., Any], inputs: Inputs, given: Sequence[Any], kind: tuple[Hashable, ...]
) -> tuple[_Call, list[Any]] | None:
    """Return what is known of a call, and the objects that decide; None of one that is not known.

    Of differentiated arguments the types decide, of those that are `given` all; so does `kind`.
    """
    types = [*map(type, inputs.operands)]
    if (
        type(f) not in _FUNCTIONS
        or inputs.others
        or not _OPERANDS.issuperset(types)
        or (inputs.structures != _ONE_LEAF and not all(map(_is_plain, inputs.structures)))
        or _is_looked_at()
    ):
        return None
    objects: list[Any] = []
    looks = [y for x in inputs.operands for y in (x.shape, x.dtype)]
    hints = [_hint(x, objects) for x in (f, *given)]
    key = (*hints, kind, inputs.structures, inputs.weak, *types, *looks)
    call = _calls.get(key)
    if call is None:
        if len(_calls) >= _MOST_CALLS:
            _calls.clear()
        _calls[key] = _Call()
        return None
    return call, objects


def trace_again(call: _Call, objects: list[Any], traced: Callable[[], Trace]) -> Trace:
    """Return ``traced()``, which calls and traces the function, or its result of before."""
    kept = call.kept  # which another thread may forget
    if kept is not None and kept[0].are_unchanged(objects):
        call.misses, trace = 0, kept[1]
        # an error is located where the function runs again
        locate = lambda *how: traced().locate(*how)  # noqa: E731
        return Trace._make((*trace[:_LOCATE], locate, *trace[_LOCATE + 1 :]))
    if call.misses >= _MOST_MISSES:
        return traced()
    return _traced_and_kept(call, objects, traced)


def _traced_and_kept(call: _Call, objects: list[Any], traced: Callable[[], Trace]) -> Trace:
    """Trace, and keep the trace if all that decides it can be seen."""
    call.kept, misses, call.misses = None, call.misses, _MOST_MISSES
    try:
        before = Surroundings(objects)
    except OpenError:
        return traced()
    trace = traced()
    if (
        not _is_decided(trace)
        or before.nbytes > _BYTES_AN_ENTRY * (len(trace.recording[0]) + 32)
        or not before.are_unchanged(objects)
    ):
        return trace
    # what has changed nothing may run again, to tell whether it warns, which it has to do each time
    with listening, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        trace = traced()
    if not heard:
        outputs = [type(y)(None, y.atom, y.type) for y in trace.outputs]  # without values
        call.kept = before, trace._replace(outputs=outputs, locate=nowhere)
        call.misses = misses + 1
        kept = [c.kept for c in _calls.copy().values()]  # at once: other threads may add some
        if sum(_size(*x) for x in kept if x) > _MOST_BYTES:
            _calls.clear()
    return trace


def _is_looked_at() -> bool:
    """Whether somebody waits for what a call does: a trace outside, a reader, or a debugger."""
    if innermost.get() is not None or reader.get() is not None or sys.gettrace() is not None:
        return True
    if _monitoring is not None and any(map(_monitoring.get_tool, _TOOLS)):
        return True
    return not warns_as_usual()


def _hint(x: Any, objects: list[Any]) -> Hashable:
    """Return a number by value, or collect what is an object, and return where it lies in memory.

    The place is only a hint where to look, since another object may come to lie there.
    """
    kind = type(x)
    if kind in _NUMBERS and x == x:
        return kind, x if kind is int else repr(x)
    if kind in (FunctionType, Transformed) and vars(x) and (derived := derivation(x)) is not None:
        return (*derived[:-1], _hint(derived[-1], objects))
    objects.append(x)
    found = x.func if kind is partial else x
    return id(found.__code__ if type(found) is FunctionType else found)


@lru_cache(maxsize=256)
def _is_plain(structure: pytree.Structure) -> bool:
    """Whether there are only lists, tuples and dictionaries of strings in a structure."""
    return (
        structure.container in _CONTAINERS
        and all(map(is_value, structure.keys))
        and all(map(_is_plain, structure.children))
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
    )


def _size(seen: Surroundings, trace: Trace) -> int:
    """Return how many bytes are kept, roughly."""
    return sum([seen.nbytes, *[x.nbytes for x in trace.captures], 100 * len(trace.recording[0])])
