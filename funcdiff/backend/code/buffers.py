"""Assigns output buffers: lets ufuncs write into arrays of the same call that are dead.

A ufunc writes into an array of its result's type, if one is dead.  Only arrays that ufuncs made
in the same call are written to: never inputs, literals or outputs, and never one into which
something alive may look.  The layout in memory must be the one that NumPy would have chosen,
because the order of a later sum follows it; where that is not certain, NumPy allocates.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Var
from funcdiff.core.liveness import lifetimes
from funcdiff.core.overwriting import is_fresh
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType
from funcdiff.space import broadcast_p

_LINE: Final = -1
"""The layout of every array with one axis that a ufunc has made."""
_NEUTRAL: Final = -2
"""The layout of a broadcast row, which has no say in how NumPy lays a result out."""


class Plan(NamedTuple):
    """Where results go.

    Attributes
    ----------
    buffer
        For each variable, the variable that was the first to hold its memory.
    dying
        For each equation, the variables whose memory nobody needs after it, nor takes over.
    """

    buffer: list[int]
    dying: list[list[int]]


def is_ufunc(eq: Equation) -> bool:
    """Whether an equation is one elementwise NumPy ufunc with one result."""
    function = eq.operation.function
    return isinstance(function, np.ufunc) and function.signature is None and len(eq.results) == 1


def plan(program: Program) -> Plan:
    """Decide which memory every result takes."""
    own, looked_into = lifetimes(program, program.equations, is_fresh)
    count = len(own)
    buffer, layout = list(range(count)), list(range(count))
    types = [v.type for v in program.inputs]
    free: dict[tuple[ArrayType, int], list[int]] = {}
    made: set[int] = set()
    taken: set[int] = set()
    ending: list[list[int]] = [[] for _ in program.equations]
    for number, index in enumerate(looked_into):
        if 0 <= index < len(ending):
            ending[index].append(number)
    for index, eq in enumerate(program.equations):
        types += [v.type for v in eq.results]
        # what dies here may be written to here: where operands overlap, NumPy copies
        for number in ending[index]:
            if number in made:
                free.setdefault((types[number], layout[number]), []).append(number)
        if eq.primitive is broadcast_p and sum(n > 1 for n in eq.operands[0].type.shape) < 2:
            layout[eq.results[0].number] = _NEUTRAL
        if not is_ufunc(eq) or eq.results[0].type.size == 1:  # NumPy is slower to reuse one element
            continue
        (result,) = eq.results
        layout[result.number] = _layout(eq, layout)
        made.add(result.number)
        candidates = free.get((result.type, layout[result.number]))
        if candidates:
            before = candidates.pop()
            taken.add(before)
            buffer[result.number] = buffer[before]
        if looked_into[result.number] == index:  # dead on arrival
            free.setdefault((result.type, layout[result.number]), []).append(result.number)
    dying: list[list[int]] = [[] for _ in program.equations]
    for number, index in enumerate(own):
        if len(program.inputs) <= number and index < len(dying) and number not in taken:
            dying[index].append(number)
    return Plan(buffer, dying)


def _layout(eq: Equation, layout: list[int]) -> int:
    """Return the layout of the result of a ufunc: that of its operands, if they agree."""
    (result,) = eq.results
    if len(result.type.shape) == 1:
        return _LINE
    found = {layout[atom.number] for atom in eq.operands if isinstance(atom, Var)} - {_NEUTRAL}
    return found.pop() if len(found) == 1 else result.number
