"""What Python's code goes on with at a look at a value: the live variables of the frame that looks.

Two looks at one instruction, in frames whose variables say the same but for the values of traced
arrays, are followed by the same operations, as long as the outcomes are the same.  That holds if
nothing else is remembered anywhere: nothing may lie on the stack of the frame, as the iterator of a
``for`` does, and every variable must be of a type whose whole content is seen here.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.rolling.liveness import live_variables
from funcdiff.core.atoms import Ref
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType

_MOST_BYTES: Final = 1 << 20
"""Bytes of an array that are looked at; where a variable has more, nothing is known."""
_NUMBERS: Final = (bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType)
_THEMSELVES: Final = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype)
_CONTAINERS: Final = (list, tuple, dict)


class Slot(NamedTuple):
    """A traced array among the variables, as it was."""

    builder: Recorder | None
    atom: Ref
    type: ArrayType


class State(NamedTuple):
    """The variables of a frame: all but the traced arrays, which are apart.

    Attributes
    ----------
    key
        The instruction and the variables, with numbers of slots in place of traced arrays.
    slots
        The values of traced arrays, each once, in the order in which they are met.
    """

    key: tuple[Any, ...]
    slots: tuple[Slot, ...]


class _Unseen(Exception):  # noqa: N818 - it is no error
    """A variable may remember what is not seen."""


def state_of(frame: FrameType) -> State | None:
    """Return what a frame goes on with; None if that cannot be seen whole."""
    code = frame.f_code
    live = live_variables(code).get(frame.f_lasti)
    if live is None:
        return None
    found = _Variables()
    try:
        variables = [
            (name, found.seen(x)) for name, x in sorted(frame.f_locals.items()) if name in live
        ]
    except _Unseen:
        return None
    key = (code, frame.f_lasti, id(frame.f_globals), tuple(variables))
    return State(key, tuple(found.slots))


class _Variables:
    """Writes down what variables hold, and collects the traced arrays among it."""

    def __init__(self) -> None:
        self.slots: dict[Slot, int] = {}
        self._met: dict[int, int] = {}

    def seen(self, x: Any) -> Any:
        """Return what tells a value from others; raise if that is not known."""
        if isinstance(x, Tracer):
            return self._traced(x)
        kind = type(x)
        if kind in _NUMBERS:
            return kind, repr(x)
        if isinstance(x, np.generic):
            return x.dtype.str, x.tobytes()
        if isinstance(x, _THEMSELVES):
            return kind, x
        if id(x) in self._met:  # the same object once more, or one that has itself in it
            return "again", self._met[id(x)]
        self._met[id(x)] = len(self._met)
        if kind is np.ndarray and x.dtype.kind in "biufc" and x.nbytes <= _MOST_BYTES:
            return x.dtype.str, x.shape, x.strides, x.tobytes()
        if kind is types.FunctionType:
            return kind, x.__code__, id(x.__globals__), self._all(_held(x))
        if kind is types.MethodType:
            return kind, self.seen(x.__func__), self.seen(x.__self__)
        if kind in _CONTAINERS or (isinstance(x, tuple) and hasattr(x, "_fields")):
            return (
                kind,
                self._all(x.keys() if kind is dict else ()),
                self._all(x.values() if kind is dict else x),
            )
        raise _Unseen

    def _all(self, xs: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([self.seen(x) for x in xs])

    def _traced(self, x: Tracer) -> Any:
        if _shares_memory(x):
            raise _Unseen
        # of what can be changed in place it matters which are one: a change is one of both
        alias = self._met.setdefault(id(x), len(self._met)) if isinstance(x, np.ndarray) else None
        slot = self.slots.setdefault(Slot(x.builder, x.atom, x.type), len(self.slots))
        return Tracer, type(x), x.type, alias, slot


def _held(function: Any) -> list[Any]:
    """Return what a function holds: what it closes over, and its defaults."""
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # one that is still empty
        raise _Unseen from None
    return [*cells, *(function.__defaults__ or ()), function.__kwdefaults__, function.__dict__]


def _shares_memory(x: Tracer) -> bool:
    """Whether a traced array is a view, has views, or lies in memory in an order of its own."""
    known = getattr(x, "views", None)
    if known is None:
        return False
    live = any(view() is not None for view in known.views)
    ordered = known.order not in (None, "C") or known.origin is not None
    return known.base is not None or live or ordered
