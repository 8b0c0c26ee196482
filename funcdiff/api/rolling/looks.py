"""Looks at values in bytecode: which variables are live behind each, and which loops are around it.

Both are read off the control flow of the instructions.  A ``for`` loop over a range has its
iterator on the stack, where nobody sees it; but its variable tells which iteration it is.  So does
the counter of a ``while`` loop.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Final, NamedTuple

from funcdiff.api.rolling.control_flow import Flow, Op, access

_LOOKS: Final = frozenset(("COMPARE_OP", "TO_BOOL", "UNARY_NOT"))
"""Instructions that look at a value and leave the outcome on the stack, for the next to take."""

_NEVER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_LOADS: Final = re.compile(r"LOAD_(CONST|SMALL_INT|GLOBAL|FAST|DEREF)")
_ARITIES: Final = {"LOAD_ATTR": 1, "PRECALL": 1, "BINARY_OP": 2, "BINARY_SUBSCR": 2, "CALL": 2}
_NEGATED: Final = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "!=": "==", "==": "!="}
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "==": "=="}


class RangeLoop(NamedTuple):
    """A ``for`` loop over a range, whose variable tells which iteration it is.

    Nothing else stores the variable, and the loop is entered once in each iteration of the loops
    around it.
    """

    place: int  # of the instruction that begins an iteration
    nesting: int  # how many loops are around that, with this one
    variable: str
    bounds: tuple[Op, ...]  # they load the arguments of the range
    is_read: bool  # whether something in the loop reads the variable


class Counter(NamedTuple):
    """A variable that counts the iterations of a ``while`` loop, up or down to a bound.

    Between two comparisons with the bound a step is added to it once.  The loop goes on as long as
    they hold, and nothing else reads or stores the variable.
    """

    place: int  # of the first comparison
    nesting: int  # how many loops are around that, with this one
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
    return _Looks(code).looks()


class _Looks(Flow):
    """Finds the looks at values in code, and the loops around them."""

    def __init__(self, code: CodeType) -> None:
        super().__init__(code)
        heads = [k for k in self._depths if self._ops[k].opname == "FOR_ITER"]
        self._bodies = {
            head: self._reachable([self._first[head + 1]], self._depths[head]) for head in heads
        }

    def looks(self) -> dict[int, Look]:
        """Return all looks."""
        live = self._live_behind()
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
                    look = Look(self._ops[k].offset, self._nesting[k], live[k], every, asks_again)
                    found[self._ops[copy].offset] = look
        return found

    # ---- loops ---------------------------------------------------------------------------------

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
        return RangeLoop(self._ops[head].offset, self._nesting[head], variable, bounds, is_read)

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
            if arity(op) is None:
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
        place = min(places)
        offset, nesting = self._ops[place].offset, self._nesting[place]
        counter = Counter(offset, nesting, variable, step, relation, bounds)
        return _Count(counter, same, places, others, frozenset(flow))

    def _test(
        self, k: int, steps: Collection[int], others: Collection[int]
    ) -> tuple[int, str, tuple[Op, ...]] | None:
        """Return the comparison for which a counter is loaded, by the relation that goes on."""
        first, at = k, k + 1
        while arity(self._ops[at]) is not None:
            at += 1
        is_right = at == k + 1
        values = 1  # that are still to be loaded for the bound, if it comes first
        while is_right and values and first:
            first -= 1
            taken = arity(self._ops[first])
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


def arity(op: Op) -> int | None:
    """Return of how many values an instruction makes one; None if no bound of a loop may have it.

    A bound may be ``2 * n - 1``, ``len(x)`` or ``x.shape[0]``.
    """
    return 0 if _LOADS.match(op.opname) else _ARITIES.get(op.opname)
