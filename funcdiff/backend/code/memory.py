"""Memory allocation: assigns memory to the results of a program, and reuses that of dead ones.

Memory is a *slot*, which one result after the other is written to, and which a kernel keeps from
call to call.  Without it 60 workloads take 1.1 times as long with NumPy, a chain of tanh (n =
100000) 1.9 times.  Compiled source leaves its memory to NumPy, which is as quick with it.

Only what was written to a slot is overwritten: never inputs, literals or what may be seen after
the call, and never what something alive may look into.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcdiff.backend.blocks.schedule import Grouped as Step
from funcdiff.backend.code.formulas import is_ufunc
from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.dataflow import is_fresh, lifetimes


class Memory(NamedTuple):
    """Where results are."""

    slot: dict[int, int]  # by variable that has one, in the order of steps
    # For each step: variables whose memory nobody needs, or takes over, after it.
    dying: list[list[int]]


def between_calls(
    program: Program,
    steps: Sequence[Step],
    writes: Callable[[Step], bool],
    keeps: Callable[[Step], bool],
) -> Memory:
    """Return where a kernel, which keeps its memory from call to call, writes its results.

    `writes` says whether a step can write to given memory, `keeps` whether it may hold on to its
    operands after the call.
    """
    own, last = lifetimes(program, steps, lambda step: writes(step) or _is_fresh(step), keeps)
    ending, dying = _by_step(last, program, steps), _by_step(own, program, steps)
    slots = _Slots()
    for index, step in enumerate(steps):
        gone = [number for number in ending[index] if number in slots.of]
        targets = step.results if isinstance(step, Equation) else step.stored
        wanted = [v for v in targets if _size(v)] if writes(step) else []
        wanted = [v for v in wanted if last[v.number] < len(steps)]
        if isinstance(step, Equation) and is_ufunc(step) and step.results[0].type.size > 1:
            # where operands overlap with the result, NumPy copies: one element always
            slots.release(gone)
        for v in wanted:
            slots.take(v)
        slots.release(gone)
        slots.release([v.number for v in wanted if last[v.number] == index])  # dead on arrival
    return Memory(slots.of, [[k for k in numbers if k not in slots.of] for numbers in dying])


def _size(v: Var) -> int:
    """Return how many bytes an array has; single numbers are given no memory."""
    return v.type.nbytes if v.type.shape else 0


def _by_step(last: list[int], program: Program, steps: Sequence[Step]) -> list[list[int]]:
    """Return the results that are last used by each step."""
    found: list[list[int]] = [[] for _ in steps]
    for number, index in enumerate(last):
        if len(program.inputs) <= number and 0 <= index < len(steps):
            found[index].append(number)
    return found


class _Slots:
    """Memory that is given to results and taken back."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}
        self._free: dict[int, list[int]] = defaultdict(list)  # by size
        self._holder: list[Var] = []
        self._held: set[int] = set()

    def take(self, v: Var) -> None:
        """Give a slot to a result."""
        free = self._free[_size(v)]
        if free:
            slot = free.pop()
            self._holder[slot] = v
        else:
            slot = len(self._holder)
            self._holder.append(v)
        self.of[v.number] = slot
        self._held.add(v.number)

    def release(self, numbers: Sequence[int]) -> None:
        """Take the slots of variables back, from those that hold them still."""
        for number in numbers:
            if number in self._held:
                self._held.remove(number)
                slot = self.of[number]
                self._free[_size(self._holder[slot])].append(slot)


def _is_fresh(step: Step) -> bool:
    """Whether results are in memory of their own; what may be written in place is where it was."""
    if not isinstance(step, Equation):
        return True
    stays = step.primitive.implementation.in_place is not None and isinstance(step.operands[0], Var)
    return is_fresh(step) and not stays
