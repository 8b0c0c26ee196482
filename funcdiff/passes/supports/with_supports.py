"""Extends equations that hold programs so that they compute supports beside their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from funcdiff.core.builder import constant
from funcdiff.core.primitive import Params
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.passes.supports.support import Maybe, Support
from funcdiff.transforms.jvp import Mask


class Supported(NamedTuple):
    """A linear program, simplified, that computes supports, too."""

    program: Program  # ``(*xs, *supports) -> (*ys, *supports)``
    mask: Mask  # which results have a support; the others may be nonzero everywhere


Simplify: TypeAlias = Callable[[Program, Mask, Mask], Supported]
"""``simplify(program, linear, given)``: the linear inputs marked in `given` have a support."""


class Call(NamedTuple):
    """An equation that is about to be recorded."""

    params: Params
    operands: list[Tracer]
    linear: Mask  # in which operands it is linear
    supports: list[Maybe]  # of all operands


class Extended(NamedTuple):
    """An equation that takes supports of operands, and computes those of its results."""

    params: Params
    operands: list[Tracer | Support]
    results: list[int]  # indices of its results proper
    supports: list[int | None]  # index of each result's support, None for everywhere


Restricted: TypeAlias = tuple[Params, list[int], list[int]]
"""An equation restricted to some results: parameters, operands kept, places of the results."""


def select_marked(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return the values that are marked."""
    return [x for x, flag in zip(values, flags, strict=True) if flag]


def with_support(linear: Mask, supports: Sequence[Maybe]) -> Mask:
    """Return which linear operands may differ from zero only in some places."""
    return tuple(flag and s is not True for flag, s in zip(linear, supports, strict=True))


def number_marked(mask: Sequence[bool], first: int) -> list[int | None]:
    """Number what is marked, from `first` on."""
    places = iter(range(first, first + sum(mask)))
    return [next(places) if flag else None for flag in mask]


def wanted_supports(
    ys: Sequence[Tracer], found: Mask, wanted: Sequence[bool], supports: Iterator[Tracer]
) -> list[Tracer]:
    """Return the supports of the results where wanted, True where none was found."""
    return [
        next(supports) if has else constant(True, y.type.with_dtype(BOOL))
        for y, has, want in zip(ys, found, wanted, strict=True)
        if want
    ]
