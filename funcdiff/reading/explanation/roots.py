"""Root causes of nan and inf: traces them back to equations that made them of finite operands."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Var
from funcdiff.core.builder import Builder
from funcdiff.core.evaluate import evaluate
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation, Program
from funcdiff.space import Axes, instantiate

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


def _pull_back(eq: Equation, k: int, flags: Any, result: NotFinite, operand: NotFinite) -> Any:
    """Return which elements of an operand reach these of the result."""
    facts, op = eq.primitive.facts, eq.operation
    linear = range(len(eq.operands))[facts.linear or slice(0)]
    if facts.elements in ("moved", "summed", "added") and k in linear:
        return operand.flags & _reach(eq, k, linear, flags, result.operands)
    if eq.primitive.pointwise and np.shape(operand.flags) == np.shape(flags):
        return operand.flags & flags
    if op.access.reduces is not None:
        return operand.flags & np.expand_dims(flags, eq.params_as(Axes).axes)
    return operand.flags


def _reach(eq: Equation, k: int, linear: range, flags: Any, operands: tuple[Any, ...]) -> Any:
    """Return which elements of an operand the flagged sums have, by the transpose of all sums."""
    types, (y,) = eq.operation.operands, eq.results
    assert eq.primitive.transpose is not None
    with Builder("reach", CLOSED) as builder:
        xs = [None if j in linear else builder.input(t) for j, t in enumerate(types)]
        found = eq.primitive.transpose(eq.params, types, [builder.input(y.type)], xs)
        program = builder.program([instantiate(found[k], types[k])])
    given = [x for j, x in enumerate(operands) if j not in linear]
    return evaluate(program, [*given, np.asarray(flags, y.type.dtype)])[0] != 0
