"""Element dependence: which elements of the operands each element of a result is made of.

No table says so.  An operation that only moves elements shows where they go if it is given their
numbers, and one that adds them up is the transpose of one that moves: the numbers of its results
go the other way.  A product takes pairs of elements, which its labels tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from funcdiff.core.primitive import Operation, operation
from funcdiff.core.program import Equation, program_of_operation
from funcdiff.core.running.evaluate import executable
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.ops.products.contract import Contraction, Labels
from funcdiff.passes.sparsity.known import Array
from funcdiff.transforms.transpose import transpose


@dataclass(frozen=True, eq=False)
class Moves:
    """Each element of the result is one of the operand, or zero."""

    sources: Array  # in the shape of the result: element of the operand, -1 for none


@dataclass(frozen=True, eq=False)
class Sums:
    """Elements of the result are sums of elements of the operand, or of their multiples."""

    rows: Array  # numbers of elements of the result
    sources: Array  # the element of the operand that belongs to each of these
    factors: Array | None = None  # if they are multiples by elements of another operand: these
    other: int = 0  # the number of that operand


@dataclass(frozen=True, eq=False)
class Blocks:
    """Elements of the result depend on all elements of the operand that are in their block."""

    rows: Array  # block of each element of the result, counted in C order
    sources: Array  # block of each element of the operand

    @property
    def pair_count(self) -> int:
        """How many pairs of elements that are."""
        count = 1 + max(self.rows.max(initial=-1), self.sources.max(initial=-1))
        rows = np.bincount(self.rows, minlength=count)
        return int(np.dot(rows, np.bincount(self.sources, minlength=count)))

    def pairs(self) -> Sums:
        """Return the pairs one by one."""
        order = np.argsort(self.sources, kind="stable")
        blocks = self.sources[order]
        first, end = (np.searchsorted(blocks, self.rows, side) for side in _SIDES)
        counts = end - first
        rows = np.repeat(np.arange(len(self.rows)), counts)
        return Sums(rows, order[spans(first, counts)])


_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")


def spans(first: Array, counts: Array) -> Array:
    """Return the numbers from each of `first` on, as many as `counts` says, one after the other."""
    total = np.cumsum(counts)
    numbers = np.arange(int(total[-1]) if len(total) else 0)
    return np.asarray(numbers + np.repeat(first - total + counts, counts))


Links = Moves | Sums | Blocks


def links(eq: Equation, place: int, linear: Sequence[bool], known: Sequence[Any]) -> Links | None:
    """Return how the result of an equation depends on a linear operand; None if it is not known.

    `place` is the number of the operand; `linear` marks those that depend on the inputs, in which
    the equation is linear; `known` are values of the others, None where they are not known.
    """
    facts = eq.primitive.facts
    if facts.pairs is not None:
        return _links_of_pairs(eq, place, known)
    if facts.elements == "moved":
        t = eq.operands[0].type
        return Moves(np.asarray(eq.operation.function(np.arange(t.size).reshape(t.shape))))
    if (
        facts.linear is None
        or facts.raises
        or any(value is None and not flag for value, flag in zip(known, linear, strict=True))
    ):
        return None
    found = _moves(eq.operation, place, linear, known)
    if found is not None:
        return found
    return _links_of_transpose(eq, place, linear, known)


def _links_of_pairs(eq: Equation, place: int, known: Sequence[Any]) -> Sums | None:
    """Return the links of a factor of an operation that says which elements meet."""
    types = eq.operation.operands
    if any(value is None and t.dtype.kind == "i" for value, t in zip(known, types, strict=True)):
        return None
    assert eq.primitive.facts.pairs is not None
    rows, elements = eq.primitive.facts.pairs(eq.params, types, known)
    (other,) = elements.keys() - {place}
    return Sums(rows, elements[place], elements[other], other)


_GOLDEN: Final = (5**0.5 - 1) / 2


def _numbers_in_image(
    shape: tuple[int, ...], run: Callable[[Array], Any], factor: complex = 1.0
) -> Array | None:
    """Return which element, counted from 1, each element of an image is; 0 where it is zero.

    None if some element of the image is none of them, as elements tell that have no sum in common;
    with a complex factor they show that no part of them is taken, and none conjugated.
    """
    size = prod(shape)
    numbers = np.arange(1.0, size + 1).reshape(shape)
    others = (1 + numbers * _GOLDEN % 1) * factor
    try:
        image, expected = run(numbers), run(others)
    except (TypeError, ValueError):
        return None
    found = np.asarray(image)
    inside = found.min(initial=0) >= 0 and found.max(initial=0) <= size
    if found.dtype != numbers.dtype or not inside:
        return None
    places = found.astype(int)
    return places if np.array_equal(np.append(0.0, others)[places], expected) else None


def _moves(op: Operation, place: int, linear: Sequence[bool], known: Sequence[Any]) -> Moves | None:
    """Give an operation the numbers of elements, and see whether it moves others in this way."""
    function = op.primitive.impl(op.params)

    def run(x: Array) -> Any:
        operands = [
            x if k == place else np.zeros(t.shape, x.dtype) if flag else value
            for k, (t, flag, value) in enumerate(zip(op.operands, linear, known, strict=True))
        ]
        return function(*operands)

    moved = op.operands[place]
    places = _numbers_in_image(moved.shape, run, 1 + 2j if moved.dtype.kind == "c" else 1.0)
    return None if places is None else Moves(places - 1)


def _links_of_transpose(
    eq: Equation, place: int, linear: Sequence[bool], known: Sequence[Any]
) -> Sums | None:
    """Return the links of an operation whose transpose moves elements."""
    if eq.primitive.transpose is None:
        return None
    types = tuple(
        ArrayType(atom.type.shape, FLOAT) if flag else atom.type
        for atom, flag in zip(eq.operands, linear, strict=True)
    )
    op = operation(eq.primitive, eq.params, types)
    run = executable(transpose(program_of_operation(op), tuple(linear)))
    given = [value for value, flag in zip(known, linear, strict=True) if not flag]
    rows = _numbers_in_image(op.results[0].shape, lambda x: run(*given, x)[sum(linear[:place])])
    if rows is None:
        return None
    sources = np.flatnonzero(rows)
    return Sums(rows.ravel()[sources] - 1, sources)


class Shared(NamedTuple):
    """Axes along which examples do not meet, of operand and result, and their lengths."""

    operands: list[int]
    results: list[int]
    lengths: list[int]

    @property
    def size(self) -> int:
        """How many examples there are."""
        return prod(self.lengths)

    def of(self, shape: tuple[int, ...], axes: Sequence[int]) -> Array:
        """Return the number of the example of each element of an array with these axes."""
        order = sorted(range(len(axes)), key=lambda k: axes[k])
        spread = [n if axis in axes else 1 for axis, n in enumerate(shape)]
        numbers = np.arange(self.size).reshape(self.lengths).transpose(order).reshape(spread)
        return np.broadcast_to(numbers, shape).ravel()

    def blocks(self, x: tuple[int, ...], y: tuple[int, ...]) -> Blocks:
        """Return that elements depend on all of their example, given the shapes of both."""
        return Blocks(self.of(y, self.results), self.of(x, self.operands))


def axes_in_common(eq: Equation, place: int, result: int = 0) -> Shared:
    """Return the axes of an operand that have the labels of axes of a result."""
    op = eq.operation
    labels, others = op.access.operands[place], op.access.results[result]
    axes = [k for k, label in enumerate(labels) if label is not None and label in others]
    lengths = [op.operands[place].shape[k] for k in axes]
    return Shared(axes, [others.index(labels[k]) for k in axes], lengths)


# ---- products ------------------------------------------------------------------------------------


class _Product:
    """The labels of a contraction, seen from one operand."""

    def __init__(self, eq: Equation, place: int) -> None:
        op, p = eq.operation, eq.params_as(Contraction)
        self.lengths = op.access.lengths(op.operands, op.results)
        self.own, self.other = (p.left, p.right) if place == 0 else (p.right, p.left)
        self.out = p.out
        # Labels that the other operand does not have.
        self.free = tuple([label for label in self.own if label not in self.other])

    def shape(self, labels: Labels) -> tuple[int, ...]:
        return tuple([self.lengths[label] for label in labels])


def product_count(eq: Equation, place: int, nonzero: Array | None) -> int:
    """Return how many pairs of elements a contraction multiplies, but for known zeros."""
    product = _Product(eq, place)
    factors = eq.operands[1 - place].type.size if nonzero is None else np.count_nonzero(nonzero)
    return int(factors) * prod(product.shape(product.free))


def products(eq: Equation, place: int, nonzero: Array | None) -> Sums:
    """Return the pairs of elements that a contraction multiplies, but for known zeros."""
    product = _Product(eq, place)
    size = eq.operands[1 - place].type.size
    factors = np.arange(size) if nonzero is None else np.flatnonzero(nonzero)
    count = prod(product.shape(product.free))
    fixed = [k[:, None] for k in _coordinates(factors, product.shape(product.other))]
    varied = [k[None] for k in _coordinates(np.arange(count), product.shape(product.free))]
    places = {
        **dict(zip(product.other, fixed, strict=True)),
        **dict(zip(product.free, varied, strict=True)),
    }

    def numbers(labels: Labels) -> Array:
        total = np.zeros((1, 1), int)
        for label in labels:
            total = total * product.lengths[label] + places[label]
        return np.broadcast_to(total, (len(factors), count)).ravel()

    return Sums(numbers(product.out), numbers(product.own), np.repeat(factors, count), 1 - place)


def _coordinates(numbers: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return the places of numbered elements; of a vector, as NumPy 2.4 errs in long columns."""
    return np.unravel_index(numbers, shape) if shape else ()


def is_contraction(eq: Equation) -> bool:
    """Whether an equation multiplies elements and adds up the products, and nothing slides."""
    return isinstance(eq.params, Contraction) and None not in eq.operation.access.results[0]
