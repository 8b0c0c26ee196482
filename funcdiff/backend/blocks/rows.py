"""Tells which equations can be computed block by block over the first axis of their operands.

The rows of the result of such an equation follow from the same rows of some of its operands, the
*blocked* ones; of the others, the whole is needed.  Or the equation sums the rows up, so that the
sums of blocks can be put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.primitive import Params, Primitive
from funcdiff.core.program import Equation
from funcdiff.ops.products.contract import Contraction, arrangement, contract_p, lengths
from funcdiff.ops.structure.structural import Permutation, Shape, permute_p, reshape_p
from funcdiff.space import Axes, Broadcast, broadcast_p

_FEW_COLUMNS: Final = 4
"""Columns up to which a matrix product costs the reading of its blocked operand."""
_SMALL_SUM: Final = 1 << 12
"""Elements up to which the sums of all blocks are kept."""


class Rows(NamedTuple):
    """How an equation works row by row.

    Attributes
    ----------
    blocked
        For each operand, whether its rows are needed, and not the whole.
    combine
        None if the result has rows; else the ufunc that puts the results of blocks together.
    """

    blocked: tuple[bool, ...]
    combine: np.ufunc | None = None


Rule: TypeAlias = Callable[[Equation], Rows | None]

_ONE: Final = Rows((True,))
_WHOLE: Final = Rows((False,))


def rows(eq: Equation) -> Rows | None:
    """Return how an equation works row by row, None if it does not."""
    if eq.primitive.facts.pointwise:
        return Rows((True,) * len(eq.operands)) if eq.results[0].type.shape else None
    if eq.primitive.facts.reduces is not None:
        return _reduction(eq, eq.primitive.facts.reduces)
    rule = _RULES.get(eq.primitive)
    return rule(eq) if rule else None


def _broadcast(eq: Equation) -> Rows | None:
    p = eq.params_as(Broadcast)
    return _ONE if p.axes[:1] == (0,) else _WHOLE


def _reshape(eq: Equation) -> Rows | None:
    before, after = eq.operands[0].type.shape, eq.results[0].type.shape
    return _ONE if before[:1] == after[:1] != () else None


def _permute(eq: Equation) -> Rows | None:
    p = eq.params_as(Permutation)
    return _ONE if p.axes[:1] == (0,) else None


def _reduction(eq: Equation, ufunc: np.ufunc) -> Rows | None:
    p = eq.params_as(Axes)
    if 0 not in p.axes:
        return _ONE
    return Rows((True,), ufunc) if eq.results[0].type.size <= _SMALL_SUM else None


def _contract(eq: Equation) -> Rows | None:
    """Products that cost no more than the reading of the rows; others are left to BLAS whole."""
    p = eq.params_as(Contraction)
    x, y = (atom.type for atom in eq.operands)
    out, first, size = eq.results[0].type.size, p.out[:1], lengths(p, x.shape, y.shape)
    most = _FEW_COLUMNS * max(x.size, y.size)
    if p.left[:1] == p.right[:1] != ():
        if p.left[:1] == first:
            return Rows((True, True))
        few = p.left[0] not in p.out and out <= _SMALL_SUM and out * size[p.left[0]] <= most
        return Rows((True, True), np.add) if few else None
    few = out * prod(size[label] for label in arrangement(p).inner) <= most
    for own, other, blocked in ((p.left, p.right, True), (p.right, p.left, False)):
        if few and own[:1] == first != () and first[0] not in other:
            return Rows((blocked, not blocked))
    return None


_RULES: Final[dict[Primitive[Any], Rule]] = {
    broadcast_p: _broadcast,
    reshape_p: _reshape,
    permute_p: _permute,
    contract_p: _contract,
}
"""Default for the others: None."""


def of_rows(eq: Equation, count: int) -> Params:
    """Return the parameters of an equation when it works on blocks of so many rows."""
    if isinstance(eq.params, Broadcast | Shape):
        return replace(eq.params, shape=(count, *eq.params.shape[1:]))
    return eq.params
