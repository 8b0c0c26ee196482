"""What Python's code goes on with at a look at a value: the live variables of the frame that looks.

Two looks at one instruction, in frames whose variables say the same but for the values of traced
arrays, are followed by the same operations, as long as the outcomes are the same.  That holds if
nothing else is remembered anywhere: nothing may lie on the stack of the frame, as the iterator of a
``for`` does, and every variable must be of a type whose whole content is seen here.  So must be the
global names that its code and the functions it calls may use.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.rolling.liveness import live_variables
from funcdiff.core.atoms import Ref
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import is_users_file

_MOST_BYTES: Final = 1 << 20
"""Bytes of an array that are looked at; where a variable has more, nothing is known."""
_NUMBERS: Final = (bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType)
_THEMSELVES: Final = (np.ufunc, np.dtype, type(np.roll))


class _Pair(NamedTuple):
    x: int


_REMEMBERING: Final = frozenset(("random", "default_rng"))
"""Names of what goes on from call to call."""
_DESCRIPTORS: Final = (property, types.MemberDescriptorType, type(_Pair.x))
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
        shared = found.of_code(code, frame.f_globals)
    except _Unseen:
        return None
    key = (code, frame.f_lasti, id(frame.f_globals), tuple(variables), shared)
    return State(key, tuple(found.slots))


class _Variables:
    """Writes down what variables hold, and collects the traced arrays among it."""

    def __init__(self) -> None:
        self.slots: dict[Slot, int] = {}
        self._met: dict[int, int] = {}
        self._names: tuple[str, ...] = ()

    def seen(self, x: Any) -> Any:
        """Return what tells a value from others; raise if that is not known."""
        if isinstance(x, Tracer):
            return self._content_of_tracer(x)
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
        if kind is types.BuiltinFunctionType:
            return kind, x.__name__, self.seen(x.__self__)
        if isinstance(x, types.ModuleType):
            return kind, id(x), self._attributes(x, self._names)
        if isinstance(x, type):
            return kind, id(x), self._attributes(x, vars(x))
        if kind is types.FunctionType:
            if not is_users_file(x.__code__.co_filename):
                return kind, x
            own = self.of_code(x.__code__, x.__globals__)
            return kind, x.__code__, id(x.__globals__), self._all(_parts_of_function(x)), own
        if kind is types.MethodType:
            return kind, self.seen(x.__func__), self.seen(x.__self__)
        if kind in _CONTAINERS or (isinstance(x, tuple) and hasattr(x, "_fields")):
            return (
                kind,
                self._all(x.keys() if kind is dict else ()),
                self._all(x.values() if kind is dict else x),
            )
        raise _Unseen

    def of_code(self, code: CodeType, scope: dict[str, Any]) -> Any:
        """Return what tells the globals that code may use from others."""
        before, self._names = self._names, names_of(code)
        if _REMEMBERING.intersection(self._names):
            raise _Unseen
        found = [(name, self.seen(scope[name])) for name in self._names if name in scope]
        self._names = before
        return tuple(found)

    def _attributes(self, x: Any, names: Iterable[str]) -> Any:
        """Return what tells the variables of the user's modules and classes from others."""
        module = x if isinstance(x, types.ModuleType) else sys.modules.get(x.__module__)
        file = getattr(module, "__file__", None)
        if module is None or (file is None and module.__name__ != "__main__"):
            return ()
        if file is not None and not is_users_file(file):
            return ()
        known = [(name, vars(x)[name]) for name in sorted(names) if name in vars(x)]
        return tuple([
            (name, self.seen(y)) for name, y in known
            if not name.startswith("__") and not isinstance(y, _DESCRIPTORS)
        ])  # fmt: skip

    def _all(self, xs: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([self.seen(x) for x in xs])

    def _content_of_tracer(self, x: Tracer) -> Any:
        if _shares_memory(x):
            raise _Unseen
        # of what can be changed in place it matters which are one: a change is one of both
        alias = self._met.setdefault(id(x), len(self._met)) if isinstance(x, np.ndarray) else None
        slot = self.slots.setdefault(Slot(x.builder, x.atom, x.type), len(self.slots))
        return Tracer, type(x), x.type, alias, slot


@lru_cache(maxsize=1024)
def names_of(code: CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in code, and in the functions it defines."""
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names.update(names_of(inner))
    return tuple(sorted(names))


def _parts_of_function(function: Any) -> list[Any]:
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
