"""Machine code for equations that hold programs: loops, branches, and conditions to go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from funcdiff.backend.native.block_code import WRITES
from funcdiff.backend.native.formulas import compare_integers, formula
from funcdiff.backend.native.llvm import Vector
from funcdiff.backend.native.machine_arrays import Index, Number, Value, View, store
from funcdiff.backend.native.sums import Sums
from funcdiff.backend.numbers.estimates import cost
from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.guard import Guard
from funcdiff.ops.control.sweeps import Scan, While

FIRST_EXIT: Final = 16
"""What a function returns if it ends at the first of its guards."""

_KEPT: Final = 1 << 24
"""Bytes of rows that a loop of unknown length may keep; NumPy computes one that keeps more."""

_POLLED: Final = 5_000_000
"""Nanoseconds, by an estimate, after which it is asked whether the user interrupts a loop."""


def begin_polling() -> list[str]:
    """Return the instructions that a function begins with which has loops."""
    return ["  %spent = alloca i64", "  store i64 0, ptr %spent"]


class Flow(Sums):
    """The equations of a program that may hold others."""

    def operand(self, atom: Atom) -> Value:
        """Return an operand whose elements are computed."""
        x = self.value(atom)
        return x if isinstance(x, Number) else self.view(atom)

    def _inner(self, program: Program, inputs: Sequence[Value], owned: set[Var]) -> Flow:
        return Flow(self.code, program, [_read(x) for x in inputs], owned)

    # ---- loops -------------------------------------------------------------------------------

    def scan(self, eq: Equation) -> list[Value]:
        """Write a loop of fixed length, whose carry stays where it is."""
        p, code = eq.params_as(Scan), self.code
        operands = [self.operand(atom) for atom in eq.operands]
        constants, starts, xs = p.split(operands)
        state = self._state(eq.results, starts)
        stacks = [self.memory(v) for v in eq.results[p.carries :]]

        def once(i: Index, carried: list[Vector]) -> list[Vector]:
            self._poll(p.body)
            k = self._from_end(i, p.length) if p.reverse else i
            carry = _with_numbers(state, carried)
            rows = [x.row(k) if isinstance(x, View) else _row(x) for x in xs]
            ends = [stack.row(k) for stack in stacks]
            return self._iteration(p.body, (constants, carry, rows), ends)

        numbers = [x.number for x in state if isinstance(x, Number)]
        return [*_with_numbers(state, code.loop(p.length, once, numbers)), *stacks]

    def while_loop(self, eq: Equation) -> list[Value]:
        """Write a loop that runs until its test fails, and those that run as often."""
        p, code = eq.params_as(While), self.code
        constants, starts = p.split([self.operand(atom) for atom in eq.operands])
        carries = [
            self._state(vs, start)
            for vs, start in zip(p.loop.results(eq.results)[0], starts, strict=True)
        ]
        stacks: list[View] = []

        def iterate(k: int, i: Vector, carry: list[Any]) -> list[Vector]:
            """Write an iteration of a sweep, which reads rows and leaves some."""
            self._poll(p.sweeps[k])
            rows = [stack.row(i.text) for stack in stacks]
            types = p.sweeps[k].output_types[len(carry) :]
            made = [code.memory(t.with_shape((self._room(p), *t.shape))) for t in types]
            ends = [stack.row(i.text) for stack in made]
            numbers = self._iteration(p.sweeps[k], (constants, carry, rows), ends)
            stacks.extend(made)
            return numbers

        def test(i: Vector, carry: list[Any]) -> Vector:
            (flag,) = self._inner(p.test, [*constants, *carry], set()).write([None])
            if len(p.sweeps) > 1 and self._room(p):
                self.require(compare_integers("ult", i, i.like(self._room(p))))
            return flag.at((), 1)

        zero = Vector(code, "0", "i64", 1)
        results, count = self._while(zero, carries[0], test, lambda i, c: iterate(0, i, c))
        for k in range(1, len(p.sweeps)):
            last, reverse = count - 1, p.reverse[k]
            ended, _ = self._while(
                zero,
                carries[k],
                lambda i, _carry: compare_integers("ult", i, count),
                lambda i, c, k=k, last=last, reverse=reverse: iterate(  # type: ignore[misc]
                    k, last - i if reverse else i, c
                ),
            )
            results = [*results, *ended]
        return results

    def _room(self, p: While) -> int:
        """Return how many iterations there may be whose rows are kept; 0 if there are no rows."""
        size = sum(
            t.size * t.dtype.itemsize
            for body, n in zip(p.sweeps, p.carries, strict=True)
            for t in body.output_types[n:]
        )
        return max(16, _KEPT // size) if size else 0

    def _while(
        self,
        start: Vector,
        carry: list[View | Number],
        test: Callable[[Vector, list[Any]], Vector],
        body: Callable[[Vector, list[Any]], list[Vector]],
    ) -> tuple[list[Value], Vector]:
        """Write a loop; return the last carry, and the number of iterations."""
        code = self.code
        numbers = [start, *(x.number for x in carry if isinstance(x, Number))]
        before, head, inside, done = code.label, *(code.name()[1:] for _ in range(3))
        code.do(f"br label %{head}")
        code.block(head)
        first = len(code.lines)
        phis = [Vector(code, code.name(), x.kind, 1) for x in numbers]
        carried = _with_numbers(carry, phis[1:])
        flag = test(phis[0], carried)
        code.do(f"br i1 {flag.text}, label %{inside}, label %{done}")
        code.block(inside)
        ends = body(phis[0], carried)
        ends = [phis[0] + 1, *ends]
        code.do(f"br label %{head}")
        code.lines[first:first] = [
            f"  {x.text} = phi {x.type} [ {a.text}, %{before} ], [ {b.text}, %{code.label} ]"
            for x, a, b in zip(phis, numbers, ends, strict=True)
        ]
        code.block(done)
        return carried, phis[0]

    def _state(self, results: Sequence[Var], starts: Sequence[Value]) -> list[View | Number]:
        """Return where the carry of a loop is: numbers, and memory that has its start."""
        state: list[View | Number] = []
        for v, start in zip(results, starts, strict=False):
            if v.type.shape:
                place = self.memory(v)
                store(self.code, start, place)
                state.append(place)
            else:
                state.append(Number(start.at((), 1), v.type))
        return state

    def _iteration(
        self,
        body: Program,
        inputs: tuple[Sequence[Value], Sequence[View | Number], Sequence[Value]],
        ends: Sequence[View],
    ) -> list[Vector]:
        """Write an iteration for constants, carry and rows; return the numbers that it carries."""
        code, (constants, carry, rows) = self.code, inputs
        places = body.inputs[len(constants) : len(constants) + len(carry)]
        inner = self._inner(body, [*constants, *carry, *rows], set(places))
        targets = [
            None
            if isinstance(x, Number) or is_changed_in_place(body, atom, v)
            else code.memory(x.type)
            for x, atom, v in zip(carry, body.outputs, places, strict=False)
        ]
        results = inner.write([*targets, *(end if end.type.shape else None for end in ends)])
        for x, end in zip(results[len(carry) :], ends, strict=True):
            if not end.type.shape:
                end.put((), x.at((), 1))
        for x, found in zip(carry, results, strict=False):
            if isinstance(x, View) and not (isinstance(found, View) and found.base == x.base):
                store(code, found, x)
        return [y.at((), 1) for x, y in zip(carry, results, strict=False) if isinstance(x, Number)]

    def _from_end(self, i: Index, length: int) -> Index:
        return length - 1 - i if isinstance(i, int) else self.code.add(f"sub i64 {length - 1}, {i}")

    def _poll(self, body: Program) -> None:
        """Ask once in a while, by the time that iterations take, whether the user interrupts."""
        code = self.code
        spent = max(1, int(cost(body, is_step).time))
        so_far = code.add("load i64, ptr %spent")
        after = code.add(f"add i64 {so_far}, {spent}")
        code.do(f"store i64 {after}, ptr %spent")
        due = code.add(f"icmp ugt i64 {after}, {_POLLED}")
        ask, on = code.name()[1:], code.name()[1:]
        code.do(f"br i1 {due}, label %{ask}, label %{on}")
        code.block(ask)
        code.do("store i64 0, ptr %spent")
        stopped = code.add("call i1 @interrupted()")
        code.do(f"br i1 {stopped}, label %stop, label %{on}")
        code.block(on)

    # ---- branches ----------------------------------------------------------------------------

    def cond(self, eq: Equation) -> list[Value]:
        """Write the branches of which one runs."""
        code, branches = self.code, eq.params_as(Cond).branches
        index, *inputs = [self.operand(atom) for atom in eq.operands]
        places = [self.memory(v) if v.type.shape else None for v in eq.results]
        labels, done = [code.name()[1:] for _ in branches], code.name()[1:]
        k = index.at((), 1)
        ends: list[tuple[str, list[Value]]] = []
        others = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels[1:-1], 1))
        low = compare_integers("slt", k, k.like(1))
        above = code.name()[1:]
        code.do(f"br i1 {low.text}, label %{labels[0]}, label %{above}")
        code.block(above)
        code.do(f"switch i64 {k.text}, label %{labels[-1]} [ {others} ]")
        for branch, label in zip(branches, labels, strict=True):
            code.block(label)
            made = self._inner(branch, inputs, set()).write(places)
            numbers = [y for y in made if not y.type.shape]
            read: list[Value] = [Number(y.at((), 1), y.type) for y in numbers]
            ends.append((code.label, read))
            code.do(f"br label %{done}")
        code.block(done)
        joined = iter([self._phi(ends, n) for n in range(len(ends[0][1]))])
        return [next(joined) if place is None else place for place in places]

    def _phi(self, ends: Sequence[tuple[str, list[Value]]], n: int) -> Number:
        """Return the number that one of several branches gave."""
        numbers = [(label, values[n].at((), 1)) for label, values in ends]
        first, type_ = numbers[0][1], ends[0][1][n].type
        parts = ", ".join(f"[ {x.text}, %{label} ]" for label, x in numbers)
        return Number(first.emit(f"phi {first.type} {parts}"), type_)

    def guard(self, eq: Equation) -> Value:
        """Go on where the predicate has the outcome; else hand values over, and end."""
        code, p, (predicate, *others) = self.code, eq.params_as(Guard), eq.operands
        x = self.number(predicate)
        number = x if x.kind == "i64" else x.emit(f"zext {x} to i64", "i64")
        as_expected = compare_integers("eq", number, number.like(p.outcome))
        leave, on = code.name()[1:], code.name()[1:]
        code.do(f"br i1 {as_expected.text}, label %{on}, label %{leave}")
        code.block(leave)
        values = [Number(number, ArrayType((), INT)), *map(self.value, others)]
        code.leave(p.number, values, FIRST_EXIT + len(code.exits))
        code.block(on)
        return Number(x, eq.results[0].type)

    def demand(self, eq: Equation) -> Value:
        """Go on where no value is refused."""
        x, refused = eq.operands
        flags = self.values[refused] = self.operand(refused)
        self.code.nest(flags.type.shape, lambda at: self.require(flags.at(at, 1) ^ 1))
        return self.operand(x)

    def checkpoint(self, eq: Equation) -> list[Value]:
        """Write the equations of a program, whatever their derivative is."""
        inputs = [self.operand(atom) for atom in eq.operands]
        body: Program = eq.params.body  # type: ignore[attr-defined]
        return self._inner(body, inputs, set()).write([None for _ in body.outputs])

    custom = checkpoint


def _with_numbers(state: Sequence[View | Number], numbers: Sequence[Vector]) -> list[Any]:
    """Return the carry with other numbers."""
    rest = iter(numbers)
    return [Number(next(rest), x.type) if isinstance(x, Number) else x for x in state]


def _read(x: Value) -> Value:
    """Return an operand of a program: a number where it has no axes."""
    return x if x.type.shape else Number(x.at((), 1), x.type)


def _row(x: Value) -> Value:
    assert isinstance(x, Number)
    return Number(x.number, x.type.with_shape(x.type.shape[1:]))


def is_changed_in_place(body: Program, output: Atom, place: Var) -> bool:
    """Whether a carry is what it was but for some elements, which are written where they are."""
    made = {v: eq for eq in body.equations for v in eq.results}
    users = [atom for eq in body.equations for atom in eq.operands] + list(body.outputs)
    changed = False
    while isinstance(output, Var) and output in made and made[output].primitive.name in WRITES:
        output, changed = made[output].operands[0], True
        if users.count(output) != 1:
            return False
    return changed and output == place


def is_step(eq: Equation) -> bool:
    """Whether NumPy computes an equation."""
    return formula(eq) is None and not hasattr(Flow, eq.primitive.name)
