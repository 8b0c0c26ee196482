"""Factored stacks: products of matrices with all unit matrices, kept as two smaller stacks.

``X @ W`` of unit matrices W is ``X[n, i]·δ[j, c]``: one factor numbers the rows of W, the other one
its columns.  What is linear and does not mix the axes of the first factor works on the second one
alone, which has as many arrays as W has columns instead of elements: so Hessians of a layer, or
Jacobians by its weights, cost little more than the product that ends them.  The products are
rounded in another order than those of stacked arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Any, Final, TypeAlias

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.products.contract import Contraction, Labels, contract, contract_p
from funcdiff.ops.structure.slicing import Slice, add_slice, add_slice_p, slice_p
from funcdiff.ops.structure.structural import (
    Permutation,
    Shape,
    convert,
    iota,
    permute,
    permute_p,
    reshape,
    reshape_p,
)
from funcdiff.space import (
    Axes,
    Broadcast,
    add_p,
    broadcast,
    broadcast_p,
    kept_axes,
    reduce_sum,
    reduce_sum_p,
    splat,
    zeros,
)


@dataclass(frozen=True, eq=False)
class Factored:
    """A stack of arrays as a product, number ``(i, j)`` being ``first[i]·second[j]``.

    Attributes
    ----------
    shape
        The lengths of the axes that number the arrays: of what the unit vectors are of.
    outer
        Which of these axes the first factor has, in front; the second has the others.
    first
        Has behind these the axes `where` of an array.
    second
        Has all axes of an array.
    where
        The axes of an array that the first factor depends on, in its order.
    """

    shape: tuple[int, ...]
    outer: tuple[int, ...]
    first: Tracer
    second: Tracer
    where: tuple[int, ...]

    @property
    def inner(self) -> tuple[int, ...]:
        """The axes that number the arrays of the second factor."""
        return kept_axes(len(self.shape), self.outer)

    @property
    def size(self) -> int:
        """How many arrays there are."""
        return prod(self.shape)

    @property
    def type(self) -> ArrayType:
        """Of one array of the stack."""
        return self.second.type.with_shape(self.second.shape[len(self.inner) :])

    def labels(self, own: Labels, numbers: Labels) -> tuple[Labels, Labels]:
        """Return labels of both factors, given those of an array and of what numbers arrays."""
        first = (*(numbers[k] for k in self.outer), *(own[axis] for axis in self.where))
        return first, (*(numbers[k] for k in self.inner), *own)

    def with_second(self, second: Tracer, where: Sequence[int] | None = None) -> Factored:
        """Return the stack with another second factor."""
        return replace(self, second=second, where=self.where if where is None else tuple(where))

    def dense(self) -> Tracer:
        """Return the stack as an array."""
        ndim = self.type.ndim
        own, numbers = tuple(range(ndim)), tuple(range(ndim, ndim + len(self.shape)))
        made = contract(self.first, self.second, *self.labels(own, numbers), (*numbers, *own))
        return reshape(made, (self.size, *self.type.shape))


# ---- where factors come from ---------------------------------------------------------------------


def product_of_units(unit: ArrayType, eq: Equation, place: int, matrix: Tracer) -> Factored | None:
    """Return a contraction of all unit vectors of a space, its operand number `place`.

    None if nothing is summed, or they are complex.
    """
    p = eq.params_as(Contraction)
    axes, labels = (p.left, p.right) if place == 0 else (p.right, p.left)
    if unit.dtype.kind != "f":
        return None
    summed = [label for label in axes if label not in p.out]
    if not summed or 1 in unit.shape or 0 in unit.shape:
        return None
    left = [label for label in labels if label not in summed]
    first = permute(matrix, tuple(labels.index(label) for label in (*summed, *left)))
    kept, shape = [label for label in axes if label in p.out], eq.results[0].type.shape
    outer = tuple(axes.index(label) for label in summed)
    where = tuple(p.out.index(label) for label in left)
    inner = tuple(unit.shape[axes.index(label)] for label in kept)
    places = tuple(p.out.index(label) for label in kept)
    second = _unit_arrays(unit.with_shape(inner), shape, places)
    return Factored(unit.shape, outer, first, second, where)


def _unit_arrays(unit: ArrayType, shape: tuple[int, ...], places: tuple[int, ...]) -> Tracer:
    """Return the unit vectors of a type, each repeated: its axes are at `places` of the shape."""
    n, count_ = unit.size, len(unit.shape)
    flat = (n, n)
    matrix = convert(equal(iota(flat, 0), iota(flat, 1)), unit.dtype)
    order = sorted(range(count_), key=lambda k: places[k])
    units = reshape(matrix, (*unit.shape, *unit.shape))
    units = permute(units, (*range(count_), *(count_ + k for k in order)))
    axes = (*range(count_), *(count_ + places[k] for k in order))
    return broadcast(units, (*unit.shape, *shape), axes)


# ---- what is linear ------------------------------------------------------------------------------

Value: TypeAlias = Factored | Tracer


def image(eq: Equation, xs: Sequence[Value]) -> Value | None:
    """Return what an equation makes of stacks with factors, and of arrays that all have in common.

    A stack with factors, one that is an array, or None.
    """
    (result,) = eq.results
    stacks = [x for x in xs if isinstance(x, Factored)]
    if any(x.type.dtype != result.type.dtype for x in stacks):
        return None
    if eq.primitive not in _RULES:
        return _pointwise(eq, xs) if eq.primitive.pointwise else None
    return _RULES[eq.primitive](eq, xs)


def _pointwise(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    """Apply what is linear in a stack to its second factor."""
    stack, *others = (x for x in xs if isinstance(x, Factored))
    if others:
        return None
    ndim, shape = len(stack.inner), stack.second.shape
    axes = tuple(range(ndim, len(shape)))
    operands = [x.second if isinstance(x, Factored) else broadcast(x, shape, axes) for x in xs]
    return stack.with_second(bind(eq.primitive, eq.params, *operands)[0])


def _first(xs: Sequence[Value]) -> Factored:
    x = xs[0]
    assert isinstance(x, Factored)
    return x


def _places(xs: Sequence[Value]) -> list[int]:
    return [k for k, x in enumerate(xs) if isinstance(x, Factored)]


def _add(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    """Add stacks that have the first factor in common."""
    x, y = xs
    if not (isinstance(x, Factored) and isinstance(y, Factored)):
        return _pointwise(eq, xs)
    same = x.first.builder is y.first.builder and x.first.atom == y.first.atom
    if not same or (x.outer, x.where) != (y.outer, y.where):
        return None
    return x.with_second(bind(eq.primitive, eq.params, x.second, y.second)[0])


def _broadcast(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    x = _first(xs)
    p, ndim = eq.params_as(Broadcast), len(x.inner)
    shape = (*x.second.shape[:ndim], *p.shape)
    axes = (*range(ndim), *(ndim + axis for axis in p.axes))
    return x.with_second(broadcast(x.second, shape, axes), [p.axes[axis] for axis in x.where])


def _permute(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    x = _first(xs)
    order, ndim = eq.params_as(Permutation).axes, len(x.inner)
    moved = permute(x.second, (*range(ndim), *(ndim + axis for axis in order)))
    return x.with_second(moved, [order.index(axis) for axis in x.where])


def _reshape(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    """Only axes of length 1 come and go, but for those that the first factor has."""
    x = _first(xs)
    before, after = x.type.shape, eq.params_as(Shape).shape
    long, now = ([k for k, n in enumerate(shape) if n != 1] for shape in (before, after))
    alike = [before[k] for k in long] == [after[k] for k in now]
    if not alike or any(axis not in long for axis in x.where):
        return None
    second = reshape(x.second, (*x.second.shape[: len(x.inner)], *after))
    return x.with_second(second, [now[long.index(axis)] for axis in x.where])


def _slice(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    """Cut both factors, of all arrays."""
    x, p = _first(xs), eq.params_as(Slice)
    boxes = list(zip(p.starts, p.stops, p.steps, strict=True))
    first = _cut(x.first, [boxes[axis] for axis in x.where])
    return replace(x, first=first, second=_cut(x.second, boxes))


def _cut(x: Tracer, boxes: Sequence[tuple[int, int, int]]) -> Tracer:
    """Return an array with its last axes cut."""
    whole = [(0, n, 1) for n in x.shape[: x.ndim - len(boxes)]]
    box = Slice(*zip(*whole, *boxes, strict=True))
    return x if box.lengths == x.shape else bind(slice_p, box, x)[0]


def _add_slice(eq: Equation, xs: Sequence[Value]) -> Factored | None:
    """Pad the second factor along axes that the first one does not have."""
    (x, u), p = xs, eq.params_as(Slice)
    if not (isinstance(u, Factored) and isinstance(x, Tracer) and splat(x) == 0):
        return None
    after = eq.results[0].type.shape
    if any(u.type.shape[axis] != after[axis] for axis in u.where):
        return None
    numbers = u.second.shape[: len(u.inner)]
    boxes = [*((0, n, 1) for n in numbers), *zip(p.starts, p.stops, p.steps, strict=True)]
    place, nothing = Slice(*zip(*boxes, strict=True)), u.second.type.with_shape((*numbers, *after))
    return u.with_second(add_slice(zeros(nothing), u.second, place))


def _sum(eq: Equation, xs: Sequence[Value]) -> Value | None:
    x = _first(xs)
    axes, ndim = eq.params_as(Axes).axes, len(x.inner)
    alone = tuple(axis for axis in axes if axis not in x.where)
    kept = kept_axes(x.type.ndim, alone)
    second = reduce_sum(x.second, tuple(ndim + axis for axis in alone))
    y = x.with_second(second, [kept.index(axis) for axis in x.where])
    if len(alone) == len(axes):
        return y
    own = tuple(range(len(kept)))
    return _product(y, own, tuple(k for k in own if kept[k] not in axes), None)


def _contract(eq: Equation, xs: Sequence[Value]) -> Value | None:
    p, places = eq.params_as(Contraction), _places(xs)
    if len(places) > 1 or not isinstance(xs[1 - places[0]], Tracer):
        return None
    (place,), out = places, p.out
    x, matrix = xs[place], xs[1 - place]
    assert isinstance(x, Factored)
    assert isinstance(matrix, Tracer)
    axes, labels = (p.left, p.right) if place == 0 else (p.right, p.left)
    if any(axes[axis] not in out for axis in x.where):
        return _product(x, axes, out, (matrix, labels))
    numbers = _numbers(x, (*axes, *labels))
    _, second = x.labels(axes, numbers)
    inner = tuple(numbers[k] for k in x.inner)
    made = contract(x.second, matrix, second, labels, (*inner, *out))
    return x.with_second(made, [out.index(axes[axis]) for axis in x.where])


def _numbers(x: Factored, used: Labels) -> Labels:
    free = count(max(used, default=0) + 1)
    return tuple(next(free) for _ in x.shape)


def _product(x: Factored, own: Labels, out: Labels, other: tuple[Tracer, Labels] | None) -> Tracer:
    """Return the contraction of all stacked arrays with another one: of three arrays, at last.

    Two of the three are multiplied first: those whose product has fewest elements.
    """
    numbers = _numbers(x, (*own, *(other[1] if other else ())))
    sides = list(zip((x.first, x.second), x.labels(own, numbers), strict=True))
    sides += [other] if other else []
    out = (*numbers, *out)
    while len(sides) > 2:
        _, pair = min((_size(sides, k, out), k) for k in range(3))
        last = sides.pop(pair)
        (a, left), (b, right) = sides
        kept = _kept(left, right, (*last[1], *out))
        sides = [(contract(a, b, left, right, kept), kept), last]
    (a, left), (b, right) = sides
    # what numbers the arrays stays together, in front or behind, where a product leaves it
    made = contract(a, b, left, right, out)
    return reshape(made, (x.size, *made.shape[len(numbers) :]))


def _kept(left: Labels, right: Labels, needed: Labels) -> Labels:
    return tuple(k for k in dict.fromkeys((*left, *right)) if k in needed)


def _size(sides: Sequence[tuple[Tracer, Labels]], last: int, out: Labels) -> int:
    """Return how many elements the product of all but one has."""
    (a, left), (b, right) = (side for k, side in enumerate(sides) if k != last)
    lengths = dict(zip((*left, *right), (*a.shape, *b.shape), strict=True))
    return prod(lengths[k] for k in _kept(left, right, (*sides[last][1], *out)))


_RULES: Final[dict[Primitive[Any], Callable[..., Factored | Tracer | None]]] = {
    add_p: _add,
    sub.primitive: _add,
    broadcast_p: _broadcast,
    permute_p: _permute,
    reshape_p: _reshape,
    slice_p: _slice,
    add_slice_p: _add_slice,
    reduce_sum_p: _sum,
    contract_p: _contract,
}
"""Default for the others: `_pointwise`, if they are pointwise, or arrays."""
