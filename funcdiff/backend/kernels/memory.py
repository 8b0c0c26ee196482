"""Allocates the results of a kernel: to memory slots that are reused, or to new arrays.

A result that nobody sees after the call goes to a *slot*: memory that is allocated once, and taken
over by a later result when nobody looks into it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcdiff.backend.blocks.schedule import Region, Step
from funcdiff.backend.code.buffers import is_ufunc
from funcdiff.core.atoms import Var
from funcdiff.core.liveness import lifetimes
from funcdiff.core.overwriting import is_fresh
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType


class Layout(NamedTuple):
    """Where results are.

    Attributes
    ----------
    slot
        For each variable that has one, its slot.
    sizes
        Bytes of each slot.
    dying
        For each step, the variables with memory of their own that nobody looks into afterwards.
    """

    slot: dict[int, int]
    sizes: list[int]
    dying: list[list[int]]


def arrange(
    program: Program,
    steps: Sequence[Step],
    writes: Callable[[Step], bool],
    keeps: Callable[[Step], bool],
) -> Layout:
    """Give slots to the results of the steps.

    Parameters
    ----------
    program
        The program.
    steps
        Its steps in the order in which they run.
    writes
        Whether a step can write its results to given memory.
    keeps
        Whether a step may hold on to its operands after the call.
    """
    last = lifetimes(program, steps, lambda step: writes(step) or _is_fresh(step), keeps).memory
    ending: list[list[int]] = [[] for _ in steps]
    for number, index in enumerate(last):
        if len(program.inputs) <= number and 0 <= index < len(steps):
            ending[index].append(number)
    slots = _Slots()
    dying: list[list[int]] = []
    for index, step in enumerate(steps):
        gone = [number for number in ending[index] if number in slots.of]
        wanted = [v for v in _targets(step) if v.type.shape and v.type.size] if writes(step) else []
        wanted = [v for v in wanted if last[v.number] < len(steps)]
        if isinstance(step, Equation) and is_ufunc(step) and step.results[0].type.size > 1:
            # where operands overlap with the result, NumPy copies: one element always
            slots.release(gone)
        for v in wanted:
            slots.take(v)
        slots.release(gone)
        slots.release([v.number for v in wanted if last[v.number] == index])  # dead on arrival
        dying.append([number for number in ending[index] if number not in slots.of])
    return Layout(slots.of, slots.sizes, dying)


class _Slots:
    """Memory that is given to results and taken back."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}
        self.sizes: list[int] = []
        self._free: dict[int, list[int]] = {}
        self._holder: dict[int, int] = {}

    def take(self, v: Var) -> None:
        """Give a slot to a result."""
        size = _bytes(v.type)
        if self._free.get(size):
            slot = self._free[size].pop()
        else:
            slot = len(self.sizes)
            self.sizes.append(size)
        self.of[v.number] = slot
        self._holder[slot] = v.number

    def release(self, numbers: Sequence[int]) -> None:
        """Take the slots of variables back, from those that hold them still."""
        for number in numbers:
            slot = self.of[number]
            if self._holder.get(slot) == number:
                del self._holder[slot]
                self._free.setdefault(self.sizes[slot], []).append(slot)


def _bytes(type_: ArrayType) -> int:
    return type_.size * type_.dtype.itemsize


def _targets(step: Step) -> Sequence[Var]:
    """Return the results that could be written to given memory."""
    return step.stored if isinstance(step, Region) else step.results


def _is_fresh(step: Step) -> bool:
    return isinstance(step, Region) or is_fresh(step)
