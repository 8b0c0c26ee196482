"""Finds points without a derivative: how far the operands are from the kinks of an operation.

What has no entry here has no kink, or is made of what has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom
from funcdiff.core.program import Equation, Program
from funcdiff.ops.structure.structural import select_p, stop_gradient_p
from funcdiff.reading.explanation.findings import Kink
from funcdiff.reading.explanation.phrases import first_of, phrase
from funcdiff.reading.labels import origin_of

Looked: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Kink | None]
"""Of the operands and results of an equation."""

Gap: TypeAlias = Callable[[Any, Sequence[Any], Any], Any]
"""Of parameters, operands and result: the distances from the nearest kink."""

_NEAR: Final = 0.75
"""The power of the rounding unit, times the largest distance, up to which a kink is near."""


class _Kind(NamedTuple):
    gap: Gap
    convention: str


def _difference(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    x, y = xs
    return np.abs(x - y)


def _from_zero(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(xs[0])


def _of_result(_p: Any, _xs: Sequence[Any], y: Any) -> Any:
    return np.abs(y)


def _from_integer(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(xs[0] - np.rint(xs[0]))


def _from_nonzero_integer(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(xs[0] - np.where(np.abs(xs[0]) < 0.5, np.inf, np.rint(xs[0])))


def _from_half(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(xs[0] - np.floor(xs[0]) - 0.5)


def _from_multiple(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    quotient = xs[0] / xs[1]
    return np.abs(quotient - np.rint(quotient))


def _from_second(p: Any, xs: Sequence[Any], y: Any) -> Any:
    """Return how far all but one of the extreme elements are from the extremum."""
    axes = tuple(p.axes)
    gaps = np.abs(xs[0] - np.expand_dims(y, axes))
    moved = np.moveaxis(gaps, axes, range(len(axes)))
    lines = moved.reshape((-1, *moved.shape[len(axes) :]))
    if len(lines) < 2:
        return np.full(1, np.inf)
    return np.partition(lines, 1, axis=0)[1]


def _between_neighbours(p: Any, _xs: Sequence[Any], y: Any) -> Any:
    return np.abs(np.diff(y, axis=p.axis))


def _between_ranks(p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(np.diff(np.sort(xs[0], axis=p.axis), axis=p.axis))


def _around_ranks(p: Any, xs: Sequence[Any], _y: Any) -> Any:
    """Return how far order statistics are from the nearest of the other elements."""
    x, positions = xs
    gaps = np.diff(np.sort(x, axis=p.axis), axis=p.axis)
    ends = np.full_like(gaps, np.inf, shape=np.take(x, [0], axis=p.axis).shape)
    below, above = (
        np.take_along_axis(np.concatenate(pair, axis=p.axis), positions, axis=p.axis)
        for pair in ((ends, gaps), (gaps, ends))
    )
    return np.minimum(below, above)


def _from_running(p: Any, xs: Sequence[Any], y: Any) -> Any:
    """Return how far elements are from the extremum before them."""
    x, before = np.moveaxis(xs[0], p.axis, 0), np.moveaxis(y, p.axis, 0)
    return np.abs(x[1:] - before[:-1])


_JUMP: Final = "a jump: the derivative is 0 on both sides, and counts as 0"
_SHARED: Final = "equal elements share the derivative equally"
_HALVES: Final = "of equal operands each gets half of the derivative"

_BY_NAME: Final[dict[str, _Kind]] = {
    "absolute fabs": _Kind(_from_zero, "the derivative at 0 counts as 0"),
    "modulus hypot root_of_squares": _Kind(_of_result, "the derivative at 0 counts as 0"),
    "sign heaviside": _Kind(_from_zero, _JUMP),
    "floor ceil": _Kind(_from_integer, _JUMP),
    "trunc": _Kind(_from_nonzero_integer, _JUMP),
    "rint": _Kind(_from_half, _JUMP),
    "floor_divide": _Kind(_from_multiple, _JUMP),
    "remainder fmod": _Kind(_from_multiple, "a jump: the derivative is 1 on both sides"),
    "maximum minimum fmax fmin": _Kind(_difference, _HALVES),
    "reduce_max reduce_min": _Kind(_from_second, _SHARED),
    "running_maximum running_minimum": _Kind(_from_running, _SHARED),
    "sort": _Kind(_between_neighbours, "equal elements keep their order, as in a stable sort"),
    "partition": _Kind(_between_ranks, _SHARED),
    "order_statistics": _Kind(_around_ranks, _SHARED),
}

_COMPARISONS: Final = ("less", "less_equal", "greater", "greater_equal")
_COMPARED: Final = _Kind(
    _difference, "np.where has the derivative of the branch that it takes, on the border too"
)
_LOGIC: Final = frozenset(
    f"{kind}_{word}" for kind in ("logical", "bitwise") for word in ("and", "or", "xor", "not")
) | {"invert", "broadcast", "reshape"}

KINDS: Final[dict[str, _Kind]] = {
    name: kind for names, kind in _BY_NAME.items() for name in names.split()
}


_FLAT: Final = frozenset(name for name, kind in KINDS.items() if kind.convention is _JUMP)


def has_slope(eq: Equation) -> bool:
    """Whether a derivative may go through an equation."""
    real = any(v.type.dtype.kind in "fc" for v in eq.results)
    return real and eq.primitive.name not in _FLAT and eq.primitive is not stop_gradient_p


def lookers(program: Program) -> dict[int, Looked]:
    """Return, by index, what looks for kinks at the equations that have some."""
    deciding = _deciding(program)
    found = {}
    for index, eq in enumerate(program.equations):
        kind = KINDS.get(eq.primitive.name)
        if eq.primitive.name in _COMPARISONS and eq.results[0] in deciding:
            kind = _COMPARED
        same = len(set(eq.operands)) < len(eq.operands)  # the larger of x and x is smooth
        if kind is not None and not same and eq.operands[0].type.dtype.kind in "fc":
            found[index] = _looker(program, eq, kind)
    return found


def _deciding(program: Program) -> set[Atom]:
    """Return the conditions by which `np.where` chooses."""
    found: set[Atom] = set()
    for eq in reversed(program.equations):
        if eq.primitive is select_p:
            found.add(eq.operands[0])
        elif eq.primitive.name in _LOGIC and not found.isdisjoint(eq.results):
            found.update(eq.operands)
    return found


def _looker(program: Program, eq: Equation, kind: _Kind) -> Looked:
    rounding = np.finfo(eq.operands[0].type.dtype).eps ** _NEAR

    def look(xs: Sequence[Any], ys: Sequence[Any]) -> Kink | None:
        gaps = np.asarray(kind.gap(eq.params, xs, ys[0]))
        if not gaps.size:
            return None
        scale = np.max(gaps, where=np.isfinite(gaps), initial=0.0) if gaps.size > 1 else 1.0
        flags = gaps <= rounding * scale
        count = int(np.count_nonzero(flags))
        if not count:
            return None
        met = gaps == 0
        hits = int(np.count_nonzero(met))
        return Kink(
            origin_of(program, eq.results[0]).place, eq.primitive.name, phrase(program, eq),
            kind.convention, hits, count - hits, first_of(met if hits else flags),
        )  # fmt: skip

    return look
