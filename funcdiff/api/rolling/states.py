"""Continuation states: the live variables of the frame in which a value is decided on.

Live are those that may still be read after an instruction, by liveness analysis of the bytecode.
Two looks at one instruction, in frames whose variables say the same but for the values of traced
arrays, are followed by the same operations, as long as the outcomes are the same, and as long as
no ``for`` loop around them goes on or ends.  That holds if the frame's code only computes (see
`repeated`) and nothing lies on its stack but iterators of ranges; and if what its variables and
names lead to is seen whole: numbers, arrays, lists, and functions whose code only computes, too.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.api.calls.repeated import (
    ABSENT,
    OpenError,
    free_values,
    global_values,
    is_closed,
    is_value,
    kind_of,
    table_with,
)
from funcdiff.api.rolling.control_flow import Op, access
from funcdiff.api.rolling.looks import Around, Counter, RangeLoop, arity, looks_of
from funcdiff.core.atoms import Ref
from funcdiff.core.recording.snapshot import owner_of
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType

NDArray: TypeAlias = np.ndarray[Any, Any]

_MOST_BYTES: Final = 1 << 20
"""Bytes of an array that are looked at; where a variable has more, nothing is known."""


class Slot(NamedTuple):
    """A traced array among the variables, as it was."""

    builder: Recorder | None
    atom: Ref
    type: ArrayType


class Count(NamedTuple):
    """How far a loop is."""

    loop: RangeLoop | Counter
    over: range  # what its variable is in each iteration
    number: int  # of the iteration, from 0 on


class Thing(NamedTuple):
    """Something that can be changed in place, as it was."""

    find: Callable[[], Any]  # None: it is there no more
    content: tuple[Any, ...]


class Changes(NamedTuple):
    """Which of the things, by number, are others at a look than they were at the one before."""

    before: int  # the number of that look
    written: frozenset[int]  # they have another content
    replaced: frozenset[int]  # something else is where they were


class State(NamedTuple):
    """The variables of a frame: all but the traced arrays and what loops count, which are apart."""

    key: tuple[Any, ...]  # the instruction, and the variables with slots for traced arrays
    slots: tuple[Slot, ...]  # traced arrays, each once, in the order of appearance
    asks_again: bool  # see `Look`
    nesting: int
    staying: frozenset[int]  # outcomes behind which the innermost of these loops may go on
    counts: tuple[Count, ...]  # of the loops around it, the outermost first
    things: tuple[Thing, ...]  # in the order of appearance

    def changes(self, before: int, things: Sequence[Thing]) -> Changes:
        """Return what has become of things since another look at which the variables said this."""
        were = [thing.find() for thing in things]
        written = [
            k
            for k, (x, thing) in enumerate(zip(were, things, strict=True))
            if x is not None and not _are_same(_content(x), thing.content)
        ]
        replaced = [
            k
            for k, (x, thing) in enumerate(zip(were, self.things, strict=True))
            if x is None or x is not thing.find()
        ]
        return Changes(before, frozenset(written), frozenset(replaced))


def state_of(frame: FrameType) -> State | None:
    """Return what a frame goes on with; None if that cannot be seen whole."""
    code = frame.f_code
    look = looks_of(code).get(frame.f_lasti)
    if look is None:
        return None
    found, local = _Variables(), frame.f_locals
    try:
        around = [(loop, count) for loop in look.loops if (count := _count(loop, local, frame))]
        counts = tuple([count for _, count in around])
        counted = {x.loop.variable for x in counts if isinstance(x.loop, Counter)}
        own = sorted(look.live.intersection(local).difference(code.co_freevars, counted))
        variables = tuple([(name, found.identify(local[name])) for name in own])
        free = found.identify_all(local.get(name, ABSENT) for name in code.co_freevars)
        loaded = global_values(code, frame.f_globals, frame.f_builtins, _find)
        shared = free, found.identify_all(loaded)
    except OpenError:
        return None
    key = (code, look.place, variables, shared, tuple([count.over for count in counts]))
    staying = around[-1][0].staying if around else frozenset((0, 1))
    return State(
        key, tuple(found.slots), look.asks_again, look.nesting, staying, counts, tuple(found.things)
    )


_ARITHMETIC: Final = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
}  # fmt: skip


def _count(around: Around, local: Mapping[str, Any], frame: FrameType) -> Count | None:
    """Return how far a loop is: by its variable and its bounds.

    None for a counter that is no Python integer, or not one that comes to its bound.
    """
    loop, value = around.loop, local.get(around.loop.variable)
    if isinstance(loop, RangeLoop):
        over = range(*_bounds(loop, local, frame))
        if _global(frame, "range") is not range or type(value) is not int or value not in over:
            raise OpenError
        return Count(loop, over, over.index(value))
    try:
        (bound,) = _bounds(loop, local, frame)
    except OpenError:
        return None
    if type(value) is not int:
        return None
    compared = value + around.ahead
    start, step = compared % loop.step, loop.step
    ends = {"<": step > 0, ">": step < 0, "<=": step > 0, ">=": step < 0}
    if not ends.get(loop.relation, loop.relation == "!=" and (bound - start) % step == 0):
        return None
    beyond = bound + (loop.relation == "<=") - (loop.relation == ">=")
    going_on = len(range(start, beyond, step))
    over = range(start, start + (going_on + 1) * step, step)
    return Count(loop, over, over.index(compared)) if compared in over else None


def _bounds(loop: RangeLoop | Counter, local: Mapping[str, Any], frame: FrameType) -> Sequence[int]:
    """Return what the bounds of a loop are, as integers of Python."""
    stack: list[Any] = []
    for op in loop.bounds:
        count = arity(op) or 0
        if count > len(stack):
            raise OpenError
        taken = [stack.pop() for _ in range(count)][::-1]
        stack.append(_result(op, taken) if taken else _load(op, local, frame))
    if any(type(value) is not int for value in stack):
        raise OpenError
    return stack


def _load(op: Op, local: Mapping[str, Any], frame: FrameType) -> Any:
    """Return what an instruction loads."""
    if op.opname == "LOAD_GLOBAL":
        return _global(frame, op.argval)
    kind, variable = access(op)
    return local.get(variable) if kind else op.argval


def _result(op: Op, taken: Sequence[Any]) -> Any:
    """Return what an instruction makes of what lies on the stack: of integers, and of shapes."""
    x, last = taken[0], taken[-1]
    are_numbers = all(type(value) is int for value in taken)
    if op.opname == "PRECALL":
        return x
    if op.argrepr in _ARITHMETIC and are_numbers and (last or op.argrepr != "//"):
        return _ARITHMETIC[op.argrepr](x, last)
    if op.opname == "LOAD_ATTR" and op.argval in ("shape", "size", "ndim") and _is_array(x):
        return getattr(x, op.argval)
    if op.opname == "CALL" and op.arg == 1 and x is len and _is_array(last) and last.ndim:
        return last.shape[0]
    is_item = op.opname == "BINARY_SUBSCR" or op.argrepr == "[]"
    if is_item and type(x) is tuple and type(last) is int and -len(x) <= last < len(x):
        return x[last]
    raise OpenError


def _is_array(x: Any) -> bool:
    return isinstance(x, Tracer) or type(x) is np.ndarray


def _global(frame: FrameType, name: str) -> Any:
    return frame.f_globals.get(name, frame.f_builtins.get(name))


class _Variables:
    """Writes down what variables hold, and collects the traced arrays among it."""

    def __init__(self) -> None:
        self.slots: dict[Slot, int] = {}
        self.things: list[Thing] = []
        self._met: dict[int, int] = {}

    def identify(self, x: Any) -> Any:
        """Return what tells a value from others; raise if that is not known."""
        if isinstance(x, Tracer):
            return self._content_of_tracer(x)
        kind = kind_of(x)
        if kind is tuple:
            return self.identify_all(x)
        if is_value(x) and x == x:  # of those that are nan, which is the same object decides
            return kind, x if kind is int else repr(x)
        if issubclass(kind, np.number | np.bool) and is_closed(x, kind):
            return kind, x.tobytes()
        if id(x) in self._met:  # the same object once more, or one that has itself in it
            return "again", self._met[id(x)]
        if is_closed(x, kind):
            return x
        self._meet(x)
        if kind is np.ndarray and x.dtype in DTYPE_NAMES and x.nbytes <= _MOST_BYTES:
            return x.dtype.str, x.shape, x.strides, x.tobytes(), self._place_in_memory(x)
        if kind is list:
            return list, self.identify_all(x)
        if kind is dict:
            return dict, self.identify_all(x), self.identify_all(x.values())
        if kind is not FunctionType:
            raise OpenError
        return x.__code__, self.identify_all(free_values(x, _find))

    def identify_all(self, xs: Iterable[Any]) -> tuple[Any, ...]:
        """Return what tells several values from others."""
        return tuple([self.identify(x) for x in xs])

    def _content_of_tracer(self, x: Tracer) -> Any:
        if _shares_memory(x):
            raise OpenError
        # of what can be changed in place it matters which are one: a change is one of both
        alias = self._meet(x) if isinstance(x, np.ndarray) else None
        slot = self.slots.setdefault(Slot(x.builder, x.atom, x.type), len(self.slots))
        return Tracer, type(x), x.type, alias, slot

    def _meet(self, x: Any) -> int:
        """Return the number of something that can be changed in place."""
        if id(x) not in self._met:
            self._met[id(x)] = len(self._met)
            find = weakref.ref(x) if isinstance(x, Tracer) else lambda: x
            self.things.append(Thing(find, _content(x)))
        return self._met[id(x)]

    def _place_in_memory(self, x: NDArray) -> Any:
        """Return where an array lies in the one that it is a view of."""
        owner = owner_of(x)
        if owner is x:
            return None
        return self.identify(owner), x.ctypes.data - owner.ctypes.data


def _content(x: Any) -> tuple[Any, ...]:
    """Return what can be changed in place."""
    if isinstance(x, Tracer):
        return x.builder, x.atom
    if type(x) is dict:
        return *x, *x.values()
    if type(x) is np.ndarray:
        return (x.tobytes(),) if x.dtype in DTYPE_NAMES and x.nbytes <= _MOST_BYTES else ()
    return (*x,) if type(x) is list else ()


def _are_same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(
        x is y or (type(x) in (bytes, int) and type(x) is type(y) and x == y)
        for x, y in zip(these, those, strict=True)
    )


def _find(owner: Any, name: str) -> Any:
    return table_with(owner, name).get(name, ABSENT)


def _shares_memory(x: Tracer) -> bool:
    """Whether a traced array is a view, has views, or lies in memory in an order of its own."""
    known = getattr(x, "views", None)
    if known is None:
        return False
    live = any(view() is not None for view in known.views)
    ordered = known.order not in (None, "C") or known.origin is not None
    return known.base is not None or live or ordered
