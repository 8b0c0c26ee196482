"""Where a kernel keeps its results: in memory of its own that calls share, or in new arrays.

A result that nobody sees after the call goes to a *slot*: memory that is allocated once, and taken
over by a later result when nobody looks into it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcdiff.backend.buffers import is_ufunc
from funcdiff.backend.schedule import Region, Step
from funcdiff.core.overwriting import FRESH
from funcdiff.core.program import Equation, Program, Var
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
    last = _last_looks(program, steps, writes, keeps)
    ending: list[list[int]] = [[] for _ in steps]
    for number, index in enumerate(last):
        if len(program.inputs) <= number and 0 <= index < len(steps):
            ending[index].append(number)
    slot: dict[int, int] = {}
    sizes: list[int] = []
    free: dict[int, list[int]] = {}
    dying: list[list[int]] = []
    for index, step in enumerate(steps):
        candidates = [
            v
            for v in _targets(step)
            if last[v.number] < len(steps) and v.type.shape and v.type.size
        ]
        early = isinstance(step, Equation) and is_ufunc(step)
        gone = [number for number in ending[index] if number in slot]
        if early and writes(step):  # where operands overlap with the result, NumPy copies
            _release(gone, slot, sizes, free)
        if writes(step):
            for v in candidates:
                size = _bytes(v.type)
                if free.get(size):
                    slot[v.number] = free[size].pop()
                else:
                    slot[v.number] = len(sizes)
                    sizes.append(size)
        if not (early and writes(step)):
            _release(gone, slot, sizes, free)
        # dead on arrival
        _release([v.number for v in _targets(step) if last[v.number] == index and v.number in slot],
                 slot, sizes, free)  # fmt: skip
        dying.append([number for number in ending[index] if number not in slot])
    return Layout(slot, sizes, dying)


def _release(
    numbers: Sequence[int], slot: dict[int, int], sizes: list[int], free: dict[int, list[int]]
) -> None:
    for number in numbers:
        k = slot[number]
        if k not in free.setdefault(sizes[k], []):
            free[sizes[k]].append(k)


def _bytes(type_: ArrayType) -> int:
    return type_.size * type_.dtype.itemsize


def _targets(step: Step) -> Sequence[Var]:
    """Return the results that could be written to given memory."""
    return step.stored if isinstance(step, Region) else step.results


def _last_looks(
    program: Program,
    steps: Sequence[Step],
    writes: Callable[[Step], bool],
    keeps: Callable[[Step], bool],
) -> list[int]:
    """Return for each variable the last step that looks into its memory."""
    count = len(program.inputs) + sum(len(eq.results) for eq in program.equations)
    roots: list[set[int]] = [{k} for k in range(count)]
    last = [-1] * count
    for index, step in enumerate(steps):
        operands = [atom.number for atom in step.operands if isinstance(atom, Var)]
        if not (writes(step) or _is_fresh(step)):
            behind = set[int]().union(*(roots[k] for k in operands))
            for v in step.results:
                roots[v.number] = behind | {v.number}
        until = len(steps) if keeps(step) else index
        for number in (*operands, *(v.number for v in step.results)):
            for root in roots[number]:
                last[root] = max(last[root], until)
    for atom in program.outputs:
        if isinstance(atom, Var):
            for root in roots[atom.number]:
                last[root] = len(steps)
    return last


def _is_fresh(step: Step) -> bool:
    return isinstance(step, Region) or is_ufunc(step) or step.primitive in FRESH
