"""Element dependence of operations without links, by probing their support rules.

Unit vectors go through a small program of booleans.  Along an axis of examples that do not meet
each other, as solutions of many systems, all examples are asked at once; the labels of axes tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, atoms_in_use
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.walk import rearrange
from funcdiff.core.types import BOOL
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.links import Blocks, Shared, Sums, shared_axes
from funcdiff.passes.supports.propagation import Maybe, Supports, from_mask, rule_of
from funcdiff.transforms.vmap import batch_outputs

MOST_PROBED: Final = 1 << 22
"""Elements of results that are looked at, at most, to ask a rule of supports."""

Reach = Callable[[Array], Array]
"""Of stacked masks of an operand, where the result may differ from zero then."""


def asked(eq: Equation, place: int, result: int, linear: Sequence[bool]) -> Sums | Blocks:
    """Return what the support of an operation tells, or that all may depend on all."""
    x, y = eq.operands[place].type, eq.results[result].type
    reach = _reach(eq, place, result, linear)
    batch = shared_axes(eq, place, result)
    inside = x.size // max(batch.size, 1)
    too_many = inside * y.size > MOST_PROBED
    if reach is None or too_many:
        return batch.blocks(x.shape, y.shape)
    if inside > 2 and np.all(reach(_units(x.shape, batch, [0, inside - 1]))):
        return batch.blocks(x.shape, y.shape)  # two elements of an example reach all of its results
    return _within(x.shape, y.shape, batch, reach)


def _reach(eq: Equation, place: int, result: int, linear: Sequence[bool]) -> Reach | None:
    """Return where a result may differ from zero by where an operand does; None if anywhere.

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
        shape = eq.results[result].type.shape
        if isinstance(found, bool):
            return None if found else lambda masks: np.zeros((len(masks), *shape), bool)
        program = builder.program([supports.record(found)])
    if not atoms_in_use(program).isdisjoint(program.inputs[1:]):
        return None
    alone = rearrange(program, [0], [0])

    def reach(masks: Array) -> Array:
        if not masks.size:
            return np.zeros((len(masks), *shape), bool)
        return np.asarray(executable(batch_outputs(alone, len(masks), [True]))(masks)[0])

    return reach


def _units(x: tuple[int, ...], batch: Shared, numbers: Sequence[int]) -> Array:
    """Return masks of one element of every example each, by their numbers in the example."""
    shape = [1 if axis in batch.operands else n for axis, n in enumerate(x)]
    units = np.equal.outer(np.array(numbers, int), np.arange(prod(shape)))
    return np.broadcast_to(units.reshape(len(numbers), *shape), (len(numbers), *x))


def _within(x: tuple[int, ...], y: tuple[int, ...], batch: Shared, reach: Reach) -> Sums:
    """Ask one element of every example at once, for each."""
    inside = prod(x) // max(batch.size, 1)
    which, rows = np.nonzero(reach(_units(x, batch, range(inside))).reshape(inside, prod(y)))
    numbers = np.arange(prod(x)).reshape(x)
    numbers = np.moveaxis(numbers, batch.operands, range(len(batch.operands)))
    table = numbers.reshape(batch.size, inside)
    return Sums(rows, table[batch.of(y, batch.results)[rows], which])
