"""Planted bugs: `check_rules` turns red on the samples of a primitive with one wrong rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from funcdiff.core import memo
from funcdiff.core import primitive as records
from funcdiff.core.builder import constant, direct
from funcdiff.core.primitive import primitives
from funcdiff.ops.cond import Cond
from funcdiff.ops.contract import contract
from funcdiff.ops.indexing import gather, scatter_add
from funcdiff.ops.logic import equal
from funcdiff.ops.reductions import cumprod, cumsum, reduce_max, reduce_prod
from funcdiff.ops.slicing import Slice, add_slice, slice_along
from funcdiff.ops.sorting import sort
from funcdiff.ops.structural import convert, permute, reverse, select
from funcdiff.space import broadcast, kept_axes, mul, neg, reduce_sum, zeros
from funcdiff.testing import check_rules
from tests.rules.test_rules import samples

Rule = Callable[..., Any]


class Mutation(NamedTuple):
    """A wrong rule, made from the right one."""

    name: str
    primitive: str
    rule: str
    mutant: Callable[[Rule], Rule]


def clear_caches() -> None:
    """Forget every program that was derived by the rules as they were."""
    for cache in memo.caches:
        cache.cache_clear()
    direct.clear()
    records._operations.clear()


@contextmanager
def planted(mutation: Mutation) -> Iterator[None]:
    """Replace one rule of a primitive for a while."""
    record = primitives[mutation.primitive]
    right = getattr(record, mutation.rule)
    object.__setattr__(record, mutation.rule, mutation.mutant(right))
    clear_caches()
    try:
        yield
    finally:
        object.__setattr__(record, mutation.rule, right)
        clear_caches()


def check_samples(primitive: str) -> None:
    """Check the rules of a primitive at all its samples."""
    for entry in samples()[primitive]:
        check_rules(entry.f, *entry.args, order=entry.order)


# ---- forward rules -----------------------------------------------------------------------------


def scaled_tangents(factor: float) -> Callable[[Rule], Rule]:
    def mutant(right: Rule) -> Rule:
        def rule(p: Any, xs: Any, ts: Any) -> Any:
            ys, tangents = right(p, xs, ts)
            return ys, [t if t is None else mul(t, constant(factor, t.type)) for t in tangents]

        return rule

    return mutant


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


def walked_forward(right: Rule) -> Rule:
    return lambda p, *rest: right(replace(p, reverse=not p.reverse), *rest)


def sums_forgotten(right: Rule) -> Rule:
    """Drop the cotangents of the constants of a loop."""

    def rule(p: Any, types: Any, cts: Any, xs: Any) -> Any:
        pulled = right(p, types, cts, xs)
        return [*(None for _ in range(p.constants)), *pulled[p.constants :]]

    return rule


MUTATIONS = [
    Mutation("a derivative is off by a thousandth", "sin", "jvp", scaled_tangents(1.001)),
    Mutation("a derivative has the wrong sign", "arctan2", "jvp", scaled_tangents(-1.0)),
    Mutation("half of the product rule is missing", "mul", "jvp", without_second_tangent),
    Mutation("ties are not shared", "reduce_max", "jvp", ties_counted_once_each),
    Mutation("one of two equal operands takes all", "maximum", "jvp", first_of_equal_wins),
    Mutation("a product is divided by zero", "reduce_prod", "jvp", quotient_rule_of_products),
    Mutation("factors are forgotten", "cumprod", "jvp", neighbours_only),
    Mutation("tangents stay where they were", "sort", "jvp", unsorted_tangent),
    Mutation("a step function has a slope", "floor", "jvp", tangent_kept),
    Mutation("a permutation is not inverted", "permute", "transpose", permuted_forward),
    Mutation("a cotangent is not reversed", "reverse", "transpose", not_reversed),
    Mutation("a sum runs the wrong way", "cumsum", "transpose", summed_in_the_same_direction),
    Mutation("a step is forgotten", "slice", "transpose", without_step),
    Mutation("parts have no offset", "concatenate", "transpose", always_from_the_start),
    Mutation("the sides of a mask are exchanged", "select", "transpose", sides_exchanged),
    Mutation("positions are turned around", "gather", "transpose", positions_turned_around),
    Mutation("the base has no cotangent", "scatter_add", "transpose", base_forgotten),
    Mutation("conjugation is forgotten", "conj", "transpose", conjugation_forgotten),
    Mutation("i has the wrong sign", "imag", "transpose", on_the_other_imaginary_axis),
    Mutation("one factor has the wrong sign", "contract", "transpose", right_operand_negated),
    Mutation("the batch axis is summed", "reduce_sum", "batch", axes_not_shifted),
    Mutation("the batch axis is accumulated", "cumsum", "batch", axis_not_shifted),
    Mutation("the batch axis comes last", "contract", "batch", label_behind),
    Mutation("examples share their indices", "gather", "batch", indices_shared),
    Mutation("positions are recorded too narrow", "argmax", "abstract", narrower_result),
    Mutation("a comparison is recorded as a number", "less", "abstract", operand_dtype),
    Mutation("an operand is overwritten", "neg", "impl", in_place),
    Mutation("the other branch is linearized", "cond", "linearize", tangents_of_the_other_branch),
    Mutation("the other branch is pushed", "cond", "jvp", tangents_of_the_other_branch),
    Mutation("all examples take one branch", "cond", "batch", first_branch_for_all),
    Mutation("a loop is transposed forwards", "scan", "transpose", walked_forward),
    Mutation("a loop is batched backwards", "scan", "batch", walked_forward),
    Mutation("constants have no cotangent", "scan", "transpose", sums_forgotten),
]


@pytest.mark.parametrize("mutation", [pytest.param(m, id=m.name) for m in MUTATIONS])
def test_a_planted_bug_turns_the_samples_red(mutation: Mutation) -> None:
    with planted(mutation), pytest.raises(AssertionError, match="not so for"):
        check_samples(mutation.primitive)


def test_the_rules_are_right_again_afterwards() -> None:
    with planted(MUTATIONS[0]):
        pass
    check_samples(MUTATIONS[0].primitive)
