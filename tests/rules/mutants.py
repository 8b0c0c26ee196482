"""Wrong rules, each made from the right one with a mistake that people make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.access import Access, Cut, pointwise
from funcdiff.core.recording.builder import constant
from funcdiff.ops.axes.indexing import gather, scatter, scatter_add
from funcdiff.ops.axes.reductions import cumprod, cumsum, reduce_max, reduce_prod
from funcdiff.ops.axes.sorting import sort
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.products.contract import contract
from funcdiff.ops.products.fourier import irfft
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_along, take_slice
from funcdiff.ops.structure.structural import convert, permute, reverse, select
from funcdiff.space import broadcast, kept_axes, mul, neg, reduce_sum, zeros

Rule: TypeAlias = Callable[..., Any]


# ---- labels ------------------------------------------------------------------------------------


def labelled_pointwise(_right: Rule) -> Rule:
    return pointwise


def cut_from_the_start(right: Rule) -> Rule:
    def rule(p: Any, types: Any) -> Any:
        def moved(sides: Any) -> Any:
            return tuple(
                tuple(k._replace(start=0) if isinstance(k, Cut) else k for k in labels)
                for labels in sides
            )

        access = right(p, types)
        return Access(moved(access.results), moved(access.operands), access.combine)

    return rule


# ---- forward rules -----------------------------------------------------------------------------


def scaled_tangents(factor: float) -> Callable[[Rule], Rule]:
    def mutant(right: Rule) -> Rule:
        def rule(p: Any, xs: Any, ts: Any) -> Any:
            ys, tangents = right(p, xs, ts)
            return ys, [t if t is None else mul(t, constant(factor, t.type)) for t in tangents]

        return rule

    return mutant


def scaled_where_all_move(right: Rule) -> Rule:
    scaled = scaled_tangents(1.001)(right)
    return lambda p, xs, ts: (right if any(t is None for t in ts) else scaled)(p, xs, ts)


def without_second_tangent(right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        return right(p, xs, ts if ts[0] is None else (ts[0], None))

    return rule


def ties_counted_once_each(_right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        (x,), (t,) = xs, ts
        y = reduce_max(x, p.axes)
        winners = equal(x, broadcast(y, x.shape, kept_axes(x.ndim, p.axes)))
        return [y], [reduce_sum(select(winners, t, zeros(t.type)), p.axes)]

    return rule


def quotient_rule_of_products(_right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        y = reduce_prod(xs[0], p.axes)
        every = broadcast(y, xs[0].shape, kept_axes(xs[0].ndim, p.axes))
        return [y], [reduce_sum(mul(ts[0], every / xs[0]), p.axes)]

    return rule


def unsorted_tangent(_right: Rule) -> Rule:
    return lambda p, xs, ts: ([sort(xs[0], p.axis, p.kind)], list(ts))


def first_of_equal_wins(_right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        (x, y), (tx, ty) = xs, ts
        tx, ty = (zeros(x.type) if t is None else t for t in (tx, ty))
        return [np.maximum(x, y)], [select(x >= y, tx, ty)]

    return rule


def last_tangent_dropped(right: Rule) -> Rule:
    """Hold the last result that moves still."""

    def rule(p: Any, xs: Any, ts: Any) -> Any:
        ys, tangents = right(p, xs, ts)
        last = max((k for k, t in enumerate(tangents) if t is not None), default=None)
        return ys, [None if k == last else t for k, t in enumerate(tangents)]

    return rule


def tangent_kept(right: Rule) -> Rule:
    return lambda p, xs, ts: (right(p, xs, ts)[0], list(ts))


def neighbours_only(_right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        return [cumprod(xs[0], p.axis)], [cumsum(ts[0], p.axis)]

    return rule


# ---- transposes --------------------------------------------------------------------------------


def permuted_forward(_right: Rule) -> Rule:
    return lambda p, types, cts, xs: [permute(cts[0], p.axes)]


def not_reversed(_right: Rule) -> Rule:
    return lambda p, types, cts, xs: [cts[0]]


def without_step(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        stops = tuple(a + n for a, n in zip(p.starts, p.lengths, strict=True))
        return [add_slice(zeros(types[0]), cts[0], Slice(p.starts, stops, (1,) * len(stops)))]

    return rule


def always_from_the_start(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        return [slice_along(cts[0], p.axis, 0, t.shape[p.axis]) for t in types]

    return rule


def sides_exchanged(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        (ct,), (mask, x, y), zero = cts, xs, zeros(types[1])
        left, right = select(mask, zero, ct), select(mask, ct, zero)
        return [None, left if x is None else None, right if y is None else None]

    return rule


def positions_turned_around(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        indices = xs[1:]
        ct = reverse(cts[0], (0,)) if indices[0].ndim else cts[0]
        return [scatter_add(zeros(types[0]), ct, indices, p.axes), *(None for _ in indices)]

    return rule


def base_forgotten(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        indices = xs[2:]
        return [None, gather(cts[0], indices, p.axes), *(None for _ in indices)]

    return rule


def conjugation_forgotten(_right: Rule) -> Rule:
    return lambda p, types, cts, zs: [cts[0]]


def on_the_other_imaginary_axis(_right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, zs: Any) -> Any:
        return [mul(convert(cts[0], types[0].dtype), constant(1j, types[0]))]

    return rule


def right_operand_negated(right: Rule) -> Rule:
    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        left, other = right(p, types, cts, xs)
        return [left, None if other is None else neg(other)]

    return rule


def summed_in_the_same_direction(_right: Rule) -> Rule:
    return lambda p, types, cts, xs: [cumsum(cts[0], p.axis)]


def overwritten_still_counts(_right: Rule) -> Rule:
    """Give what is overwritten the whole cotangent."""

    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        (ct,), (x, v) = cts, xs
        return [ct if x is None else None, take_slice(ct, p) if v is None else None]

    return rule


def every_write_counts(_right: Rule) -> Rule:
    """Give a cotangent also to updates that a later one overwrites."""

    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        (ct,), (x, v, *indices) = cts, xs
        base = scatter(ct, zeros(types[1]), indices, p.axes, distinct=True) if x is None else None
        return [base, gather(ct, indices, p.axes) if v is None else None, *(None for _ in indices)]

    return rule


def inverted(_right: Rule) -> Rule:
    """Transpose a Fourier transform into its inverse, that is, its adjoint."""

    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        pulled: Any = np.fft.ifft(cts[0], axis=p.axis)
        return [convert(pulled, types[0].dtype)]

    return rule


def cotangents_negated(right: Rule) -> Rule:
    def rule(*operands: Any) -> Any:
        return [ct if ct is None else neg(ct) for ct in right(*operands)]

    return rule


# ---- batching, types, implementations ----------------------------------------------------------


def axes_not_shifted(_right: Rule) -> Rule:
    return lambda p, size, xs, batched: [reduce_sum(xs[0], p.axes)]


def axis_not_shifted(_right: Rule) -> Rule:
    return lambda p, size, xs, batched: [cumsum(xs[0], p.axis)]


def label_behind(_right: Rule) -> Rule:
    def rule(p: Any, size: int, xs: Any, batched: Any) -> Any:
        left, right = (
            (9, *side) if flag else side
            for side, flag in zip((p.left, p.right), batched, strict=True)
        )
        return [contract(xs[0], xs[1], left, right, (*p.out, 9))]

    return rule


def indices_shared(right: Rule) -> Rule:
    """Give every example the positions of the first one."""

    def rule(p: Any, size: int, xs: Any, batched: Any) -> Any:
        x, *indices = xs
        same = [i[0] if flag else i for i, flag in zip(indices, batched[1:], strict=True)]
        if not batched[0]:
            x = broadcast(x, (size, *x.shape), tuple(range(1, x.ndim + 1)))
        return right(p, size, [x, *same], [True, *(False for _ in same)])

    return rule


def examples_turned_around(right: Rule) -> Rule:
    return lambda p, size, xs, batched: [reverse(y, (0,)) for y in right(p, size, xs, batched)]


def transform_axis_not_shifted(_right: Rule) -> Rule:
    return lambda p, size, xs, batched: [irfft(xs[0], p)]


def narrower_result(right: Rule) -> Rule:
    return lambda p, *types: tuple(t.with_dtype(np.dtype(np.int32)) for t in right(p, *types))


def operand_dtype(_right: Rule) -> Rule:
    return lambda p, *types: types[:1]


def in_place(_right: Rule) -> Rule:
    return lambda p: lambda x: np.negative(x, out=x if isinstance(x, np.ndarray) else None)


# ---- control flow ------------------------------------------------------------------------------


def tangents_of_the_other_branch(right: Rule) -> Rule:
    def rule(p: Any, xs: Any, ts: Any) -> Any:
        return right(p, xs, ts)[0], right(Cond(p.branches[::-1]), xs, ts)[1]

    return rule


def first_branch_for_all(right: Rule) -> Rule:
    """Take the choice of the first example for all examples."""

    def rule(p: Any, size: int, xs: Any, batched: Any) -> Any:
        return right(p, size, [xs[0][0] if batched[0] else xs[0], *xs[1:]], [False, *batched[1:]])

    return rule


def constants_held(right: Rule) -> Rule:
    """Let the constants of a loop have no tangent, if its carry has one."""

    def rule(p: Any, xs: Any, ts: Any) -> Any:
        carry = ts[p.constants :]
        moving = any(t is not None for t in carry)
        return right(p, xs, [*(None for _ in range(p.constants)), *carry] if moving else ts)

    return rule


def walked_forward(right: Rule) -> Rule:
    return lambda p, *rest: right(replace(p, reverse=not p.reverse), *rest)


def sums_forgotten(right: Rule) -> Rule:
    """Drop the cotangents of the constants of a loop."""

    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        pulled = right(p, types, cts, xs)
        return [*(None for _ in range(p.constants)), *pulled[p.constants :]]

    return rule
