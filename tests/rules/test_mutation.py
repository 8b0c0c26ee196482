"""Planted bugs: `check_rules` turns red on the samples of a primitive with one wrong rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from funcdiff.core import primitive as records
from funcdiff.core.primitive import primitives
from funcdiff.core.recording.builder import direct
from funcdiff.core.running import memo
from funcdiff.testing import check_rules
from tests.rules import mutants
from tests.rules.mutants import Rule
from tests.rules.test_rules import samples


class Mutation(NamedTuple):
    """A wrong rule, made from the right one, and whose samples tell, if not the primitive's own."""

    name: str
    primitive: str
    rule: str
    mutant: Callable[[Rule], Rule]
    told_by: str = ""


def clear_caches() -> None:
    """Forget every program that was derived by the rules as they were."""
    for cache in memo.caches:
        cache.cache_clear()
    direct.clear()
    records.forget_operations()


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


MUTATIONS = [
    Mutation("a derivative is off by a thousandth", "sin", "jvp", mutants.scaled_tangents(1.001)),
    Mutation("a derivative has the wrong sign", "arctan2", "jvp", mutants.scaled_tangents(-1.0)),
    Mutation("a sum of derivatives is off", "mul", "jvp", mutants.scaled_where_all_move),
    Mutation("half of the product rule is missing", "mul", "jvp", mutants.without_second_tangent),
    Mutation("ties are not shared", "reduce_max", "jvp", mutants.ties_counted_once_each),
    Mutation("one of two equal operands takes all", "maximum", "jvp", mutants.first_of_equal_wins),
    Mutation(
        "a product is divided by zero", "reduce_prod", "jvp", mutants.quotient_rule_of_products
    ),
    Mutation("factors are forgotten", "cumprod", "jvp", mutants.neighbours_only),
    Mutation("tangents stay where they were", "sort", "jvp", mutants.unsorted_tangent),
    Mutation("a step function has a slope", "floor", "jvp", mutants.tangent_kept),
    Mutation("a permutation is not inverted", "permute", "transpose", mutants.permuted_forward),
    Mutation("a cotangent is not reversed", "reverse", "transpose", mutants.not_reversed),
    Mutation(
        "a sum runs the wrong way", "cumsum", "transpose", mutants.summed_in_the_same_direction
    ),
    Mutation("axes stay where they were", "permute", "access", mutants.labelled_pointwise),
    Mutation("places along an axis are alone", "cumsum", "access", mutants.labelled_pointwise),
    Mutation("a matrix is a stack of vectors", "inv", "access", mutants.labelled_pointwise),
    Mutation("an axis is not turned around", "reverse", "access", mutants.labelled_pointwise),
    Mutation("a box is in the corner", "slice", "access", mutants.cut_from_the_start),
    Mutation("parts are in one place", "concatenate", "access", mutants.cut_from_the_start),
    Mutation("a step is forgotten", "slice", "transpose", mutants.without_step),
    Mutation("parts have no offset", "concatenate", "transpose", mutants.always_from_the_start),
    Mutation("the sides of a mask are exchanged", "select", "transpose", mutants.sides_exchanged),
    Mutation("positions are turned around", "gather", "transpose", mutants.positions_turned_around),
    Mutation("the base has no cotangent", "scatter_add", "transpose", mutants.base_forgotten),
    Mutation("conjugation is forgotten", "conj", "transpose", mutants.conjugation_forgotten),
    Mutation("i has the wrong sign", "imag", "transpose", mutants.on_the_other_imaginary_axis),
    Mutation(
        "one factor has the wrong sign", "contract", "transpose", mutants.right_operand_negated
    ),
    Mutation("the batch axis is summed", "reduce_sum", "batch", mutants.axes_not_shifted),
    Mutation("the batch axis is accumulated", "cumsum", "batch", mutants.axis_not_shifted),
    Mutation("the batch axis comes last", "contract", "batch", mutants.label_behind),
    Mutation("examples share their indices", "gather", "batch", mutants.indices_shared),
    Mutation("positions are recorded too narrow", "argmax", "abstract", mutants.narrower_result),
    Mutation("a comparison is recorded as a number", "less", "abstract", mutants.operand_dtype),
    Mutation("an operand is overwritten", "neg", "impl", mutants.in_place),
    Mutation(
        "the other branch is linearized", "cond", "linearize", mutants.tangents_of_the_other_branch
    ),
    Mutation("the other branch is pushed", "cond", "jvp", mutants.tangents_of_the_other_branch),
    Mutation("all examples take one branch", "cond", "batch", mutants.first_branch_for_all),
    Mutation("a loop is transposed forwards", "scan", "transpose", mutants.walked_forward),
    Mutation("a loop is batched backwards", "scan", "batch", mutants.walked_forward),
    Mutation("constants have no cotangent", "scan", "transpose", mutants.sums_forgotten),
    Mutation("constants of a while loop do not move", "while_loop", "jvp", mutants.constants_held),
    Mutation(
        "constants are held in its tangents", "while_loop", "linearize", mutants.constants_held
    ),
    Mutation("a while loop loses its constants", "while_loop", "transpose", mutants.sums_forgotten),
    Mutation(
        "examples leave it in another order", "while_loop", "batch", mutants.examples_turned_around
    ),
    Mutation("a custom rule has the wrong sign", "custom", "jvp", mutants.scaled_tangents(-1.0)),
    Mutation(
        "it has the wrong sign in reverse", "custom", "linearize", mutants.scaled_tangents(-1.0)
    ),
    Mutation("custom examples are exchanged", "custom", "batch", mutants.examples_turned_around),
    Mutation(
        "a backward rule is negated", "custom_tangent", "transpose", mutants.cotangents_negated,
        told_by="custom",
    ),
    Mutation("a checkpoint drops a result", "checkpoint", "jvp", mutants.last_tangent_dropped),
    Mutation(
        "a checkpoint drops a residual", "checkpoint", "linearize", mutants.last_tangent_dropped
    ),
    Mutation("a checkpoint is negated", "checkpoint", "transpose", mutants.cotangents_negated),
    Mutation("a checkpoint mixes examples", "checkpoint", "batch", mutants.examples_turned_around),
    Mutation(
        "overwritten elements count", "replace_slice", "transpose", mutants.overwritten_still_counts
    ),
    Mutation(
        "every write counts, not the last", "scatter", "transpose", mutants.every_write_counts
    ),
    Mutation("writes go to other examples", "scatter", "batch", mutants.examples_turned_around),
    Mutation("a transform is not transposed", "fft", "transpose", mutants.inverted),
    Mutation("a real transform is negated", "irfft", "transpose", mutants.cotangents_negated),
    Mutation("the batch axis is transformed", "irfft", "batch", mutants.transform_axis_not_shifted),
    Mutation("one factor does not move", "qr", "jvp", mutants.last_tangent_dropped),
    Mutation("singular vectors do not move", "svd", "linearize", mutants.last_tangent_dropped),
    Mutation("singular vectors are not pushed", "svd", "jvp", mutants.last_tangent_dropped),
    Mutation("a special function is off a little", "erf", "jvp", mutants.scaled_tangents(1.001)),
    Mutation("the order is held", "gammainc", "jvp", mutants.without_second_tangent),
]  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("mutation", [pytest.param(m, id=m.name) for m in MUTATIONS])
def test_a_planted_bug_turns_the_samples_red(mutation: Mutation) -> None:
    with planted(mutation), pytest.raises(AssertionError, match="not so for"):
        check_samples(mutation.told_by or mutation.primitive)


def test_the_rules_are_right_again_afterwards() -> None:
    with planted(MUTATIONS[0]):
        pass
    check_samples(MUTATIONS[0].primitive)
