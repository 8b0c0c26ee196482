"""Continuation states: the live variables of the frame in which a value is decided on.

Live are those that may still be read after an instruction, by liveness analysis of the bytecode.
Two looks at one instruction, in frames whose variables say the same but for the values of traced
arrays, are followed by the same operations, as long as the outcomes are the same.  That holds if
the frame's code only computes (see `repeated`) and nothing lies on its stack, as the iterator of
a ``for`` does; and if what its variables and names lead to is seen whole: numbers, arrays, lists,
and functions whose code only computes, too.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple

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
from funcdiff.core.atoms import Ref
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType

_LOOKS: Final = frozenset(("COMPARE_OP", "TO_BOOL", "UNARY_NOT"))
"""Instructions that look at a value and leave the outcome on the stack, for the next to take."""
_STORES: Final = frozenset(("STORE_FAST", "DELETE_FAST"))
_NEVER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@lru_cache(maxsize=256)
def live_variables(code: CodeType) -> Mapping[int, frozenset[str]]:
    """Return the variables that are live behind each look at a value, by its instruction.

    Looks that leave something on the stack, which nobody sees, are not among them: they are in the
    midst of an expression, a ``for`` or a ``with``.
    """
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_flags & _NEVER:
        return {}
    instructions = list(dis.get_instructions(code))
    place = {instruction.offset: k for k, instruction in enumerate(instructions)}
    following = [_following(k, instructions[k], place) for k in range(len(instructions))]
    depths = _depths(instructions, following)
    named = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    if code.co_exceptiontable:  # handlers of exceptions read variables, too
        live = [frozenset(named) for _ in instructions]
    else:
        shared = frozenset((*code.co_cellvars, *code.co_freevars))
        live = [shared | names for names in _live_behind(instructions, following)]
    return {
        op.offset: live[k]
        for k, op in enumerate(instructions)
        if k in depths and _leaves(op, depths[k]) == 0
    }


def _following(k: int, op: dis.Instruction, place: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return what may come after an instruction, and how much higher the stack is then."""
    arg = op.arg if op.opcode >= dis.HAVE_ARGUMENT else None
    found = []
    if op.opcode in dis.hasjrel or op.opcode in dis.hasjabs:
        found.append((place[op.argval], dis.stack_effect(op.opcode, arg, jump=True)))
    ends = op.opname.startswith(("RETURN_", "RAISE_VARARGS", "RERAISE"))
    always = op.opname.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE"))
    if not ends and not always and k + 1 < len(place):
        found.append((k + 1, dis.stack_effect(op.opcode, arg, jump=False)))
    return found


def _depths(
    instructions: list[dis.Instruction], following: list[list[tuple[int, int]]]
) -> dict[int, int]:
    """Return how high the stack is before each instruction that is reached without an exception."""
    depths: dict[int, int] = {}
    pending = [(0, 0)] if instructions else []
    while pending:
        k, depth = pending.pop()
        if k not in depths:
            depths[k] = depth
            pending += [(after, depth + effect) for after, effect in following[k]]
    return depths


def _leaves(op: dis.Instruction, depth: int) -> int | None:
    """Return what a look at a value leaves on the stack beside its outcome; None: it is no look."""
    if "POP_JUMP" in op.opname:
        return depth - 1
    if op.opname in _LOOKS:
        return depth + dis.stack_effect(op.opcode, op.arg if op.arg is not None else None) - 1
    return None


def _live_behind(
    instructions: list[dis.Instruction], following: list[list[tuple[int, int]]]
) -> list[frozenset[str]]:
    """Return what is read behind each instruction before something else is stored there."""
    before: list[frozenset[str]] = [frozenset() for _ in instructions]
    behind = list(before)
    changed = True
    while changed:
        changed = False
        for k in range(len(instructions) - 1, -1, -1):
            op = instructions[k]
            behind[k] = frozenset().union(*(before[after] for after, _ in following[k]))
            found = behind[k]
            if op.opname in _STORES:
                found -= {op.argval}
            elif "_FAST" in op.opname:  # of two at once, both are taken to be read
                found |= {op.argval} if isinstance(op.argval, str) else set(op.argval or ())
            if found != before[k]:
                before[k], changed = found, True
    return behind


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
        variables = tuple([(name, found.identify(local[name])) for name in own])
        free = found.identify_all(local.get(name, ABSENT) for name in code.co_freevars)
        loaded = global_values(code, frame.f_globals, frame.f_builtins, _find)
        shared = free, found.identify_all(loaded)
    except OpenError:
        return None
    key = (code, frame.f_lasti, variables, shared)
    return State(key, tuple(found.slots))


class _Variables:
    """Writes down what variables hold, and collects the traced arrays among it."""

    def __init__(self) -> None:
        self.slots: dict[Slot, int] = {}
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
        self._met[id(x)] = len(self._met)
        if kind is np.ndarray and x.dtype in DTYPE_NAMES and x.nbytes <= _MOST_BYTES:
            return x.dtype.str, x.shape, x.strides, x.tobytes()
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
        alias = self._met.setdefault(id(x), len(self._met)) if isinstance(x, np.ndarray) else None
        slot = self.slots.setdefault(Slot(x.builder, x.atom, x.type), len(self.slots))
        return Tracer, type(x), x.type, alias, slot


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
