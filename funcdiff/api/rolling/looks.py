"""Looks at values in bytecode: which variables are live behind each, and which loops are around it.

Both are read off the control flow of the instructions.  A ``for`` loop over a range has its
iterator on the stack, where nobody sees it; but its variable tells which iteration it is.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Final, NamedTuple

_LOOKS: Final = frozenset(("COMPARE_OP", "TO_BOOL", "UNARY_NOT"))
"""Instructions that look at a value and leave the outcome on the stack, for the next to take."""

_NEVER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_ACCESSES: Final = re.compile(r"(LOAD|STORE|DELETE)_(?:FAST|DEREF)")
_LOADS: Final = re.compile(r"LOAD_(CONST|SMALL_INT|GLOBAL|FAST|DEREF)|BINARY_OP")


class RangeLoop(NamedTuple):
    """A ``for`` loop over a range, whose variable tells which iteration it is.

    Nothing else stores the variable, and the loop is entered once in each iteration of the loops
    around it.
    """

    place: int  # of the instruction that begins an iteration
    variable: str
    bounds: tuple[dis.Instruction, ...]  # they load the arguments of the range
    is_read: bool  # whether something in the loop reads the variable


class Look(NamedTuple):
    """An instruction at which a value decides."""

    live: frozenset[str]  # variables that may still be read
    loops: tuple[RangeLoop, ...]  # around it, the outermost first
    staying: frozenset[int]  # outcomes behind which the innermost loop may go on
    asks_again: bool  # whether it may look at several values, but for those of ``a < b``


@lru_cache(maxsize=256)
def looks_of(code: CodeType) -> Mapping[int, Look]:
    """Return the looks at values in code, by the place of their instructions.

    Those with something on the stack but the iterators of such loops are not among them: they are
    in the midst of an expression, a ``with`` or another ``for``.
    """
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_flags & _NEVER:
        return {}
    return _Flow(code).looks()


class _Flow:
    """The control flow of code: its instructions, and what may follow each, by number."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._ops: list[dis.Instruction] = []
        self._numbers: dict[int, int] = {}
        for op in dis.get_instructions(code):  # what extends an argument is part of what it extends
            self._numbers[op.offset] = len(self._ops)
            if op.opname != "EXTENDED_ARG":
                self._ops.append(op)
        self._following = [self._behind(k, op) for k, op in enumerate(self._ops)]
        self._depths = self._stack_depths()
        heads = [k for k in self._depths if self._ops[k].opname == "FOR_ITER"]
        self._bodies = {head: self._reachable([head + 1], self._depths[head]) for head in heads}

    def looks(self) -> dict[int, Look]:
        """Return all looks."""
        live = self._live_behind()
        loops = {head: self._range_loop(head) for head in self._bodies}
        found = {}
        for k in self._depths:
            around = self._loops_around(k)
            known = tuple([loop for loop in map(loops.__getitem__, around) if loop])
            if self._rest(k) == len(around) == len(known):
                staying = self._staying(k, around[-1]) if around else frozenset((0, 1))
                offset = self._ops[k].offset
                found[offset] = Look(live[k], known, staying, self._asks_again(k))
        return found

    # ---- what follows what ---------------------------------------------------------------------

    def _behind(self, k: int, op: dis.Instruction) -> list[tuple[int, int]]:
        """Return what may come after an instruction, and how much higher the stack is then."""
        arg = op.arg if op.opcode >= dis.HAVE_ARGUMENT else None
        found = []
        if op.opcode in dis.hasjrel or op.opcode in dis.hasjabs:
            found.append((self._numbers[op.argval], dis.stack_effect(op.opcode, arg, jump=True)))
        ends = op.opname.startswith(("RETURN_", "RAISE_VARARGS", "RERAISE"))
        always = op.opname.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE"))
        if not ends and not always and k + 1 < len(self._ops):
            found.append((k + 1, dis.stack_effect(op.opcode, arg, jump=False)))
        return found

    def _stack_depths(self) -> dict[int, int]:
        """Return how high the stack is before what is reached without an exception."""
        depths: dict[int, int] = {}
        pending = [(0, 0)] if self._ops else []
        while pending:
            k, depth = pending.pop()
            if k not in depths:
                depths[k] = depth
                pending += [(after, depth + effect) for after, effect in self._following[k]]
        return depths

    def _reachable(
        self, starts: Iterable[int], depth: int = 0, without: Collection[int] = ()
    ) -> set[int]:
        """Return what is reached while the stack stays so high, and not by way of some places."""
        reached: set[int] = set()
        pending = [*starts]
        while pending:
            k = pending.pop()
            if k not in reached and k not in without and self._depths[k] >= depth:
                reached.add(k)
                pending += [after for after, _ in self._following[k]]
        return reached

    def _live_behind(self) -> list[frozenset[str]]:
        """Return what is read behind each instruction before something else is stored there."""
        code = self._code
        shared = frozenset((*code.co_cellvars, *code.co_freevars))
        if code.co_exceptiontable:  # handlers of exceptions read variables, too
            return [shared.union(code.co_varnames)] * len(self._ops)
        before = [shared] * len(self._ops)
        behind = list(before)
        changed = True
        while changed:
            changed = False
            for k in range(len(self._ops) - 1, -1, -1):
                behind[k] = shared.union(*(before[after] for after, _ in self._following[k]))
                found = set(behind[k])
                for kind, name in reversed(_accesses(self._ops[k])):
                    (found.add if kind == "LOAD" else found.discard)(name)
                if shared | found != before[k]:
                    before[k], changed = shared | found, True
        return behind

    # ---- loops ---------------------------------------------------------------------------------

    def _loops_around(self, k: int) -> list[int]:
        """Return the beginnings of the ``for`` loops around something, the outermost first."""
        around = [head for head, body in self._bodies.items() if k in body and k != head]
        return sorted(around, key=self._depths.__getitem__)

    def _range_loop(self, head: int) -> RangeLoop | None:
        """Return what is known of a ``for`` loop if it is one over a range."""
        body, enter = self._bodies[head], head - 1
        entries = [k for k in self._depths.keys() - body if head in dict(self._following[k])]
        bounds = self._bounds(enter)
        (kind, variable), *others = _accesses(self._ops[head + 1]) or [("", "")]
        again = self._reachable(
            [after for after, _ in self._following[enter]], without=self._loops_around(head)
        )
        if entries != [enter] or bounds is None or kind != "STORE" or enter in again:
            return None
        others += [x for k in body - {head + 1} for x in _accesses(self._ops[k])]
        stored = {name for kind, name in others if kind != "LOAD"}
        if not stored.isdisjoint({variable, *(name for op in bounds for _, name in _accesses(op))}):
            return None
        is_read = ("LOAD", variable) in others
        return RangeLoop(self._ops[head].offset, variable, bounds, is_read)

    def _bounds(self, enter: int) -> tuple[dis.Instruction, ...] | None:
        """Return what loads the arguments of `range`, of which a loop takes the result at once."""
        call = enter - 1
        if self._ops[enter].opname != "GET_ITER" or self._ops[call].opname != "CALL":
            return None
        found: list[dis.Instruction] = []
        for op in reversed(self._ops[:call]):
            if op.opname == "LOAD_GLOBAL" and op.argval == "range":
                straight = not any(x.is_jump_target for x in (*found, *self._ops[call : enter + 1]))
                return tuple(reversed(found)) if straight else None
            if op.opname != "PRECALL":
                if not _LOADS.match(op.opname):
                    return None
                found.append(op)
        return None

    # ---- looks ---------------------------------------------------------------------------------

    def _rest(self, k: int) -> int | None:
        """Return what a look at a value leaves on the stack but its outcome; None: it is none."""
        op, depth = self._ops[k], self._depths[k]
        if "POP_JUMP" in op.opname:
            return depth - 1
        if op.opname in _LOOKS:
            effect = dis.stack_effect(op.opcode, op.arg if op.arg is not None else None)
            return depth + effect - 1
        return None

    def _asks_again(self, k: int) -> bool:
        """Whether it may look at several values: lists ask for equal elements one by one."""
        op, before = self._ops[k], self._ops[k - 1]
        constant = before.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and not op.is_jump_target
        is_number = constant and isinstance(before.argval, int | float)
        return op.opname == "COMPARE_OP" and not is_number

    def _staying(self, k: int, head: int) -> frozenset[int]:
        """Return the outcomes of a look behind which a loop around it may go on."""
        op = self._ops[k]
        jump = k if "POP_JUMP" in op.opname else k + 1
        found = re.search(r"POP_JUMP.*_IF_(TRUE|FALSE)$", self._ops[jump].opname)
        if op.opname == "UNARY_NOT" or found is None:
            return frozenset((0, 1))
        taken = int(found[1] == "TRUE")
        targets = {taken: self._numbers[self._ops[jump].argval], 1 - taken: jump + 1}
        depth = self._depths[head]
        return frozenset([x for x, k in targets.items() if head in self._reachable([k], depth)])


def _accesses(op: dis.Instruction) -> list[tuple[str, str]]:
    """Return which variables an instruction loads, stores or deletes, in order."""
    kinds = _ACCESSES.findall(op.opname)
    names = op.argval if isinstance(op.argval, tuple) else (op.argval,)
    return list(zip(kinds, names, strict=True)) if kinds else []
