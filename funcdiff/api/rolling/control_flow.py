"""The flow of control in bytecode: the instructions behind each, and the variables they use."""

from __future__ import annotations

import dis
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import CodeType
from typing import Any, Final, NamedTuple

_ACCESSES: Final = re.compile(r"(LOAD|STORE|DELETE)_(?:FAST|DEREF)")
_JUMPS: Final = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")


class Op(NamedTuple):
    """An instruction; one that loads or stores several variables is several."""

    opname: str
    opcode: int
    arg: int | None
    argval: Any
    argrepr: str
    offset: int
    is_jump_target: bool


class Flow:
    """The instructions of code by number, and what follows each where nothing is raised.

    Instructions behind which the same is done are one: compilers write the condition of a ``while``
    loop before it and at its end.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._ops: list[Op] = []
        self._numbers: dict[int, int] = {}
        for op in dis.get_instructions(code):  # what extends an argument is part of what it extends
            self._numbers[op.offset] = len(self._ops)
            if op.opname != "EXTENDED_ARG":
                self._ops += _singly(op)
        self._following = [self._successors(k, op) for k, op in enumerate(self._ops)]
        self._depths = self._stack_depths()
        self._merge_copies()
        self._nesting = self._loops_around_each()

    def _successors(self, k: int, op: Op) -> list[tuple[int, int]]:
        """Return what may come after an instruction, and how much higher the stack is then."""
        arg = op.arg if op.opcode >= dis.HAVE_ARGUMENT else None
        found = []
        if op.opcode in dis.hasjrel or op.opcode in dis.hasjabs:
            found.append((self._numbers[op.argval], dis.stack_effect(op.opcode, arg, jump=True)))
        ends = op.opname.startswith(("RETURN_", "RAISE_VARARGS", "RERAISE"))
        if not ends and not op.opname.startswith(_JUMPS) and k + 1 < len(self._ops):
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

    def _merge_copies(self) -> None:
        """Let the first of instructions behind which the same is done stand for all."""
        self._first = self._first_of_each()
        self._copies = defaultdict[int, list[int]](list)
        for k in self._depths:
            self._copies[self._first[k]].append(k)
        self._following = [
            [(self._first[after], n) for after, n in self._following[k]] if k in self._first else []
            for k in range(len(self._ops))
        ]
        self._depths = {k: self._depths[k] for k in self._copies}

    def _first_of_each(self) -> dict[int, int]:
        """Return for each instruction the first one behind which the same is done.

        Two are not the same if they do different things, or if what follows them is not.  Handlers
        of exceptions are not looked at: where there are some, all are different.
        """
        if self._code.co_exceptiontable:
            return {k: k for k in self._depths}
        reached = {k: self._arrives(k) for k in self._depths}
        kinds: dict[int, Any] = {k: self._label(k) for k in self._depths}
        count = 0
        while len(set(kinds.values())) > count:
            numbers = {kind: n for n, kind in enumerate(dict.fromkeys(kinds.values()))}
            count = len(numbers)
            kinds = {
                k: (numbers[kinds[k]], *[numbers[kinds[reached[after]]] for after in self._ways(k)])
                for k in kinds
            }
        first: dict[Any, int] = {}
        for k in sorted(set(reached.values())):
            first.setdefault(kinds[k], k)
        return {k: first[kinds[reached[k]]] for k in kinds}

    def _arrives(self, k: int) -> int:
        """Return the instruction to which jumps from another one lead."""
        passed = set()
        while self._ops[k].opname.startswith((*_JUMPS, "NOP", "NOT_TAKEN")) and k not in passed:
            passed.add(k)
            ((k, _),) = self._following[k]
        return k

    def _label(self, k: int) -> tuple[Any, ...]:
        """Return what an instruction does."""
        op = self._ops[k]
        what = access(op) if access(op)[0] else (op.opname, op.arg)
        if op.opcode in dis.hasjrel or op.opcode in dis.hasjabs:
            what = (re.sub("_BACKWARD|_FORWARD|NOT_|FALSE|TRUE", "", op.opname), None)
        return *what, self._depths[k]

    def _ways(self, k: int) -> list[int]:
        """Return what may follow an instruction, behind a condition first what does if it holds."""
        after = [after for after, _ in self._following[k]]
        return after[::-1] if re.search("FALSE|NOT_NONE", self._ops[k].opname) else after

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

    def _behind(self, places: Collection[int], without: Collection[int]) -> set[int]:
        """Return what is reached behind some places, and not by way of others."""
        starts = [after for k in places for after, _ in self._following[k]]
        return self._reachable(starts, without=without)

    def _staying(
        self, k: int, places: Collection[int], depth: int = 0, without: Collection[int] = ()
    ) -> frozenset[int]:
        """Return the outcomes of a look behind which places of a loop may be reached."""
        op = self._ops[k]
        jump = k if "POP_JUMP" in op.opname else k + 1
        found = re.search(r"POP_JUMP.*_IF_(TRUE|FALSE)$", self._ops[jump].opname)
        if op.opname == "UNARY_NOT" or found is None:
            return frozenset((0, 1))
        taken = int(found[1] == "TRUE")
        target = self._numbers[self._ops[jump].argval]
        targets = {taken: self._first[target], 1 - taken: self._first[jump + 1]}
        reached = {x: self._reachable([k], depth, without) for x, k in targets.items()}
        return frozenset([x for x, some in reached.items() if not some.isdisjoint(places)])

    def _is_entered(self, first: int, last: int) -> bool:
        """Whether something jumps into the midst of instructions."""
        return any(
            self._ops[copy].is_jump_target or self._first[copy - 1] != self._first[k - 1]
            for k in range(first + 1, last + 1)
            for copy in self._copies[self._first[k]]
        )

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
                kind, name = access(self._ops[k])
                (found.add if kind == "LOAD" else found.discard)(name)
                if shared | found != before[k]:
                    before[k], changed = shared | found, True
        return behind

    def _loops_around_each(self) -> Mapping[int, int]:
        """Return how many loops an instruction is in; loops begin with their first one in code."""
        before = defaultdict[int, list[int]](list)
        for k in self._depths:
            for after, _ in self._following[k]:
                before[after].append(k)
        found = Counter[int]()
        for head in [k for k in self._depths if any(j >= k for j in before[k])]:
            ahead = self._reachable([head], without=range(head))
            body, pending = set[int](), [head]
            while pending:
                new = ahead.intersection(before[pending.pop()]) - body
                body |= new
                pending += new - {head}
            found.update(body)
        return found


def _singly(op: dis.Instruction) -> list[Op]:
    """Return an instruction, or one for each of the variables that it loads or stores."""
    whole = Op(
        op.opname, op.opcode, op.arg, op.argval, op.argrepr, op.offset, bool(op.is_jump_target)
    )
    kinds = _ACCESSES.findall(op.opname)
    if len(kinds) < 2:
        return [whole]
    single = [
        whole._replace(opname=name, opcode=dis.opmap[name], arg=0, argval=variable)
        for name, variable in zip([f"{kind}_FAST" for kind in kinds], op.argval, strict=True)
    ]
    return [single[0], *(op._replace(is_jump_target=False) for op in single[1:])]


def access(op: Op) -> tuple[str, str]:
    """Return whether an instruction loads, stores or deletes a variable, and which."""
    found = _ACCESSES.match(op.opname)
    return (found[1], op.argval) if found else ("", "")
