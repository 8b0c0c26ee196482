"""Root causes of nan and inf: traces them back to equations that made them of finite operands."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Var
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.ops.axes.indexing import gather_p, scatter_add_p
from funcdiff.ops.structure.slicing import add_slice_p, slice_p
from funcdiff.ops.structure.structural import Axis, concatenate_p, select_p
from funcdiff.space import Axes

_FEW: Final = 64


class NotFinite(NamedTuple):
    """A variable that is not finite."""

    flags: Any  # which elements are not
    value: Any
    operands: tuple[Any, ...] = ()  # what it was computed from; none of an input
    # The source in a program that its equation holds, if it was found there.
    inner: Root | None = None


class Root(NamedTuple):
    """The source of elements that are not finite: the result of an equation, or an input."""

    program: Program
    variable: Var
    flags: Any  # which of its elements reach the result in question
    found: NotFinite  # all of them


def not_finite(x: Any) -> Any:
    """Return which elements are not finite; None if all are.

    A sum is finite if its terms are, but for overflow, and takes one pass without memory; of a few
    elements, that of the squares takes a fifth of the time.
    """
    if x.dtype.kind not in "fc":
        return None
    if isfinite(np.vdot(x, x).real if x.size <= _FEW else abs(np.add.reduce(x, axis=None))):
        return None
    flags = ~np.isfinite(x)
    return flags if flags.any() else None


def roots(
    program: Program, found: Mapping[int, NotFinite], targets: Mapping[Var, Any]
) -> list[Root]:
    """Return the sources of the flagged elements of `targets`, in order of definition.

    Both tables have a flag for each element of a variable; `found` says what is not finite.
    """
    live = {v.number: flags for v, flags in targets.items()}
    origins: list[Root] = []
    for eq in reversed(program.equations):
        for v in eq.results:
            if v.number not in live:
                continue
            own = live[v.number]
            for k, atom in enumerate(eq.operands):
                if not (isinstance(atom, Var) and atom.number in found):
                    continue
                pulled = _pull_back(eq, k, live[v.number], found[v.number], found[atom.number])
                if pulled.any():
                    live[atom.number] = live.get(atom.number, False) | pulled
                    own = own & ~pulled if eq.primitive.pointwise else np.False_
            if np.any(own):
                origins.append(Root(program, v, own, found[v.number]))
    given = [v for v in reversed(program.inputs) if v.number in live]
    origins += [Root(program, v, live[v.number], found[v.number]) for v in given]
    return origins[::-1]


_WRITTEN: Final[dict[Primitive[Any], Primitive[Any]]] = {
    add_slice_p: slice_p,
    scatter_add_p: gather_p,
}
"""What writes into its first operand, and what reads what was written there."""


def _pull_back(eq: Equation, k: int, flags: Any, result: NotFinite, operand: NotFinite) -> Any:
    """Return which elements of an operand reach these of the result."""
    shape, facts = np.shape(operand.flags), eq.primitive.facts
    if eq.primitive is select_p:
        chosen = result.operands[0]
        return operand.flags & flags & (chosen if k == 1 else np.logical_not(chosen))
    if shape == np.shape(flags) and (
        eq.primitive.pointwise or (eq.primitive in _WRITTEN and k == 0)
    ):
        return operand.flags & flags
    if facts.elements == "moved" or (eq.primitive is gather_p and k == 0):
        places = np.arange(np.size(operand.flags)).reshape(shape)
        pulled = np.zeros(np.size(operand.flags), bool)
        pulled[eq.operation.function(places, *result.operands[1:])[flags]] = True
        return operand.flags & pulled.reshape(shape)
    if eq.primitive in _WRITTEN and k == 1:
        taken = _WRITTEN[eq.primitive].impl(eq.params)(flags, *result.operands[2:])
        return operand.flags & taken
    if eq.primitive is concatenate_p:
        axis = eq.params_as(Axis).axis
        start = sum(atom.type.shape[axis] for atom in eq.operands[:k])
        return operand.flags & np.take(flags, range(start, start + shape[axis]), axis=axis)
    if eq.operation.access.reduces is not None:
        return operand.flags & np.expand_dims(flags, eq.params_as(Axes).axes)
    return operand.flags
