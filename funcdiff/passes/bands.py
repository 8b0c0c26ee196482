"""Computes Jacobians that are banded by their diagonals instead of as full matrices.

A Jacobian pushes all unit vectors through a linear program at once, as the rows of a unit matrix.
Elementwise operations keep such a matrix diagonal, slices and padding shift the diagonal, sums make
some of it.  On ``size`` rows of ``n`` columns they take ``n`` operations for each diagonal instead
of ``size · n``; a product with a matrix takes as many as the matrix has elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal, Var
from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import following, made_by
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.ops.structure.slicing import Slice, add_slice, add_slice_p, slice_along, slice_p
from funcdiff.ops.structure.structural import (
    Shape,
    permute,
    reshape,
    reshape_p,
)
from funcdiff.passes import factored
from funcdiff.passes.factored import Factored
from funcdiff.space import (
    Axes,
    add,
    add_p,
    broadcast,
    broadcast_p,
    mul,
    neg,
    reduce_sum_p,
    splat,
    zeros,
)

MOST: Final = 8
"""Diagonals up to which a matrix is kept by them."""


@dataclass(frozen=True, eq=False)
class Bands:
    """A stack of `size` arrays, each element of which differs from zero in few of them.

    Attributes
    ----------
    size
        How many arrays there are.
    diagonals
        By offset, an array: its element number ``c`` is what array number ``c + offset`` of the
        stack has there, if there is one of that number.
    """

    size: int
    diagonals: dict[int, Tracer]

    @property
    def type(self) -> ArrayType:
        """Of one array of the stack."""
        return next(iter(self.diagonals.values())).type

    @property
    def is_unit(self) -> bool:
        """Whether the arrays are the unit vectors of their space."""
        return self.size == self.type.size and [
            (offset, splat(v)) for offset, v in self.diagonals.items()
        ] == [(0, 1)]

    def map_diagonals(self, function: Callable[[Tracer], Tracer], shift: int = 0) -> Bands:
        """Return the stack with a function applied to every diagonal."""
        return Bands(self.size, {k + shift: function(v) for k, v in self.diagonals.items()})

    def within(self, offset: int) -> tuple[int, int]:
        """Return the first and last element of a diagonal, exclusive, that some array has."""
        return max(0, -offset), max(0, -offset, min(self.type.size, self.size - offset))

    def dense(self) -> Tracer:
        """Return the stack as an array."""
        n = self.type.size
        flat = zeros(ArrayType((self.size * n,), self.type.dtype))
        for offset, v in self.diagonals.items():
            first, end = self.within(offset)
            if first < end:
                start = first * (n + 1) + offset * n
                place = Slice((start,), (start + (end - first - 1) * (n + 1) + 1,), (n + 1,))
                flat = add_slice(flat, slice_along(reshape(v, (n,)), 0, first, end), place)
        return reshape(flat, (self.size, *self.type.shape))


Stack: TypeAlias = Bands | Factored
Value: TypeAlias = Tracer | Stack


def unit_vectors(types: Sequence[ArrayType]) -> list[Bands]:
    """Return the unit vectors of a space of several arrays, by array."""
    size = sum(t.size for t in types)
    starts = np.cumsum([0, *(t.size for t in types)]).tolist()
    return [
        Bands(size, {start: constant(1, t)}) for start, t in zip(starts[:-1], types, strict=True)
    ]


def images(program: Program, operands: Sequence[Value]) -> list[Tracer]:
    """Record a linear program of stacks of arrays; return the images as arrays.

    The rules use that what differs from zero nowhere is zero: 0 · inf = 0.
    """
    env: list[Value] = list(operands)
    arrays: dict[Stack, Tracer] = {}

    def dense(x: Value) -> Tracer:
        if isinstance(x, Tracer):
            return x
        if x not in arrays:
            arrays[x] = x.dense()
        return arrays[x]

    def read(atom: Any) -> Value:
        return env[atom.number] if isinstance(atom, Var) else constant(atom.value, atom.type)

    def rule(eq: Equation, xs: Sequence[Value]) -> Sequence[Value]:
        y = _image(eq, xs)
        return bind(eq.primitive, eq.params, *map(dense, xs)) if y is None else [y]

    image = following(program, operands, rule, derives=True)
    for eq in program.equations:
        env += image(eq, [read(atom) for atom in eq.operands])
    return [dense(read(atom)) for atom in program.outputs]


def _image(eq: Equation, xs: Sequence[Value]) -> Value | None:
    """Return the result of an equation if it can be had from diagonals, or from factors."""
    if any(isinstance(x, Factored) for x in xs):
        return factored.image(eq, xs, _repeated_array)
    stacks = [x for x in xs if isinstance(x, Bands)]
    rule = _rules.get(eq.primitive, _pointwise if eq.primitive.facts.pointwise else None)
    if rule is None or not stacks or not all(x.type.size for x in stacks):
        return None
    y = rule(stacks[0].size, eq, *xs)
    return None if isinstance(y, Bands) and len(y.diagonals) > MOST else y


def _repeated_array(x: Value, shape: tuple[int, ...]) -> Tracer | None:
    """Return the array of a given shape that a stack repeats, if it does."""
    if not isinstance(x, Tracer):
        return None
    if isinstance(x.atom, Literal):
        return constant(x.atom.value, x.type.with_shape(shape))
    found = made_by(x, broadcast_p)
    if found is None or 0 in found[0].axes:
        return None
    return broadcast(found[1][0], shape, tuple(axis - 1 for axis in found[0].axes))


# ---- what is elementwise -------------------------------------------------------------------------


def _pointwise(_size: int, eq: Equation, *xs: Value) -> Value | None:
    """Apply an operation, which is linear in a stack, to every diagonal, if all else is repeated.

    What is added to a stack, and is repeated, is zero: the operation would not be linear else.
    """
    place = next(k for k, x in enumerate(xs) if isinstance(x, Bands))
    stack, others = xs[place], [*xs[:place], *xs[place + 1 :]]
    assert isinstance(stack, Bands)
    arrays = [array for x in others if (array := _repeated_array(x, stack.type.shape)) is not None]
    if len(arrays) < len(others):
        return None

    def image(v: Tracer) -> Tracer:
        operands = (*arrays[:place], v, *arrays[place:])
        return bind(eq.primitive, eq.params, *operands)[0]

    return stack.map_diagonals(image)


def _add(size: int, _eq: Equation, x: Value, y: Value) -> Value | None:
    if not (isinstance(x, Bands) and isinstance(y, Bands)):
        return None
    both = dict(x.diagonals)
    for offset, v in y.diagonals.items():
        both[offset] = add(both[offset], v) if offset in both else v
    return Bands(size, both)


def _sub(size: int, eq: Equation, x: Value, y: Value) -> Value | None:
    return _add(size, eq, x, y.map_diagonals(neg)) if isinstance(y, Bands) else None


# ---- what moves ----------------------------------------------------------------------------------


def _reshape(size: int, eq: Equation, x: Bands) -> Value | None:
    p = eq.params_as(Shape)
    if p.shape[:1] != (size,):
        return None
    return x.map_diagonals(lambda v: _reshaped(v, p.shape[1:]))


def _reshaped(v: Tracer, shape: tuple[int, ...]) -> Tracer:
    number = splat(v)
    return reshape(v, shape) if number is None else constant(number, v.type.with_shape(shape))


def _box(eq: Equation) -> tuple[int, int] | None:
    """Return where a slice of vectors begins and ends, if it is one of all vectors of a stack."""
    p = eq.params_as(Slice)
    size = eq.operands[0].type.shape[0]
    if len(p.starts) != 2 or p.steps != (1, 1) or (p.starts[0], p.stops[0]) != (0, size):
        return None
    return p.starts[1], p.stops[1]


def _slice(_size: int, eq: Equation, x: Bands) -> Value | None:
    box = _box(eq)
    if box is None:
        return None
    return x.map_diagonals(lambda v: slice_along(v, 0, *box), shift=box[0])


def _add_slice(size: int, eq: Equation, x: Value, u: Value) -> Value | None:
    box = _box(eq)
    nothing = isinstance(x, Tracer) and splat(x) == 0
    if box is None or not isinstance(u, Bands) or not (nothing or isinstance(x, Bands)):
        return None
    whole = zeros(x.type.with_shape(eq.results[0].type.shape[1:]))
    padded = u.map_diagonals(lambda v: _add_at(whole, v, 0, box[0]), shift=-box[0])
    return padded if nothing else _add(size, eq, x, padded)


# ---- sums ----------------------------------------------------------------------------------------


def _reduce_sum(size: int, eq: Equation, x: Bands) -> Value | None:
    """Add up each array of a stack: a number for each, which are the diagonals, shifted."""
    p = eq.params_as(Axes)
    if p.axes != tuple(range(1, x.type.ndim + 1)):
        return None
    total = zeros(x.type.with_shape((size,)))
    for offset, v in x.diagonals.items():
        first, end = x.within(offset)
        if first < end:
            part = slice_along(reshape(v, (x.type.size,)), 0, first, end)
            total = _add_at(total, part, 0, first + offset)
    return total


def _contract(_size: int, eq: Equation, x: Value, y: Value) -> Value | None:
    """Multiply vectors that differ from zero in one element each by a matrix: scale its columns."""
    p = eq.params_as(Contraction)
    stack, other, own, labels = x, y, p.left, p.right
    if not isinstance(stack, Bands):
        stack, other, own, labels = y, x, p.right, p.left
    if not (isinstance(stack, Bands) and isinstance(other, Tracer)):
        return None
    if len(own) > 2 and stack.is_unit:
        return factored.product_of_units(stack.type, eq, int(stack is y), other)
    if len(own) != 2:
        return None
    row, column = own
    if row in labels or row not in p.out or column in p.out:
        return None
    order = [labels.index(column if label == row else label) for label in p.out]
    axis, place = labels.index(column), p.out.index(row)
    total = zeros(eq.results[0].type)
    for offset, v in stack.diagonals.items():
        first, end = stack.within(offset)
        if first < end:
            part = slice_along(other, axis, first, end)
            scale = broadcast(slice_along(v, 0, first, end), part.type.shape, (axis,))
            scaled = permute(mul(part, scale), tuple(order))
            total = _add_at(total, scaled, place, first + offset)
    return total


def _add_at(x: Tracer, part: Tracer, axis: int, start: int) -> Tracer:
    """Add a part to an array, from a place along an axis on."""
    if part.type is x.type and splat(x) == 0:
        return part
    starts = [0] * x.type.ndim
    starts[axis] = start
    stops = [a + n for a, n in zip(starts, part.type.shape, strict=True)]
    return add_slice(x, part, Slice(tuple(starts), tuple(stops), (1,) * x.type.ndim))


_rules: Final[dict[Primitive[Any], Callable[..., Value | None]]] = {
    add_p: _add,
    sub.primitive: _sub,
    reshape_p: _reshape,
    slice_p: _slice,
    add_slice_p: _add_slice,
    reduce_sum_p: _reduce_sum,
    contract_p: _contract,
}
"""By primitive, what it makes of stacks; of the number of arrays, the equation, its operands.
The others are `_pointwise`, if they are pointwise, or take arrays."""
