"""Liveness analysis of bytecode: the variables that may still be read after an instruction."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import Final

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
