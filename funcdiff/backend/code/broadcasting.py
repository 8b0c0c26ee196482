"""Removes explicit broadcasts where the ufuncs that use them broadcast by themselves.

A broadcast needs no array of its own where everything that uses it computes the shape that the
program states without one.  What stands for it then is a view of its operand with axes of length
1 for those that are new; at the front of the shape these are needed only if nothing else has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program
from funcdiff.space import Broadcast, broadcast_p

Shape: TypeAlias = tuple[int, ...]


def implicit_broadcasts(
    program: Program, broadcasts: Callable[[Equation], bool]
) -> dict[int, Shape]:
    """Return the broadcasts that need no array, and the shapes of the views that stand for them.

    `broadcasts` says whether NumPy broadcasts the operands of an equation by itself, where numbers
    have no axes.
    """
    views = {
        eq.results[0].number: _views(eq)
        for eq in program.equations
        if eq.primitive is broadcast_p and isinstance(eq.operands[0], Var)
    }
    for atom in program.outputs:
        views.pop(_number(atom), None)
    for eq in program.equations:
        used = {_number(atom) for atom in eq.operands}
        # shapes only grow towards the stated ones: an equation that was right stays right
        while not used.isdisjoint(views) and not (broadcasts(eq) and _is_right(eq, views)):
            for number in used & views.keys():
                views[number].pop(0)
                if not views[number]:
                    del views[number]
    return {number: shapes[0] for number, shapes in views.items()}


def _number(atom: Atom) -> int:
    return atom.number if isinstance(atom, Var) else -1


def _views(eq: Equation) -> list[Shape]:
    """Return the shapes that can stand for a broadcast, the quickest to make first."""
    p = eq.params_as(Broadcast)
    aligned = tuple(n if axis in p.axes else 1 for axis, n in enumerate(p.shape))
    first = p.axes[0] if p.axes else len(p.shape)
    return [aligned[first:], aligned] if first else [aligned]


def _is_right(eq: Equation, views: Mapping[int, list[Shape]]) -> bool:
    """Whether the operands make a result of the shape that is stated."""
    shapes = [
        views[atom.number][0] if atom.number in views else atom.type.shape
        for atom in eq.operands
        if isinstance(atom, Var)
    ]
    return np.broadcast_shapes(*shapes) == eq.results[0].type.shape
