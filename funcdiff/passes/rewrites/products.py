"""Reorders chains of contractions in linear programs to take fewer operations.

The partial sums are others than without these rewrites, and have rounding errors of their own.

Without it Gaussian mixtures take 1.2 to 1.3 times as long, as do Gaussian processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from funcdiff.core.primitive import NONE
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import made_by
from funcdiff.ops.products.contract import Contraction, Labels, contract_p, contraction
from funcdiff.ops.structure.slicing import add_slice_p
from funcdiff.ops.structure.structural import Permutation, permute_p, reshape_p
from funcdiff.passes.rewrites.rewriting import Emit, Rules
from funcdiff.space import Axes, Broadcast, add_p, broadcast_p, mul_p, reduce_sum_p, splat, without


def _sum_of_product(emit: Emit, p: Axes, x: Tracer) -> Tracer | None:
    """Σₖ contract(x, y) = contract(Σₖ x, y) for an axis k that only x has, and so for y.

    An axis of both is contracted.
    """
    found = made_by(x, contract_p)
    if found is None:
        return None
    q, operands = found
    summed = {q.out[axis] for axis in p.axes}
    sides, alone = [], []
    for operand, side, other in zip(operands, (q.left, q.right), (q.right, q.left), strict=True):
        axes = tuple(k for k, label in enumerate(side) if label in summed.difference(other))
        alone.append(emit(reduce_sum_p, Axes(axes), operand) if axes else operand)
        sides.append(without(side, axes))
    left, right = sides
    out = tuple(label for label in q.out if label not in summed)
    return emit(contract_p, contraction(left, right, out), *alone)


def _regroup(emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """contract(x, contract(u, v)) = contract(contract(x, u), v), if less than half of the work."""
    for factor, labels, product, inner in _both_ways(p, x, y):
        found = made_by(product, contract_p)
        if found is None:
            continue
        q, (u, v) = found
        left, right = _rename(q, inner, max((*labels, *inner)) + 1)
        sizes = _sizes((labels, factor), (left, u), (right, v))
        work = _work(sizes, labels, inner)
        for first, side, second, last in ((u, left, v, right), (v, right, u, left)):
            kept = tuple(k for k in dict.fromkeys((*labels, *side)) if k in last or k in p.out)
            if 2 * (_work(sizes, labels, side) + _work(sizes, kept, last)) < work:
                partial = emit(contract_p, contraction(labels, side, kept), factor, first)
                return emit(contract_p, contraction(kept, last, p.out), partial, second)
    return None


def _distribute(emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """contract(x, y + z) = contract(x, y) + contract(x, z), if both are cheap (see `_cheaper`)."""
    for factor, labels, total, inner in _both_ways(p, x, y):
        found = made_by(total, add_p)
        if found is None:
            continue
        q = contraction(labels, inner, p.out)
        first, second = (_cheaper(emit, q, factor, term) for term in found[1])
        if first is not None and second is not None:
            return emit(add_p, NONE, first, second)
    return None


def _cheaper(emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """Return the contraction of an array with a diagonal matrix or a product, if it is cheap."""
    d = _diagonal(y)
    if d is None:
        return _regroup(emit, p, x, y)
    rows = [k for k in p.right if k in p.left and k not in p.out]
    columns = [k for k in p.right if k in p.out and k not in p.left]
    if not (rows and columns):
        return None
    (row,), (column,) = rows, columns
    # x·diag(d): the columns of x, scaled; its axis of the rows of diag(d) becomes that of columns
    own = tuple(column if k == row else k for k in p.left)
    moved = emit(permute_p, Permutation(tuple(own.index(k) for k in p.out)), x)
    scale = emit(broadcast_p, Broadcast(moved.shape, (p.out.index(column),)), d)
    return emit(mul_p, NONE, moved, scale)


def _diagonal(x: Tracer) -> Tracer | None:
    """Return the diagonal of a matrix that was made of it."""
    flat = made_by(x, reshape_p)
    made = made_by(flat[1][0], add_slice_p) if flat and x.ndim == 2 else None
    if made is None:
        return None
    p, (nothing, d) = made
    n = x.shape[0]
    square = x.shape == (n, n) and (p.starts, p.steps) == ((0,), (n + 1,))
    return d if square and d.shape == (n,) and splat(nothing) == 0 else None


def _both_ways(
    p: Contraction, x: Tracer, y: Tracer
) -> Iterator[tuple[Tracer, Labels, Tracer, Labels]]:
    """Yield both operands with their labels, each first once."""
    yield x, p.left, y, p.right
    yield y, p.right, x, p.left


def _rename(q: Contraction, out: Labels, free: int) -> tuple[Labels, Labels]:
    """Return the labels of a contraction's operands, given others for its result."""
    names = dict(zip(q.out, out, strict=True))
    for label in q.left:
        if label not in names:
            names[label] = free
            free += 1
    return tuple(names[k] for k in q.left), tuple(names[k] for k in q.right)


def _sizes(*sides: tuple[Labels, Tracer]) -> Mapping[int, int]:
    return {k: n for labels, x in sides for k, n in zip(labels, x.shape, strict=True)}


def _work(sizes: Mapping[int, int], left: Iterable[int], right: Iterable[int]) -> int:
    """Return how many products a contraction takes."""
    return math.prod(sizes[k] for k in {*left, *right})


sums: Final[Rules] = {(reduce_sum_p, contract_p): (_sum_of_product,)}
rules: Final[Rules] = {
    **sums,
    (contract_p, contract_p): (_regroup,),
    (contract_p, add_p): (_distribute,),
}
