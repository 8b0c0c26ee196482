"""Reorders chains of contractions in linear programs to take fewer operations.

The partial sums are others than without these rewrites, and have rounding errors of their own.

Without it Gaussian mixtures take 1.2 to 1.3 times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.ops.products.contract import Contraction, Labels, contract_p, contraction
from funcdiff.passes.rewrites.rewriter import Emit, Rules
from funcdiff.space import Axes, reduce_sum_p, without


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
    for factor, labels, product, inner in ((x, p.left, y, p.right), (y, p.right, x, p.left)):
        found = made_by(product, contract_p)
        if found is None:
            continue
        q, (u, v) = found
        left, right = _rename(q, inner, max((*labels, *inner)) + 1)
        sides = ((labels, factor), (left, u), (right, v))
        sizes = {k: n for side, z in sides for k, n in zip(side, z.shape, strict=True)}
        work = _work(sizes, labels, inner)
        for first, side, second, last in ((u, left, v, right), (v, right, u, left)):
            kept = tuple(k for k in dict.fromkeys((*labels, *side)) if k in last or k in p.out)
            if 2 * (_work(sizes, labels, side) + _work(sizes, kept, last)) < work:
                partial = emit(contract_p, contraction(labels, side, kept), factor, first)
                return emit(contract_p, contraction(kept, last, p.out), partial, second)
    return None


def _rename(q: Contraction, out: Labels, free: int) -> tuple[Labels, Labels]:
    """Return the labels of a contraction's operands, given others for its result."""
    names = dict(zip(q.out, out, strict=True))
    for label in q.left:
        if label not in names:
            names[label] = free
            free += 1
    return tuple(names[k] for k in q.left), tuple(names[k] for k in q.right)


def _work(sizes: Mapping[int, int], left: Iterable[int], right: Iterable[int]) -> int:
    """Return how many products a contraction takes."""
    return math.prod(sizes[k] for k in {*left, *right})


sums: Final[Rules] = {(reduce_sum_p, contract_p): (_sum_of_product,)}
rules: Final[Rules] = {**sums, (contract_p, contract_p): (_regroup,)}
