"""Continuation states: the live variables of the frame in which a value is decided on.

Two looks at one instruction, in frames whose variables say the same but for the values of traced
arrays, are followed by the same operations, as long as the outcomes are the same.  That holds if
the frame's code only computes (see `closed_code`) and nothing lies on its stack, as the iterator of
a ``for`` does; and if what its variables and names lead to is seen whole: numbers, arrays, lists,
and functions whose code only computes, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType, FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.closed_values import is_closed, is_value, kind_of
from funcdiff.api.calls.surroundings import ABSENT, OpenError, loaded_by, seen_by
from funcdiff.api.rolling.liveness import live_variables
from funcdiff.core.atoms import Ref
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType

_MOST_BYTES: Final = 1 << 20
"""Bytes of an array that are looked at; where a variable has more, nothing is known."""


class Slot(NamedTuple):
    """A traced array among the variables, as it was."""

    builder: Recorder | None
    atom: Ref
    type: ArrayType


class State(NamedTuple):
    """The variables of a frame: all but the traced arrays, which are apart."""

    key: tuple[Any, ...]  # the instruction, and the variables with slots for traced arrays
    slots: tuple[Slot, ...]  # traced arrays, each once, in the order of appearance


def state_of(frame: FrameType) -> State | None:
    """Return what a frame goes on with; None if that cannot be seen whole."""
    code = frame.f_code
    live = live_variables(code).get(frame.f_lasti)
    if live is None:
        return None
    found, local = _Variables(), frame.f_locals
    own = sorted(live & local.keys() - set(code.co_freevars))
    try:
        variables = tuple([(name, found.seen(local[name])) for name in own])
        free = found.all_seen(local.get(name, ABSENT) for name in code.co_freevars)
        loaded = loaded_by(code, frame.f_globals, frame.f_builtins, _find)
        shared = free, found.all_seen(loaded)
    except OpenError:
        return None
    key = (code, frame.f_lasti, variables, shared)
    return State(key, tuple(found.slots))


class _Variables:
    """Writes down what variables hold, and collects the traced arrays among it."""

    def __init__(self) -> None:
        self.slots: dict[Slot, int] = {}
        self._met: dict[int, int] = {}

    def seen(self, x: Any) -> Any:
        """Return what tells a value from others; raise if that is not known."""
        if isinstance(x, Tracer):
            return self._content_of_tracer(x)
        kind = kind_of(x)
        if kind is tuple:
            return self.all_seen(x)
        if is_value(x) and x == x:  # of those that are nan, which is the same object decides
            return kind, x if kind is int else repr(x)
        if issubclass(kind, np.number | np.bool) and is_closed(x, kind):
            return kind, x.tobytes()
        if id(x) in self._met:  # the same object once more, or one that has itself in it
            return "again", self._met[id(x)]
        if is_closed(x, kind):
            return x
        self._met[id(x)] = len(self._met)
        if kind is np.ndarray and x.dtype in DTYPE_NAMES and x.nbytes <= _MOST_BYTES:
            return x.dtype.str, x.shape, x.strides, x.tobytes()
        if kind is list:
            return list, self.all_seen(x)
        if kind is dict:
            return dict, self.all_seen(x), self.all_seen(x.values())
        if kind is not FunctionType:
            raise OpenError
        return x.__code__, self.all_seen(seen_by(x, _find))

    def all_seen(self, xs: Iterable[Any]) -> tuple[Any, ...]:
        """Return what tells several values from others."""
        return tuple([self.seen(x) for x in xs])

    def _content_of_tracer(self, x: Tracer) -> Any:
        if _shares_memory(x):
            raise OpenError
        # of what can be changed in place it matters which are one: a change is one of both
        alias = self._met.setdefault(id(x), len(self._met)) if isinstance(x, np.ndarray) else None
        slot = self.slots.setdefault(Slot(x.builder, x.atom, x.type), len(self.slots))
        return Tracer, type(x), x.type, alias, slot


def _find(owner: Any, name: str) -> Any:
    table = owner if type(owner) is dict else vars(owner)
    return table.get(name, ABSENT)


def _shares_memory(x: Tracer) -> bool:
    """Whether a traced array is a view, has views, or lies in memory in an order of its own."""
    known = getattr(x, "views", None)
    if known is None:
        return False
    live = any(view() is not None for view in known.views)
    ordered = known.order not in (None, "C") or known.origin is not None
    return known.base is not None or live or ordered
