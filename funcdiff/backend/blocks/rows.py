"""Tells which equations can be computed block by block over the first axis of their operands.

The rows of the result of such an equation follow from the same rows of some of its operands, the
*blocked* ones; of the others, the whole is needed.  Or the equation gathers the rows up, so that
what blocks give can be put together.  It is the labels of axes that tell.
"""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

import numpy as np

from funcdiff.core.access import Label, numbers
from funcdiff.core.program import Equation

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


def rows(eq: Equation) -> Rows | None:
    """Return how an equation works row by row, None if it does not.

    Products that cost more than the reading of the rows are left to BLAS whole.
    """
    if len(eq.results) != 1 or not eq.operands or eq.operation.may_raise:
        return None
    access, size = eq.operation.access, eq.results[0].type.size
    (result,) = access.results
    blocked = _blocked(eq, result[0]) if result else None
    if blocked is not None:
        return Rows(blocked) if all(blocked) or len(blocked) == 1 or _is_cheap(eq) else None
    for labels in access.operands if access.combine is not None and size <= _SMALL_SUM else ():
        blocked = _blocked(eq, labels[0]) if labels and labels[0] not in numbers(result) else None
        if blocked is not None:
            return Rows(blocked, access.combine) if _is_cheap(eq) else None
    return None


def _blocked(eq: Equation, label: Label) -> tuple[bool, ...] | None:
    """Return which operands have a label in front, None if one of them has it elsewhere."""
    sides = eq.operation.access.operands
    blocked = tuple([labels[:1] == (label,) for labels in sides])
    elsewhere = any(label in numbers(labels) and labels[0] != label for labels in sides)
    return blocked if type(label) is int and not elsewhere else None


def _is_cheap(eq: Equation) -> bool:
    """Whether an equation multiplies no more than it takes to read its operands."""
    op = eq.operation
    work = prod(op.access.lengths(op.operands, op.results).values())
    return work <= _FEW_COLUMNS * max(t.size for t in op.operands)
