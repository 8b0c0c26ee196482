"""Axis labels: which axis of which operand is which axis of a result, as `einsum` says it.

What a result has at one place along a label follows from what the operands that have this label
have there, and from all of the others; at every place it follows in the same way.  A label that no
result has is gathered up, and along one that no operand has, a result is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.types import ArrayType


class Cut(NamedTuple):
    """An axis whose element i is at the place ``start + step·i`` of the axis of a label."""

    label: int
    start: int
    step: int = 1


Label: TypeAlias = int | Cut | None
"""Of an axis; None if it is mixed, or moved in another way."""
Types: TypeAlias = tuple[ArrayType, ...]
Labels: TypeAlias = tuple[Label, ...]


class Access(NamedTuple):
    """The labels of the axes of an operation's results and operands: one for each axis of each."""

    results: tuple[Labels, ...]
    operands: tuple[Labels, ...]
    # The ufunc that puts together what parts of the operands along a label give, if no result
    # has this label; None if nothing does.  An operation of one operand is its reduction.
    combine: np.ufunc | None = None

    @property
    def reduces(self) -> np.ufunc | None:
        """The ufunc of which an operation of one operand is the reduction, None if it is none."""
        return self.combine if len(self.operands) == 1 else None

    def lengths(self, operands: Types, results: Types) -> dict[int, int]:
        """Return how many places there are along the labels, given the types of both."""
        found: dict[int, int] = {}
        for sides, types in ((self.operands, operands), (self.results, results)):
            for labels, t in zip(sides, types, strict=True):
                found.update((k, n) for k, n in zip(labels, t.shape, strict=True) if type(k) is int)
        return found


def numbers(labels: Labels) -> tuple[int | None, ...]:
    """Return the labels of axes, of those that are cut, too."""
    return tuple([k.label if isinstance(k, Cut) else k for k in labels])


Rule: TypeAlias = Callable[[Any, Types], Access]
"""``rule(p, types)``: the labels of an operation with these parameters and operands."""


def pointwise(_p: Any, types: Types) -> Access:
    """Say that an element of the result follows from those at its place in the operands."""
    labels = tuple(range(types[0].ndim))
    return Access((labels,), (labels,) * len(types))


def along(p: Any, types: Types) -> Access:
    """Say that the same happens along ``p.axis`` at every place of the others."""
    labels = tuple(None if k == p.axis else k for k in range(types[0].ndim))
    return Access((labels,), (labels,) * len(types))


def ending(p: Any, types: Types) -> Access:
    """Say the same as `along` of a result that has not that axis."""
    found = along(p, types)
    return found._replace(results=(found.results[0][: p.axis] + found.results[0][p.axis + 1 :],))


def reducing(ufunc: np.ufunc) -> Rule:
    """Return the rule of what reduces its operands over ``p.axes`` by a ufunc."""

    def rule(p: Any, types: Types) -> Access:
        labels = tuple(range(types[0].ndim))
        kept = tuple(k for k in labels if k not in p.axes)
        return Access((kept,), (labels,) * len(types), ufunc)

    return rule


_STACK: Final = "..."


def signature(text: str) -> Rule:
    """Return the rule that a text tells: ``...`` are leading axes, ``?`` is mixed, others labels.

    ``...??, ...?k -> ...?k`` solves systems.  The last operand may come several times.
    """
    operands, results = (
        [side.strip().removeprefix(_STACK) for side in sides.split(",")]
        for sides in text.split("->")
    )

    def rule(_p: Any, types: Types) -> Access:
        stack = tuple(range(types[0].ndim - len(operands[0])))

        def labels(axes: str) -> Labels:
            return stack + tuple([None if k == "?" else 99 + ord(k) for k in axes])

        every = operands + operands[-1:] * (len(types) - len(operands))
        return Access(tuple(map(labels, results)), tuple(map(labels, every)))

    return rule
