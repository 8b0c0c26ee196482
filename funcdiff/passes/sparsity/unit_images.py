"""Records the images of all unit vectors of a linear program: by entries while these are few.

Elementwise operations keep the unit matrix diagonal, slices and padding shift the diagonal, sums
make some of it: an array is kept by its parts (see `funcdiff.passes.sparsity.images`) as long as
they are few.  What becomes of others is recorded for the images of all unit vectors at once,
stacked along an axis in front, or for the two factors of such a stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.access import Access, Cut, numbers
from funcdiff.core.atoms import Atom
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.walk import following
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.products.contract import Contraction, Labels, contract
from funcdiff.ops.structure.slicing import add_slice, along, slice_along
from funcdiff.ops.structure.structural import convert, iota, permute, reshape
from funcdiff.passes.sparsity.images import Images, Parts, UnknownImageError, unit_parts
from funcdiff.passes.sparsity.parts import Entries, Term, progression_step, write
from funcdiff.space import broadcast, kept_axes, mul, reduce_sum, splat, zeros
from funcdiff.transforms.vmap import batch_equation

# ---- stacks as products of two factors -----------------------------------------------------------
#
# ``X @ W`` of unit matrices W is ``X[n, i]·δ[j, c]``: one factor numbers the rows of W, the other
# one its columns.  What is linear and does not mix the axes of the first factor works on the second
# one alone, which has as many arrays as W has columns instead of elements: so Hessians of a layer,
# or Jacobians by its weights, cost little more than the product that ends them.  The products are
# rounded in another order than those of stacked arrays.  Without them the Hessian of a last layer,
# 320 x 320, takes 7 times as long.


@dataclass(frozen=True, eq=False)
class Factored:
    """A stack of arrays as a product, number ``(i, j)`` being ``first[i]·second[j]``."""

    shape: tuple[int, ...]  # of the axes that number the arrays: of what unit vectors are of
    outer: tuple[int, ...]  # which of these `first` has, in front; `second` has the others
    first: Tracer  # has behind these the axes `where` of an array
    second: Tracer  # has all axes of an array
    where: tuple[int, ...]  # the axes of an array that `first` depends on, in its order

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

    def has_first_of(self, other: Factored) -> bool:
        """Whether the first factor is that of another stack."""
        same = self.first.builder is other.first.builder and self.first.atom == other.first.atom
        return same and (self.outer, self.where) == (other.outer, other.where)

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


def image_by_factors(eq: Equation, xs: Sequence[Value]) -> Value | None:
    """Return what an equation makes of stacks with factors, and of arrays that all have in common.

    A stack with factors if the labels of the first factor stay, one that is an array if they are
    summed over, or None.
    """
    (result,) = eq.results
    access, places = eq.operation.access, [k for k, x in enumerate(xs) if isinstance(x, Factored)]
    stack, *others = (x for x in xs if isinstance(x, Factored))
    kept = [[access.operands[k][axis] for axis in stack.where] for k in places]
    alike = all(labels == kept[0] for labels in kept) and all(map(stack.has_first_of, others))
    if not alike or any(x.type.dtype != result.type.dtype for x in (stack, *others)):
        return None
    places_of = numbers(access.results[0])
    if all(type(k) is int and k in places_of for k in kept[0]):
        return _beside(eq, xs, stack, [places_of.index(k) for k in kept[0]])
    is_sum = access.combine is np.add and len(places) == 1 and len(xs) <= 2
    if not is_sum or None in chain(*access.operands):
        return None
    return _sums_of_products(access, places[0], xs)


def _beside(
    eq: Equation, xs: Sequence[Value], stack: Factored, where: Sequence[int]
) -> Factored | None:
    """Apply an equation that leaves the axes of the first factor alone to the second one."""
    shape, lengths = eq.results[0].type.shape, stack.second.shape[: len(stack.inner)]
    size, flags = prod(lengths), [isinstance(x, Factored) for x in xs]
    stacks = [
        reshape(x.second, (size, *x.type.shape)) if isinstance(x, Factored) else x for x in xs
    ]
    (y,) = batch_equation(eq, size, stacks, flags)
    first = stack.first
    for k, axis in enumerate(where):
        cut = eq.operation.access.results[0][axis]
        if isinstance(cut, Cut):
            if cut.step < 0:
                return None
            stop = cut.start + cut.step * (shape[axis] - 1) + 1
            first = slice_along(first, len(stack.outer) + k, cut.start, stop, cut.step)
    second = reshape(y, (*lengths, *shape))
    return replace(stack, first=first, second=second, where=tuple(where))


def _sums_of_products(access: Access, place: int, xs: Sequence[Value]) -> Tracer:
    """Return the sums of products with all stacked arrays, where the first factor is summed."""
    x = xs[place]
    assert isinstance(x, Factored)
    own, out, *others = (
        tuple([k for k in labels if isinstance(k, int)])
        for labels in (access.operands[place], *access.results, *access.operands)
    )
    factors = [(y, labels) for y, labels in zip(xs, others, strict=True) if isinstance(y, Tracer)]
    needed = {*out, *(k for _, labels in factors for k in labels), *(own[k] for k in x.where)}
    alone = tuple(axis for axis, k in enumerate(own) if k not in needed)
    ndim, kept = len(x.inner), kept_axes(len(own), alone)
    second = reduce_sum(x.second, tuple(ndim + axis for axis in alone))
    x = replace(x, second=second, where=tuple(kept.index(axis) for axis in x.where))
    return _product(x, tuple(own[k] for k in kept), out, factors[0] if factors else None)


def _product(x: Factored, own: Labels, out: Labels, other: tuple[Tracer, Labels] | None) -> Tracer:
    """Return the contraction of all stacked arrays with another one: of three arrays, at last.

    Two of the three are multiplied first: those whose product has fewest elements.
    """
    first = 1 + max((*own, *(other[1] if other else ())), default=0)
    numbers = tuple(range(first, first + len(x.shape)))
    sides = list(zip((x.first, x.second), x.labels(own, numbers), strict=True))
    sides += [other] if other else []
    out = (*numbers, *out)
    while len(sides) > 2:
        _, pair = min((_size(sides, k, out), k) for k in range(3))
        last = sides.pop(pair)
        (a, left), (b, right) = sides
        kept = _labels_needed(left, right, (*last[1], *out))
        sides = [(contract(a, b, left, right, kept), kept), last]
    (a, left), (b, right) = sides
    # what numbers the arrays stays together, in front or behind, where a product leaves it
    made = contract(a, b, left, right, out)
    return reshape(made, (x.size, *made.shape[len(numbers) :]))


def _labels_needed(left: Labels, right: Labels, needed: Labels) -> Labels:
    return tuple(k for k in dict.fromkeys((*left, *right)) if k in needed)


def _size(sides: Sequence[tuple[Tracer, Labels]], last: int, out: Labels) -> int:
    """Return how many elements the product of all but one has."""
    (a, left), (b, right) = (side for k, side in enumerate(sides) if k != last)
    lengths = dict(zip((*left, *right), (*a.shape, *b.shape), strict=True))
    return prod(lengths[k] for k in _labels_needed(left, right, (*sides[last][1], *out)))


# ---- images of unit vectors ----------------------------------------------------------------------

_MOST: Final = 8
"""Parts up to which an array is kept by them."""
_MOST_ENTRIES: Final = 1 << 18

Image: TypeAlias = Parts | Tracer | Factored


class Stacks(Images):
    """What the variables of a linear program are made of, stacks of arrays included.

    The program is linear in the inputs of which `residuals` has no recorded array, but None.
    """

    def __init__(self, program: Program, residuals: Sequence[Tracer | None]) -> None:
        super().__init__(None, _MOST_ENTRIES)
        self._program = program
        inputs = list(zip(program.inputs, residuals, strict=True))
        linear = [v for v, x in inputs if x is None]
        self.parts.update(
            zip(linear, unit_parts([v.type for v in linear], with_data=True), strict=True)
        )
        self.others.update((v, x) for v, x in inputs if x is not None)
        self.size = sum(v.type.size for v in linear)  # how many unit vectors there are
        self.stacks: dict[Atom, Tracer | Factored] = {}  # of what is not kept by parts
        self._arrays: dict[Atom, Tracer] = {}
        rule = following(program, residuals, self._rule, derives=True)
        for eq in program.equations:
            rule(eq, [])

    def block(self, output: int, first: int, source: ArrayType, *, by_rows: bool) -> Tracer:
        """Return a block of the matrix: an output by unit vectors of `source`, from `first` on.

        The axes of the output come first if it is `by_rows`, else those of the unit vectors.
        """
        atom = self._program.outputs[output]
        target = atom.type
        shape = (*target.shape, *source.shape) if by_rows else (*source.shape, *target.shape)
        if atom in self.parts or atom not in self.stacks:
            steps = (source.size, 1) if by_rows else (1, target.size)
            flat = zeros(target.with_shape((target.size * source.size,)))
            return reshape(_write_parts(flat, self.of(atom), steps, (first, source.size)), shape)
        part = slice_along(self._array(atom), 0, first, first + source.size)
        if by_rows:
            part = permute(part, (*range(1, part.ndim), 0))
        return reshape(part, shape)

    # ---- equations ---------------------------------------------------------------------------

    def _rule(self, eq: Equation, _xs: list[Any]) -> Sequence[Any]:
        """Follow an equation; return its results, for what is noted of them."""
        flags = [atom in self.parts or atom in self.stacks for atom in eq.operands]
        if not any(flags):
            self.copy(eq)
            return [self.others[v] for v in eq.results]
        image = self._image_of(eq, flags)
        if image is None:
            operands = [
                self._array(atom) if flag else self.tracer(atom)
                for atom, flag in zip(eq.operands, flags, strict=True)
            ]
            ys = batch_equation(eq, self.size, operands, flags)
            self.stacks.update(zip(eq.results, ys, strict=True))
            return ys
        (v,) = eq.results
        if isinstance(image, list):
            terms = sum(isinstance(part, Term) for part in image)
            listed = [part for part in image if terms > _MOST or isinstance(part, Entries)]
            if 4 * sum(part.columns.size for part in listed) > self.size * v.type.size:
                image = self._stack(image, v.type)
        if isinstance(image, list):
            self.parts[v] = image
        else:
            self.stacks[v] = image
        return [image]

    def _image_of(self, eq: Equation, flags: Sequence[bool]) -> Image | None:
        """Return the result of an equation, None if it is to be had from stacks only."""
        if len(eq.results) > 1 or eq.params.equation_count:
            return None
        xs = [self.stacks.get(atom) for atom in eq.operands]
        with_factors = [isinstance(x, Factored) for x in xs]
        if any(with_factors):
            if with_factors != list(flags):
                return None
            known = [x or self.tracer(atom) for x, atom in zip(xs, eq.operands, strict=True)]
            return image_by_factors(eq, known)
        if eq.operation.contracts:
            return self._product_of(eq, flags)
        sums = eq.primitive.facts.elements in ("moved", "summed", "added")
        moves = eq.primitive.pointwise or sums or eq.operation.access.reduces is np.add
        if not moves or any(x is not None for x in xs):
            return None
        try:
            (parts,) = self._results(eq)
        except UnknownImageError:
            return None
        return parts

    def _product_of(self, eq: Equation, flags: Sequence[bool]) -> Tracer | Factored | None:
        """Return the product of what is kept by parts with an array."""
        if sum(flags) != 1 or not (parts := self.of(eq.operands[place := flags.index(True)])):
            return None
        unit, other = eq.operands[place].type, self.tracer(eq.operands[1 - place])
        if unit.ndim > 1 and self._are_units(parts, unit):
            made = product_of_units(unit, eq, place, other)
            if made is not None:
                return made
        return self._scale(eq, place, parts, other)

    def _are_units(self, parts: Parts, t: ArrayType) -> bool:
        (part, *rest) = parts
        if rest or not isinstance(part, Term) or t.size != self.size:
            return False
        assert part.data is not None
        return splat(part.data) == 1 and np.array_equal(part.columns.ravel(), np.arange(t.size))

    def _scale(self, eq: Equation, place: int, parts: Parts, other: Tracer) -> Tracer | None:
        """Multiply vectors that differ from zero in one element each: scale columns of a matrix."""
        p = eq.params_as(Contraction)
        own, labels = (p.left, p.right) if place == 0 else (p.right, p.left)
        if any(label in p.out for label in own):
            return None
        result = eq.results[0].type
        matrix = permute(other, tuple(labels.index(label) for label in (*own, *p.out)))
        total = zeros(result.with_shape((self.size, *result.shape)))
        for part in parts:
            if isinstance(part, Entries):
                return None
            elements = np.flatnonzero(part.columns >= 0)
            columns = part.columns.ravel()[elements]
            step, stride = progression_step(elements), progression_step(columns)
            if step is None or stride is None:
                return None
            assert part.data is not None
            scaled = mul(matrix, broadcast(part.data, matrix.shape, tuple(range(len(own)))))
            rows = reshape(scaled, (part.columns.size, *result.shape))
            rows = slice_along(rows, 0, int(elements[0]), int(elements[-1]) + 1, step)
            total = _add_rows(total, rows, int(columns[0]), stride)
        return total

    # ---- arrays ------------------------------------------------------------------------------

    def _array(self, atom: Atom) -> Tracer:
        """Return what depends on the inputs as a stack of arrays."""
        if atom not in self._arrays:
            x = self.stacks.get(atom)
            if x is None:
                x = self._stack(self.of(atom), atom.type)
            self._arrays[atom] = x.dense() if isinstance(x, Factored) else x
        return self._arrays[atom]

    def _stack(self, parts: Parts, t: ArrayType, onto: Tracer | None = None) -> Tracer:
        """Return parts, added to a stack if one is given, as a stack."""
        shape = (self.size, *t.shape)
        stack = zeros(t.with_shape(shape)) if onto is None else onto
        flat = reshape(stack, (self.size * t.size,))
        return reshape(_write_parts(flat, parts, (1, t.size), (0, self.size)), shape)


def _add_rows(x: Tracer, part: Tracer, first: int, step: int) -> Tracer:
    """Add a part to an array, to every so many rows."""
    if part.type is x.type and splat(x) == 0:
        return part
    stop = first + (part.shape[0] - 1) * step + 1
    return add_slice(x, part, along(x.shape, 0, first, stop, step))


def _write_parts(
    flat: Tracer, parts: Parts, steps: tuple[int, int], columns: tuple[int, int]
) -> Tracer:
    """Add parts to a matrix, of which rows and columns are so many elements apart.

    `columns` says from which column on, and how many.
    """
    first, count = columns
    row, column = steps
    elements = []
    for part in parts:
        assert part.data is not None
        numbers = part.columns - first
        rows = part.rows if isinstance(part, Entries) else np.arange(numbers.size)
        places = rows.reshape(numbers.shape) * row + numbers * column
        elements.append((part.data, np.where((numbers >= 0) & (numbers < count), places, -1)))
    return write(flat, elements)
