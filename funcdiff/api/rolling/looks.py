"""Looks at values in bytecode: which variables are live behind each, and which loops are around it.

Both are read off the control flow of the instructions.  A ``for`` loop over a range has its
iterator on the stack, where nobody sees it; but its variable tells which iteration it is.  So does
the counter of a ``while`` loop.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections import Counter as Multiset
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

_LOOKS: Final = frozenset(("COMPARE_OP", "TO_BOOL", "UNARY_NOT"))
"""Instructions that look at a value and leave the outcome on the stack, for the next to take."""

_NEVER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_ACCESSES: Final = re.compile(r"(LOAD|STORE|DELETE)_(?:FAST|DEREF)")
_LOADS: Final = re.compile(r"LOAD_(CONST|SMALL_INT|GLOBAL|FAST|DEREF)")
_JUMPS: Final = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
_TAKEN: Final = {"LOAD_ATTR": 1, "PRECALL": 1, "BINARY_OP": 2, "BINARY_SUBSCR": 2, "CALL": 2}
_NEGATED: Final = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "!=": "==", "==": "!="}
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "==": "=="}


class Op(NamedTuple):
    """An instruction; one that loads or stores several variables is several."""

    opname: str
    opcode: int
    arg: int | None
    argval: Any
    argrepr: str
    offset: int
    is_jump_target: bool


class RangeLoop(NamedTuple):
    """A ``for`` loop over a range, whose variable tells which iteration it is.

    Nothing else stores the variable, and the loop is entered once in each iteration of the loops
    around it.
    """

    place: int  # of the instruction that begins an iteration
    variable: str
    bounds: tuple[Op, ...]  # they load the arguments of the range
    is_read: bool  # whether something in the loop reads the variable


class Counter(NamedTuple):
    """A variable that counts the iterations of a ``while`` loop, up or down to a bound.

    Between two comparisons with the bound a step is added to it once.  The loop goes on as long as
    they hold, and nothing else reads or stores the variable.
    """

    place: int  # of the first comparison
    variable: str
    step: int
    relation: str
    bounds: tuple[Op, ...]  # they load the bound

    @property
    def is_read(self) -> bool:
        """Whether something but the comparison reads it."""
        return False


class _Count(NamedTuple):
    """A counter in the flow of control, by numbers of instructions."""

    counter: Counter
    steps: frozenset[int]  # they store it with a step added
    tests: frozenset[int]  # they compare it
    others: frozenset[int]  # they store something else there
    flow: frozenset[int]  # what is reached from the steps before that


class Around(NamedTuple):
    """A loop around a look."""

    loop: RangeLoop | Counter
    staying: frozenset[int]  # outcomes of the look behind which the loop may go on
    ahead: int = 0  # what is added to the counter before it is compared


class Look(NamedTuple):
    """An instruction at which a value decides."""

    place: int  # of the first instruction behind which the same is done
    nesting: int  # how many loops are around it, of all kinds
    live: frozenset[str]  # variables that may still be read
    loops: tuple[Around, ...]  # around it, the outermost first
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
    """The control flow of code: its instructions, and what may follow each, by number.

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
        heads = [k for k in self._depths if self._ops[k].opname == "FOR_ITER"]
        self._bodies = {
            head: self._reachable([self._first[head + 1]], self._depths[head]) for head in heads
        }

    def looks(self) -> dict[int, Look]:
        """Return all looks."""
        live, nesting = self._live_behind(), self._nesting()
        loops = {head: self._range_loop(head) for head in self._bodies}
        counts = self._counts()
        found = {}
        for k in self._depths:
            heads = self._loops_around(k)
            around = [
                Around(loop, self._staying(k, {head}, self._depths[head]))
                for head in heads
                if (loop := loops[head])
            ]
            if self._rest(k) == len(heads) == len(around):
                every = self._with_counters(k, heads, around, counts)
                for copy in self._copies[k]:
                    asks_again = self._asks_again(copy)
                    look = Look(self._ops[k].offset, nesting[k], live[k], every, asks_again)
                    found[self._ops[copy].offset] = look
        return found

    # ---- what follows what ---------------------------------------------------------------------

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
        while self._goes_on(k) and k not in passed:
            passed.add(k)
            ((k, _),) = self._following[k]
        return k

    def _goes_on(self, k: int) -> bool:
        return self._ops[k].opname.startswith((*_JUMPS, "NOP"))

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

    # ---- loops ---------------------------------------------------------------------------------

    def _nesting(self) -> Mapping[int, int]:
        """Return how many loops an instruction is in; loops begin with their first one in code."""
        before = defaultdict[int, list[int]](list)
        for k in self._depths:
            for after, _ in self._following[k]:
                before[after].append(k)
        found = Multiset[int]()
        for head in [k for k in self._depths if any(j >= k for j in before[k])]:
            ahead = self._reachable([head], without=range(head))
            body, pending = set[int](), [head]
            while pending:
                new = ahead.intersection(before[pending.pop()]) - body
                body |= new
                pending += new - {head}
            found.update(body)
        return found

    def _loops_around(self, k: int) -> list[int]:
        """Return the beginnings of the ``for`` loops around something, the outermost first."""
        around = [head for head, body in self._bodies.items() if k in body and k != head]
        return sorted(around, key=self._depths.__getitem__)

    def _range_loop(self, head: int) -> RangeLoop | None:
        """Return what is known of a ``for`` loop if it is one over a range."""
        body, enter = self._bodies[head], self._first[head - 1]
        entries = [k for k in self._depths.keys() - body if head in dict(self._following[k])]
        bounds = self._bounds(enter)
        store = self._first[head + 1]
        kind, variable = access(self._ops[store])
        again = self._reachable(
            [after for after, _ in self._following[enter]], without=self._loops_around(head)
        )
        if entries != [enter] or bounds is None or kind != "STORE" or enter in again:
            return None
        others = [access(self._ops[k]) for k in body - {store}]
        stored = {name for kind, name in others if kind != "LOAD"}
        if not stored.isdisjoint({variable, *(name for _, name in map(access, bounds))} - {""}):
            return None
        is_read = ("LOAD", variable) in others
        return RangeLoop(self._ops[head].offset, variable, bounds, is_read)

    def _bounds(self, enter: int) -> tuple[Op, ...] | None:
        """Return what loads the arguments of `range`, of which a loop takes the result at once."""
        call = enter - 1
        if self._ops[enter].opname != "GET_ITER" or self._ops[call].opname != "CALL":
            return None
        found: list[Op] = []
        for op in reversed(self._ops[:call]):
            if op.opname == "LOAD_GLOBAL" and op.argval == "range":
                is_entered = self._is_entered(call - len(found) - 1, enter)
                return None if is_entered else tuple(reversed(found))
            if taken_by(op) is None:
                return None
            found.append(op)
        return None

    # ---- counters ------------------------------------------------------------------------------

    def _counts(self) -> Collection[_Count]:
        """Return the counters of ``while`` loops."""
        if self._code.co_exceptiontable:  # handlers of exceptions read variables, too
            return ()
        steps = {k: step for k in self._depths if (step := self._step(k))}
        found = [self._count(k, steps) for k in steps]
        return {count.steps: count for count in found if count}.values()

    def _step(self, k: int) -> tuple[str, int] | None:
        """Return the variable to which an instruction adds a number, and the number."""
        if k < 3 or self._ops[k].opname != "STORE_FAST" or self._is_entered(k - 3, k):
            return None
        x, number, add, store = self._ops[k - 3 : k + 1]
        sign = {"+": 1, "+=": 1, "-": -1, "-=": -1}.get(add.argrepr, 0)
        is_number = number.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(number.argval) is int
        if access(x) != ("LOAD", store.argval) or not is_number or not sign * number.argval:
            return None
        return store.argval, sign * number.argval

    def _count(self, k: int, steps: Mapping[int, tuple[str, int]]) -> _Count | None:
        """Return what counts by the step at an instruction.

        Its value is read by what is reached before something else is stored there.
        """
        variable, step = steps[k]
        kinds = {
            j: kind for j in self._depths for kind, x in [access(self._ops[j])] if x == variable
        }
        others = frozenset(
            [j for j, x in kinds.items() if x != "LOAD" and steps.get(j) != steps[k]]
        )
        flow = self._behind({k}, others)
        same = frozenset([j for j in flow if steps.get(j) == steps[k]])
        loads = {self._first[j - 3] for j in same}
        reads = [j for j in flow if kinds.get(j) == "LOAD" and j not in loads]
        tests = [self._test(j, same, others) for j in reads]
        if k not in flow or len({test and test[1:] for test in tests}) != 1 or tests[0] is None:
            return None
        _, relation, bounds = tests[0]
        places = frozenset([self._first[test[0]] for test in tests if test])
        again = self._behind(places, others | same) & places
        again |= self._behind(same, others | places) & same
        stored = {x for j in flow for kind, x in [access(self._ops[j])] if kind not in ("", "LOAD")}
        if again or not stored.isdisjoint(x for _, x in map(access, bounds)):
            return None
        place = min(self._ops[j].offset for j in places)
        counter = Counter(place, variable, step, relation, bounds)
        return _Count(counter, same, places, others, frozenset(flow))

    def _test(
        self, k: int, steps: Collection[int], others: Collection[int]
    ) -> tuple[int, str, tuple[Op, ...]] | None:
        """Return the comparison for which a counter is loaded, by the relation that goes on."""
        first, at = k, k + 1
        while taken_by(self._ops[at]) is not None:
            at += 1
        is_right = at == k + 1
        values = 1  # that are still to be loaded for the bound, if it comes first
        while is_right and values and first:
            first -= 1
            taken = taken_by(self._ops[first])
            if taken is None:
                return None
            values += taken - 1
        if self._ops[at].opname != "COMPARE_OP" or self._is_entered(first, at + 1):
            return None
        staying = self._staying(at, steps, without=others)
        if len(staying) != 1:
            return None
        relation = self._ops[at].argval
        if is_right:
            relation = _MIRRORED[relation]
        if staying == {0}:
            relation = _NEGATED[relation]
        bounds = self._ops[first:k] if is_right else self._ops[k + 1 : at]
        plain = [op._replace(offset=0, is_jump_target=False) for op in bounds]
        return at, relation, tuple(plain)

    def _is_entered(self, first: int, last: int) -> bool:
        """Whether something jumps into the midst of instructions."""
        return any(
            self._ops[copy].is_jump_target or self._first[copy - 1] != self._first[k - 1]
            for k in range(first + 1, last + 1)
            for copy in self._copies[self._first[k]]
        )

    def _behind(self, places: Collection[int], without: Collection[int]) -> set[int]:
        """Return what is reached behind some places, and not by way of others."""
        starts = [after for k in places for after, _ in self._following[k]]
        return self._reachable(starts, without=without)

    def _with_counters(
        self, k: int, heads: Sequence[int], ranges: Iterable[Around], counts: Iterable[_Count]
    ) -> tuple[Around, ...]:
        """Return the loops around a look, with the ``while`` loops that have counters."""
        ranked = [((depth, 0), loop) for depth, loop in enumerate(ranges, 1)]
        for counter, steps, tests, others, flow in counts:
            is_step_next = not steps.isdisjoint(self._behind({k}, others | tests))
            is_test_next = not tests.isdisjoint(self._behind({k}, others | steps))
            if k in flow and is_step_next != is_test_next:
                depth = sum(not steps.isdisjoint(self._bodies[head]) for head in heads)
                comes_back = k in self._behind({k}, others | steps)  # in a loop within
                staying = self._staying(k, steps | tests, without=others)
                loop = Around(counter, staying, counter.step * is_step_next)
                ranked.append(((depth, 1 if comes_back else 2), loop))
        return tuple([loop for _, loop in sorted(ranked, key=lambda pair: pair[0])])

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


def taken_by(op: Op) -> int | None:
    """Return of how many values an instruction makes one; None if no bound of a loop may have it.

    A bound may be ``2 * n - 1``, ``len(x)`` or ``x.shape[0]``.
    """
    return 0 if _LOADS.match(op.opname) else _TAKEN.get(op.opname)


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
