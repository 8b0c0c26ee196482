"""Records the images of all unit vectors of a linear program: by entries while these are few.

Elementwise operations keep the unit matrix diagonal, slices and padding shift the diagonal, sums
make some of it: an array is kept by its parts (see `funcdiff.passes.sparsity.images`) as long as
they are few.  What becomes of others is recorded for the images of all unit vectors at once,
stacked along an axis in front, or for the two factors of such a stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.walk import following
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.contract import Contraction
from funcdiff.ops.structure.slicing import add_slice, along, slice_along
from funcdiff.ops.structure.structural import permute, reshape
from funcdiff.passes import factored
from funcdiff.passes.factored import Factored
from funcdiff.passes.sparsity.images import Images, Parts, UnknownImageError, unit_parts
from funcdiff.passes.sparsity.parts import Entries, Term, progression_step, write
from funcdiff.space import broadcast, mul, splat, zeros
from funcdiff.transforms.vmap import batch_equation

_MOST: Final = 8
"""Parts up to which an array is kept by them."""
_MOST_ENTRIES: Final = 1 << 18

Image: TypeAlias = Parts | Tracer | Factored


class Stacks(Images):
    """What the variables of a linear program are made of, stacks of arrays included.

    Parameters
    ----------
    program
        Linear in those inputs of which there is nothing in `residuals`.
    residuals
        By input, a recorded array, or None.

    Attributes
    ----------
    size
        How many unit vectors there are.
    stacks
        By variable, those that are not kept by parts.
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
        self.size = sum(v.type.size for v in linear)
        self.stacks: dict[Atom, Tracer | Factored] = {}
        self._arrays: dict[Atom, Tracer] = {}
        rule = following(program, residuals, self._rule, derives=True)
        for eq in program.equations:
            rule(eq, [])

    def block(self, output: int, first: int, source: ArrayType, *, by_rows: bool) -> Tracer:
        """Return a block of the matrix: an output by some of the unit vectors.

        Parameters
        ----------
        output
            The number of the output.
        first
            The number of the first of the unit vectors.
        source
            The type of the array that they are of.
        by_rows
            Whether the axes of the output come first, or those of the unit vectors.
        """
        atom = self._program.outputs[output]
        target = atom.type
        shape = (*target.shape, *source.shape) if by_rows else (*source.shape, *target.shape)
        if atom in self.parts or atom not in self.stacks:
            steps = (source.size, 1) if by_rows else (1, target.size)
            flat = zeros(target.with_shape((target.size * source.size,)))
            return reshape(_written(flat, self.of(atom), steps, (first, source.size)), shape)
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
                image = self._stacked(image, v.type)
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
            return factored.image(eq, known)
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
            made = factored.product_of_units(unit, eq, place, other)
            if made is not None:
                return made
        return self._scaled(eq, place, parts, other)

    def _are_units(self, parts: Parts, t: ArrayType) -> bool:
        (part, *rest) = parts
        if rest or not isinstance(part, Term) or t.size != self.size:
            return False
        assert part.data is not None
        return splat(part.data) == 1 and np.array_equal(part.columns.ravel(), np.arange(t.size))

    def _scaled(self, eq: Equation, place: int, parts: Parts, other: Tracer) -> Tracer | None:
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
                x = self._stacked(self.of(atom), atom.type)
            self._arrays[atom] = x.dense() if isinstance(x, Factored) else x
        return self._arrays[atom]

    def _stacked(self, parts: Parts, t: ArrayType, onto: Tracer | None = None) -> Tracer:
        """Return parts, added to a stack if one is given, as a stack."""
        shape = (self.size, *t.shape)
        stack = zeros(t.with_shape(shape)) if onto is None else onto
        flat = reshape(stack, (self.size * t.size,))
        return reshape(_written(flat, parts, (1, t.size), (0, self.size)), shape)


def _add_rows(x: Tracer, part: Tracer, first: int, step: int) -> Tracer:
    """Add a part to an array, to every so many rows."""
    if part.type is x.type and splat(x) == 0:
        return part
    stop = first + (part.shape[0] - 1) * step + 1
    return add_slice(x, part, along(x.shape, 0, first, stop, step))


def _written(
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
