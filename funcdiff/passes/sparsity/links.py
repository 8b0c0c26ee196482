"""Finds of which elements of its operands an operation makes each element of its result.

No table says so.  An operation that only moves elements shows where they go if it is given their
numbers, and one that adds them up is the transpose of one that moves: the numbers of its results
go the other way.  A product takes pairs of elements, which its labels tell.  For anything else
the rules of supports are asked, one element at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.evaluate import executable
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation, operation
from funcdiff.core.program import Equation, used_atoms
from funcdiff.core.types import BOOL, FLOAT, ArrayType
from funcdiff.core.walk import rearrange
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.ops.products.masked import masked_contract_p
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.supports.propagation import Supports
from funcdiff.passes.supports.rules import rule_of
from funcdiff.passes.supports.support import Maybe, from_mask
from funcdiff.transforms.vmap import mapped

MOST_PROBED: Final = 1 << 22
"""Elements of results that are looked at, at most, to ask a rule of supports."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Each element of the result is one of the operand, or zero.

    Attributes
    ----------
    sources
        In the shape of the result, which element of the operand it is, -1 for none.
    """

    sources: Array


@dataclass(frozen=True, eq=False)
class Sums:
    """Elements of the result are sums of elements of the operand, or of their multiples.

    Attributes
    ----------
    rows, sources
        The numbers of elements of result and operand that belong together.
    factors
        If they are multiples of elements of another operand, the number of these.
    """

    rows: Array
    sources: Array
    factors: Array | None = None


Links = Moves | Sums


def links(eq: Equation, place: int, linear: Sequence[bool], known: Sequence[Any]) -> Links | None:
    """Return what becomes of a linear operand of an equation; None if it is not known.

    Parameters
    ----------
    eq
        An equation of one result.
    place
        The number of the operand.
    linear
        In which operands the equation is linear, those that depend on the inputs.
    known
        Values of the other operands, None where they are not known.
    """
    facts = eq.primitive.facts
    if is_contraction(eq) and sum(linear[:2]) == 1:
        return _products(eq, place)
    if facts.linear is None or any(
        value is None and not flag for value, flag in zip(known, linear, strict=True)
    ):
        return None
    found = _moved(eq.operation, place, linear, known)
    if found is not None:
        return found
    return _gathered_back(eq, place, linear, known)


def _numbered(shape: tuple[int, ...], run: Callable[[Array], Any]) -> Array | None:
    """Return which element, counted from 1, each element of an image is; 0 where it is zero.

    None if some element of the image is none of them, as random elements tell.
    """
    size = prod(shape)
    numbers = np.arange(1.0, size + 1).reshape(shape)
    others = np.random.default_rng(size).uniform(1, 2, shape)
    try:
        image, expected = run(numbers), run(others)
    except (TypeError, ValueError):
        return None
    found = np.asarray(image)
    if found.dtype != numbers.dtype or not np.all((found >= 0) & (found <= size)):
        return None
    places = found.astype(int)
    moved = np.concatenate([[0.0], others.ravel()])[places]
    return places if np.array_equal(moved, expected) and np.array_equal(places, found) else None


def _moved(op: Operation, place: int, linear: Sequence[bool], known: Sequence[Any]) -> Moves | None:
    """Give an operation the numbers of elements, and see whether it moves others in this way."""
    function = op.primitive.impl(op.params)

    def run(x: Array) -> Any:
        operands = [
            x if k == place else np.zeros(t.shape) if flag else value
            for k, (t, flag, value) in enumerate(zip(op.operands, linear, known, strict=True))
        ]
        return function(*operands)

    places = _numbered(op.operands[place].shape, run)
    return None if places is None else Moves(places - 1)


def _gathered_back(
    eq: Equation, place: int, linear: Sequence[bool], known: Sequence[Any]
) -> Sums | None:
    """Return the links of an operation whose transpose moves elements."""
    transpose = eq.primitive.transpose
    if transpose is None:
        return None
    types = tuple(
        ArrayType(atom.type.shape, FLOAT) if flag else atom.type
        for atom, flag in zip(eq.operands, linear, strict=True)
    )
    result = operation(eq.primitive, eq.params, types).results[0]
    with Builder("transposed", SHARED) as builder:
        xs = [None if flag else builder.input(t) for t, flag in zip(types, linear, strict=True)]
        image = transpose(eq.params, types, [builder.input(result)], xs)[place]
        program = builder.program([] if image is None else [image])
    if image is None:
        return Sums(np.empty(0, int), np.empty(0, int))
    given = [value for value, flag in zip(known, linear, strict=True) if not flag]
    rows = _numbered(result.shape, lambda x: executable(program)(*given, x)[0])
    if rows is None:
        return None
    sources = np.flatnonzero(rows)
    return Sums(rows.ravel()[sources] - 1, sources)


# ---- products ------------------------------------------------------------------------------------


def _products(eq: Equation, place: int) -> Sums:
    """Return all pairs of elements that a contraction multiplies."""
    p = eq.params_as(Contraction)
    x, y = (atom.type.shape for atom in eq.operands[:2])
    lengths = dict(zip((*p.left, *p.right), (*x, *y), strict=True))
    every = tuple(lengths)
    shape = tuple(lengths.values())

    def numbers(labels: tuple[int, ...]) -> Array:
        own = tuple(lengths[label] for label in labels)
        order = sorted(range(len(labels)), key=lambda k: every.index(labels[k]))
        spread = [lengths[label] if label in labels else 1 for label in every]
        grid = np.arange(prod(own)).reshape(own).transpose(order).reshape(spread)
        return np.broadcast_to(grid, shape).ravel()

    own, other = (p.left, p.right) if place == 0 else (p.right, p.left)
    return Sums(numbers(p.out), numbers(own), numbers(other))


def is_contraction(eq: Equation) -> bool:
    """Whether an equation multiplies elements and adds up the products, and nothing slides."""
    return eq.primitive in (contract_p, masked_contract_p)


def pair_count(eq: Equation) -> int:
    """Return how many pairs of elements a contraction multiplies."""
    p = eq.params_as(Contraction)
    x, y = (atom.type.shape for atom in eq.operands[:2])
    return prod(dict(zip((*p.left, *p.right), (*x, *y), strict=True)).values())


# ---- any other operation -------------------------------------------------------------------------


def asked(eq: Equation, place: int, result: int, linear: Sequence[bool]) -> Sums:
    """Return the links that the support of an operation tells, or all that there could be."""
    size, count = eq.operands[place].type.size, eq.results[result].type.size
    if size * count <= MOST_PROBED:
        found = _where_one_arrives(eq, place, result, linear)
        if found is not None:
            sources, rows = np.nonzero(found.reshape(size, count))
            return Sums(rows, sources)
    return Sums(np.repeat(np.arange(count), size), np.tile(np.arange(size), count))


def _where_one_arrives(
    eq: Equation, place: int, result: int, linear: Sequence[bool]
) -> Array | None:
    """Return where a result may differ from zero if one element does, for each; None if anywhere.

    It is not said of operations whose support depends on values that are not known.
    """
    rule = rule_of(eq.primitive)
    if rule is None:
        return None
    types = [atom.type for atom in eq.operands]
    box, supports = types[place].with_dtype(BOOL), Supports()
    with Builder("support", SHARED) as builder:
        start = builder.input(box)
        xs = [builder.input(t) for t in types]
        given: list[Maybe] = [not flag for flag in linear]
        given[place] = from_mask(start)
        found = rule(eq.params, tuple([v.type for v in eq.results]), xs, given)[result]
        if isinstance(found, bool):
            return None if found else np.zeros((box.size, eq.results[result].type.size), bool)
        program = builder.program([supports.record(found)])
    if not used_atoms(program).isdisjoint(program.inputs[1:]):
        return None
    alone = rearrange(program, [0], [0])
    stacked = mapped(alone, box.size, [True])
    units = np.eye(box.size, dtype=bool).reshape(box.size, *box.shape)
    return np.asarray(executable(stacked)(units)[0])
