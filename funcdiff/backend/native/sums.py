"""Machine code for reductions and products: what gathers up elements along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.native.block_code import Block
from funcdiff.backend.native.formulas import OF_FLOATS, OF_INTEGERS, to_integers
from funcdiff.backend.native.llvm import WIDTH, Vector, where
from funcdiff.backend.native.machine_arrays import (
    Function,
    Index,
    Number,
    Place,
    Pointwise,
    UncoveredError,
    Value,
    View,
    kind_of,
    widest,
)
from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation
from funcdiff.core.types import BOOL
from funcdiff.ops.products.contract import Contraction
from funcdiff.ops.products.masked import MaskedContraction
from funcdiff.ops.structure.structural import Axis
from funcdiff.space import Axes

_WIDE: Final = 4 * WIDTH
"""Numbers that are added to at a time, so that no addition waits for the one before."""
_PIECE: Final = 1024
"""Elements of a row that are added up one after the other; pieces are then added to each other."""

Combine: TypeAlias = Callable[[Vector, Vector], Vector]


class Sums(Block):
    """The equations of a program, reductions and products among them."""

    def reduce_sum(self, eq: Equation) -> Value:
        """Add up elements, or those that a mask takes."""
        return self._reduce(eq, lambda x, y: x + y, 0.0)

    masked_sum = reduce_sum

    def reduce_prod(self, eq: Equation) -> Value:
        """Multiply elements."""
        return self._reduce(eq, lambda x, y: x * y, 1.0)

    def reduce_max(self, eq: Equation) -> Value:
        """Find the largest elements, or a NaN."""
        return self._extremum(eq, np.maximum, -np.inf)

    def reduce_min(self, eq: Equation) -> Value:
        """Find the smallest elements, or a NaN."""
        return self._extremum(eq, np.minimum, np.inf)

    def _extremum(self, eq: Equation, ufunc: np.ufunc, neutral: float) -> Value:
        kind = kind_of(eq.results[0].type)
        if kind == "i1":
            raise UncoveredError(eq)
        return self._reduce(eq, (OF_INTEGERS if kind == "i64" else OF_FLOATS)[ufunc], neutral)

    def reduce_all(self, eq: Equation) -> Value:
        """Find out whether all flags are set."""
        return self._reduce(eq, lambda x, y: x & y, 1.0)

    def reduce_any(self, eq: Equation) -> Value:
        """Find out whether any flag is set."""
        return self._reduce(eq, lambda x, y: x | y, 0.0)

    def reduce_count(self, eq: Equation) -> Value:
        """Count the flags that are set."""
        return self._reduce(eq, lambda so_far, x: so_far + to_integers(x), 0.0)

    def _reduce(self, eq: Equation, combine: Combine, neutral: float) -> Value:
        (v,), axes = eq.results, eq.params_as(Axes).axes
        x, *masks = map(self.value, eq.operands)
        kind = kind_of(v.type)
        if not x.type.size:
            raise UncoveredError(eq)
        if kind == "i64" and math.isinf(neutral):
            limits = np.iinfo(np.int64)
            neutral = limits.max if neutral > 0 else limits.min
        start = Vector(self.code, "", kind, 1).like(neutral)
        self.code.known = {}

        def step(so_far: Vector, place: Place) -> Vector:
            width = so_far.width
            made = combine(so_far, x.at(place, width))
            return where(masks[0].at(place, width), made, so_far) if masks else made

        together = combine if kind != "i64" or x.type.dtype != BOOL else lambda x, y: x + y
        return self._sum_along(v, x.type.shape, axes, step, together, start)

    def argmax(self, eq: Equation) -> Value:
        """Find the first of the largest elements, or the first NaN."""
        return self._position(eq, "ogt")

    def argmin(self, eq: Equation) -> Value:
        """Find the first of the smallest elements, or the first NaN."""
        return self._position(eq, "olt")

    def _position(self, eq: Equation, better: str) -> Value:
        """Find the first extremum along an axis, or the first NaN."""
        code, x, (v,) = self.code, self.value(eq.operands[0]), eq.results
        axis, made = eq.params_as(Axis).axis, list[Value]()
        if kind_of(x.type) not in ("double", "float") or not x.type.size:
            raise UncoveredError(eq)
        result = self.memory(v) if v.type.shape else None

        def once(place: Place) -> None:
            def look(i: Index, carried: list[Vector]) -> list[Vector]:
                best, at = carried
                found = x.at((*place[:axis], i, *place[axis:]), 1)
                nan = found.compare("uno", found) & best.compare("ord", best)
                wins = found.compare(better, best) | nan
                return [where(wins, found, best), where(wins, _integer(code, i), at)]

            code.known = {}
            first = x.at((*place[:axis], 0, *place[axis:]), 1)
            _, at = code.loop(x.type.shape[axis], look, [first, _integer(code, 0)])
            if result is None:
                made.append(Number(at, v.type))
            else:
                result.put(place, at)

        code.nest([n for k, n in enumerate(x.type.shape) if k != axis], once)
        return made[0] if result is None else result

    def cumsum(self, eq: Equation) -> Value:
        """Add up elements along an axis, and keep all sums."""
        code, (v,), axis = self.code, eq.results, eq.params_as(Axis).axis
        x = self.view(eq.operands[0])
        if kind_of(v.type) == "i1":
            raise UncoveredError(eq)
        result = self.memory(v)
        rest = [n for k, n in enumerate(x.type.shape) if k != axis]

        def once(place: Place) -> None:
            def add(i: Index, carried: list[Vector]) -> list[Vector]:
                at = (*place[:axis], i, *place[axis:])
                total = carried[0] + x.at(at, 1)
                result.put(at, total)
                return [total]

            start = Vector(code, "", kind_of(v.type), 1).like(-0.0)
            code.loop(x.type.shape[axis], add, [start])

        code.nest(rest, once)
        return result

    def contract(self, eq: Equation) -> Value:
        """Add up products of elements with equal labels."""
        return self._product(eq, eq.params_as(Contraction), None)

    def masked_contract(self, eq: Equation) -> Value:
        """Add up the products that a mask takes."""
        p = eq.params_as(MaskedContraction)
        return self._product(eq, p, (p.left, p.right)[p.masked])

    def _product(self, eq: Equation, p: Contraction, of_mask: Sequence[int] | None) -> Value:
        """Add up products, of places that a mask takes if there is one."""
        (x, y, *masks), (v,) = eq.operands, eq.results
        lengths = dict(zip(p.left + p.right, x.type.shape + y.type.shape, strict=True))
        sides = [self._by_label(atom, labels) for atom, labels in ((x, p.left), (y, p.right))]
        inner = [k for k in lengths if k not in p.out]
        order = _order(p.out, inner, lengths, [strides for _, strides in sides])
        shape = tuple(lengths[k] for k in order)
        if of_mask is not None:
            sides.append(self._by_label(masks[0], of_mask))
        left, right, *taken = (
            found.view(shape, tuple([strides.get(k, 0) for k in order]))
            if isinstance(found, View)
            else Number(found.number, found.type.with_shape(shape))
            for found, strides in sides
        )
        self.code.known = {}
        if not inner:
            return self._formula_or_memory(
                v, Pointwise(self.code, v.type, _multiply, (left, right, *taken))
            )
        if not prod(shape):
            raise UncoveredError(eq)

        def step(so_far: Vector, place: Place) -> Vector:
            width = so_far.width
            made = left.at(place, width).times_plus(right.at(place, width), so_far)
            return where(taken[0].at(place, width), made, so_far) if taken else made

        start = Vector(self.code, "", kind_of(v.type), 1).like(0.0)
        if start.kind not in ("double", "float"):
            raise UncoveredError(eq)
        axes = [k for k, label in enumerate(order) if label in inner]
        most = WIDTH if taken else _WIDE  # flags are not as wide in registers
        return self._sum_along(v, shape, axes, step, lambda a, b: a + b, start, most)

    def _by_label(self, atom: Atom, labels: Sequence[int]) -> tuple[View | Number, dict[int, int]]:
        """Return an operand, and how far elements are apart along each label."""
        found = self.value(atom)
        if isinstance(found, Number):
            return found, {}
        x = self.view(atom)
        return x, dict(zip(labels, x.strides, strict=True))

    def _sum_along(
        self,
        v: Var,
        shape: Sequence[int],
        axes: Sequence[int],
        step: Callable[[Vector, Place], Vector],
        combine: Combine,
        start: Vector,
        most: int = _WIDE,
    ) -> Value:
        """Gather up what a step adds at places of a shape, along some axes.

        The other axes are those of the result.  If one of them is the last, so many results in a
        row are computed at a time; else each is computed in several parts, which are put together.
        """
        code, kept = self.code, [k for k in range(len(shape)) if k not in axes]
        turned = kept[-1:] != [len(shape) - 1]
        result = self.memory(v) if v.type.shape else None

        def total(fixed: dict[int, Index], so_far: Vector, rest: Sequence[int]) -> Vector:
            def once(i: Index, carried: list[Vector]) -> list[Vector]:
                return [total({**fixed, rest[0]: i}, carried[0], rest[1:])]

            if not rest:
                return step(so_far, tuple([fixed[k] for k in range(len(shape))]))
            if turned and len(rest) == 1:
                return self._row_total(shape[-1], once, combine, so_far, start, most)
            return code.loop(shape[rest[0]], once, [so_far])[0]

        made: list[Value] = []

        def at_place(place: Place) -> None:
            fixed = dict(zip(kept, place, strict=False))
            if turned:
                found = total(fixed, start, axes)
                if result is None:
                    made.append(Number(found, v.type))
                else:
                    result.put(place, found)
                return

            def piece(i: Index, width: int) -> None:
                assert result is not None
                found = total({**fixed, kept[-1]: i}, start.repeat(width), axes)
                result.put((*place, i), found)

            code.across(shape[-1], piece, most=most)

        code.nest([shape[k] for k in (kept if turned else kept[:-1])], at_place)
        return made[0] if result is None else result

    def _row_total(
        self, length: int, once: Any, combine: Combine, so_far: Vector, start: Vector, most: int
    ) -> Vector:
        """Combine the elements of a row: parts of it in lanes, and long rows in pieces."""
        code = self.code

        def piece(first: Index, count: int, total: Vector) -> Vector:
            width = widest(count, most if count >= 4 * most else WIDTH)
            if width > 1:

                def more(i: Index, carried: list[Vector]) -> list[Vector]:
                    made: list[Vector] = once(code.plus(first, i), carried)
                    return made

                (lanes,) = code.loop(count // width, more, [start.repeat(width)], step=width)
                total = combine(total, _combine_lanes(lanes, combine))
            else:
                (total,) = once(first, [total])
            done = count // width * width
            return piece(code.plus(first, done), count - done, total) if count > done else total

        def whole_piece(i: Index, carried: list[Vector]) -> list[Vector]:
            return [piece(i, _PIECE, carried[0])]

        (total,) = code.loop(length // _PIECE, whole_piece, [so_far], step=_PIECE)
        rest = length % _PIECE
        return piece(length - rest, rest, total) if rest else total


def _combine_lanes(x: Vector, combine: Combine) -> Vector:
    """Combine the numbers of a vector: its halves, halves of these, and so on."""
    while x.width > 1:
        half = x.width // 2
        x = combine(x.part(0, half), x.part(half, half))
    return x


def _order(
    out: Sequence[int],
    inner: Sequence[int],
    lengths: dict[int, int],
    strides: Sequence[dict[int, int]],
) -> list[int]:
    """Return the labels of a contraction in the order of loops, that of elements in a row last."""

    def in_a_row(k: int) -> int:
        """How many elements in a row there are, of operands that have some in memory."""
        return lengths[k] if all(side.get(k, 0) in (0, 1) for side in strides) else 1

    best = max(inner, key=in_a_row, default=None)
    last = out[-1] if out else None
    if best is None or (
        last is not None and min(in_a_row(last), WIDTH) >= min(in_a_row(best), WIDTH)
    ):
        return [*inner, *out]
    return [*out, *(k for k in inner if k != best), best]


def _multiply(x: Vector, y: Vector, *masks: Vector) -> Vector:
    made = x & y if x.kind == "i1" else x * y
    return where(masks[0], made, made.like(0.0)) if masks else made


def _integer(code: Function, i: Index) -> Vector:
    return Vector(code, str(i), "i64", 1)
