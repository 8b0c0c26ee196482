"""Topological sorting of equations that keeps source lines together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from heapq import heappop, heappush

from funcdiff.core.atoms import Atom
from funcdiff.core.program import Program


def drawing_order(program: Program, keys: Sequence[Hashable]) -> list[int]:
    """Return the places of the equations in an order of evaluation that joins equal keys.

    List scheduling from behind: of the equations whose results nothing waits for, one with the key
    of the last is taken, or else the last one of the program.  So what only the derivative of a
    line needs stands with that derivative, and not where it was computed.
    """
    made_by: dict[Atom, int] = {
        v: index for index, eq in enumerate(program.equations) for v in eq.results
    }
    needs = [{made_by[x] for x in eq.operands if x in made_by} for eq in program.equations]
    waiting = [0] * len(needs)
    for operands in needs:
        for index in operands:
            waiting[index] += 1
    ready: defaultdict[Hashable, list[int]] = defaultdict(list)
    of_any: list[int] = []
    for index, users in enumerate(waiting):
        if not users:
            heappush(ready[keys[index]], -index)
            heappush(of_any, -index)
    order: list[int] = []
    taken: set[int] = set()
    while of_any:
        same = ready[keys[order[-1]]] if order else []
        index = -heappop(same or of_any)
        if index in taken:
            continue
        taken.add(index)
        order.append(index)
        for operand in needs[index]:
            waiting[operand] -= 1
            if not waiting[operand]:
                heappush(ready[keys[operand]], -operand)
                heappush(of_any, -operand)
    return order[::-1]
