"""Masks go last in derivatives: an infinite coefficient never meets the zeros that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcdiff.core.parse import parse
from funcdiff.core.types import ArrayType
from funcdiff.passes import masking
from funcdiff.passes.simplify import simplify, simplify_linear
from tests.passes.rewrites import Masking, names, run

INF, NAN = np.inf, np.nan
INDICES = np.array([2, 2])
MASK = np.array([True, False, False])

CASES = [
    Masking(
        "_scale_masked",
        "%0: f64[3], %1: bool[3], %2: f64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = mul %3, %2
        %5: f64[3] = select %1, -0.0:f64[3], %0
        %6: f64[3] = mul %2, %5
        return %4, %6
        """,
        """
        %3: f64[3] = mul %0, %2
        %4: f64[3] = select %1, %3, 0.0:f64[3]
        %5: f64[3] = select %1, 0.0:f64[3], %3
        return %4, %5
        """,
        (MASK, np.array([INF, NAN, 3])),
        ([INF, 0, 0], [0, NAN, 6]),
    ),
    Masking(
        "_scale_padded",
        "%0: f64[2], %1: f64[3]",
        """
        %2: f64[3] = add_slice{starts=(0,), stops=(3,), steps=(2,)} 0.0:f64[3], %0
        %3: f64[3] = mul %2, %1
        %4: f64[3] = mul %1, %2
        return %3, %4
        """,
        """
        %2: f64[2] = slice{starts=(0,), stops=(3,), steps=(2,)} %1
        %3: f64[2] = mul %0, %2
        %4: f64[3] = add_slice{starts=(0,), stops=(3,), steps=(2,)} 0.0:f64[3], %3
        return %4, %4
        """,
        (np.array([3, INF, -INF]),),
        ([6, 0, -INF], [6, 0, -INF]),
    ),
    Masking(
        "_scale_scattered",
        "%0: f64[2], %1: f64[3], %2: i64[2]",
        """
        %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
        %4: f64[3] = mul %1, %3
        return %4
        """,
        """
        %3: f64[2] = gather{axes=(0,)} %1, %2
        %4: f64[2] = mul %0, %3
        %5: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %4, %2
        return %5
        """,
        (np.array([INF, NAN, 3]), INDICES),
        ([0, 0, 12],),
    ),
    Masking(
        "_scale_written",
        "%0: f64[4], %1: f64[3], %2: i64[4]",
        """
        %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
        %4: f64[3] = mul %3, %1
        return %4
        """,
        """
        %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
        %4: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], 1.0:f64[4], %2
        %5: bool[3] = not_equal %4, 0.0:f64[3]
        %6: f64[3] = mul %3, %1
        %7: f64[3] = select %5, %6, 0.0:f64[3]
        return %7
        """,
        (np.array([INF, 3, NAN]), np.array([1, 1, 1, 1])),
        ([0, 24, 0],),
    ),
    Masking(
        "_scale_written",
        "%0: f64[2], %1: f64[1], %2: f64[4]",
        """
        %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0
        %4: f64[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} %3, %1
        %5: f64[4] = mul %2, %4
        return %5
        """,
        """
        %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0
        %4: f64[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} %3, %1
        %5: f64[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} 0.0:f64[4], 1.0:f64[1]
        %6: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} %5, 1.0:f64[2]
        %7: bool[4] = not_equal %6, 0.0:f64[4]
        %8: f64[4] = mul %4, %2
        %9: f64[4] = select %7, %8, 0.0:f64[4]
        return %9
        """,
        (np.array([3, INF, NAN, INF]),),
        ([6, INF, 0, 0],),
        linear=2,
    ),
    Masking(
        "_scale_rearranged",
        "%0: f64[5], %1: f64[3,1,2]",
        """
        %2: f64[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} 0.0:f64[6], %0
        %3: f64[6] = reverse{axes=(0,)} %2
        %4: f64[1,2,3] = reshape{shape=(1, 2, 3)} %3
        %5: f64[3,1,2] = permute{axes=(2, 0, 1)} %4
        %6: f64[3,1,2] = mul %5, %1
        return %6
        """,
        """
        %2: f64[1,2,3] = permute{axes=(1, 2, 0)} %1
        %3: f64[6] = reshape{shape=(6,)} %2
        %4: f64[6] = reverse{axes=(0,)} %3
        %5: f64[5] = slice{starts=(1,), stops=(6,), steps=(1,)} %4
        %6: f64[5] = mul %0, %5
        %7: f64[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} 0.0:f64[6], %6
        %8: f64[6] = reverse{axes=(0,)} %7
        %9: f64[1,2,3] = reshape{shape=(1, 2, 3)} %8
        %10: f64[3,1,2] = permute{axes=(2, 0, 1)} %9
        return %10
        """,
        (np.array([[[3, 4]], [[5, -INF]], [[6, NAN]]]),),
        ([[[6, 8]], [[10, -INF]], [[12, 0]]],),
    ),
    Masking(
        "_scale_summed",
        "%0: f64[2,3], %1: bool[2,3], %2: f64[3]",
        """
        %3: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %4: f64[3] = reduce_sum{axes=(0,)} %3
        %5: f64[3] = mul %4, %2
        %6: f64[2,3] = select %1, 0.0:f64[2,3], %0
        %7: f64[3] = reduce_sum{axes=(0,)} %6
        %8: f64[3] = mul %2, %7
        return %5, %8
        """,
        """
        %3: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %4: f64[3] = reduce_sum{axes=(0,)} %3
        %5: bool[3] = reduce_any{axes=(0,)} %1
        %6: f64[3] = mul %4, %2
        %7: f64[3] = select %5, %6, 0.0:f64[3]
        %8: f64[2,3] = select %1, 0.0:f64[2,3], %0
        %9: f64[3] = reduce_sum{axes=(0,)} %8
        %10: bool[3] = reduce_all{axes=(0,)} %1
        %11: f64[3] = mul %9, %2
        %12: f64[3] = select %10, 0.0:f64[3], %11
        return %7, %12
        """,
        (np.array([[True, False, True], [False, False, True]]), np.array([3, INF, -INF])),
        ([6, 0, -INF], [6, INF, 0]),
    ),
    Masking(
        "_negate_masked",
        "%0: f64[3], %1: bool[3], %2: f64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = neg %3
        %5: f64[3] = mul %4, %2
        return %5
        """,
        """
        %3: f64[3] = neg %0
        %4: f64[3] = mul %3, %2
        %5: f64[3] = select %1, %4, 0.0:f64[3]
        return %5
        """,
        (MASK, np.array([3, INF, NAN])),
        ([-6, 0, 0],),
    ),
    Masking(
        "_broadcast_masked",
        "%0: f64[3], %1: bool[3], %2: f64[2,3]",
        """
        %3: f64[3] = select %1, 0.0:f64[3], %0
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %3
        %5: f64[2,3] = mul %4, %2
        return %5
        """,
        """
        %3: bool[2,3] = broadcast{shape=(2, 3), axes=(1,)} %1
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
        %5: f64[2,3] = mul %4, %2
        %6: f64[2,3] = select %3, 0.0:f64[2,3], %5
        return %6
        """,
        (MASK, np.array([[INF, 3, 4], [NAN, 5, -INF]])),
        ([[0, 6, 8], [0, 10, -INF]],),
    ),
    Masking(
        "_convert_masked",
        "%0: f64[3], %1: bool[3], %2: c64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: c64[3] = convert{dtype=c64} %3
        %5: c64[3] = mul %4, %2
        return %5
        """,
        """
        %3: c64[3] = convert{dtype=c64} %0
        %4: c64[3] = mul %3, %2
        %5: c64[3] = select %1, %4, complex(0.0, 0.0):c64[3]
        return %5
        """,
        (MASK, np.array([3 + 1j, INF, NAN])),
        ([6 + 2j, 0, 0],),
    ),
    Masking(
        "_add_masked",
        "%0: f64[3], %1: f64[3], %2: bool[3], %3: f64[3]",
        """
        %4: f64[3] = select %2, %0, 0.0:f64[3]
        %5: f64[3] = select %2, %1, 0.0:f64[3]
        %6: f64[3] = add %4, %5
        %7: f64[3] = mul %6, %3
        return %7
        """,
        """
        %4: f64[3] = add %0, %1
        %5: f64[3] = mul %4, %3
        %6: f64[3] = select %2, %5, 0.0:f64[3]
        return %6
        """,
        (MASK, np.array([3, INF, NAN])),
        ([12, 0, 0],),
        linear=2,
    ),
    Masking(
        "_add_masked",
        "%0: f64[3], %1: f64[3], %2: bool[3], %3: bool[3], %4: f64[3]",
        """
        %5: f64[3] = select %2, %0, 0.0:f64[3]
        %6: f64[3] = select %3, 0.0:f64[3], %1
        %7: f64[3] = add %5, %6
        %8: f64[3] = mul %7, %4
        return %8
        """,
        """
        %5: f64[3] = select %2, %0, 0.0:f64[3]
        %6: f64[3] = select %3, 0.0:f64[3], %1
        %7: bool[3] = logical_not %3
        %8: bool[3] = logical_or %2, %7
        %9: f64[3] = add %5, %6
        %10: f64[3] = mul %9, %4
        %11: f64[3] = select %8, %10, 0.0:f64[3]
        return %11
        """,
        (MASK, np.array([True, True, False]), np.array([INF, NAN, 3])),
        ([INF, 0, 6],),
        linear=2,
    ),
    Masking(
        "_add_masked",
        "%0: f64[3], %1: f64[3], %2: bool[3]",
        """
        %3: f64[3] = select %2, %0, 0.0:f64[3]
        %4: f64[3] = select %2, 0.0:f64[3], %1
        %5: f64[3] = add %3, %4
        return %5
        """,
        """
        %3: f64[3] = select %2, %0, 0.0:f64[3]
        %4: f64[3] = select %2, 0.0:f64[3], %1
        %5: bool[3] = logical_not %2
        %6: bool[3] = logical_or %2, %5
        %7: f64[3] = add %3, %4
        %8: f64[3] = select %6, %7, 0.0:f64[3]
        return %8
        """,
        (MASK,),
        ([2, 2, 2],),
        linear=2,
    ),
    Masking(
        "_mask_twice",
        "%0: f64[3], %1: bool[3], %2: bool[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = select %1, %3, 0.0:f64[3]
        %5: f64[3] = select %1, 0.0:f64[3], %0
        %6: f64[3] = select %1, 0.0:f64[3], %5
        %7: f64[3] = select %1, 0.0:f64[3], %3
        %8: f64[3] = select %2, %3, 0.0:f64[3]
        return %4, %6, %7, %8
        """,
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = select %1, 0.0:f64[3], %0
        %5: f64[3] = select %1, 0.0:f64[3], %3
        %6: f64[3] = select %2, %3, 0.0:f64[3]
        return %3, %4, %5, %6
        """,
        (MASK, np.array([False, True, True])),
        ([2, 0, 0], [0, 2, 2], [0, 0, 0], [0, 0, 0]),
    ),
]


def test_every_rule_is_named_here() -> None:
    assert names(masking.rules) == {case.rule for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_puts_the_other_side_of_its_identity(case: Masking) -> None:
    assert str(simplify_linear(case.program, case.flags)) == case.expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules_applied_again_find_nothing_more(case: Masking) -> None:
    once = simplify_linear(case.program, case.flags)
    assert simplify_linear(once, case.flags) == once


@pytest.mark.parametrize("case", CASES, ids=str)
def test_at_regular_points_both_sides_are_equal_to_rounding(case: Masking) -> None:
    random = np.random.default_rng(0)
    program = case.program
    for _ in range(5):
        arrays = [_regular(t, random) for t in program.input_types]
        after = run(simplify_linear(program, case.flags), arrays)
        for x, y in zip(run(program, arrays), after, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(y, x, rtol=16 * np.finfo(x.dtype).eps, atol=0)


def _regular(type_: ArrayType, random: np.random.Generator) -> Any:
    if type_.dtype.kind == "b":
        return random.random(type_.shape) < 0.5
    if type_.dtype.kind == "i":
        return random.integers(0, 3, type_.shape)
    x = random.uniform(0.5, 2, type_.shape)
    return (x + 1j * x[::-1] if type_.dtype.kind == "c" else x).astype(type_.dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_zeros_of_a_mask_stay_zero_under_infinite_coefficients(case: Masking) -> None:
    found = run(simplify_linear(case.program, case.flags), case.operands)
    for result, expected in zip(found, case.results, strict=True):
        np.testing.assert_array_equal(result, expected)


SCALED = [case for case in CASES if " = mul " in case.before]


@pytest.mark.parametrize("case", SCALED, ids=str)
def test_without_the_rules_the_zeros_would_be_lost(case: Masking) -> None:
    found = run(simplify(case.program), case.operands)
    pairs = list(zip(found, case.results, strict=True))
    assert any((np.isnan(result) & (np.asarray(expected) == 0)).any() for result, expected in pairs)


def test_values_are_left_alone_though_they_are_masked() -> None:
    """Only what depends on a tangent has structural zeros."""
    case = CASES[0]
    nothing = (False,) * len(case.program.inputs)
    assert simplify_linear(case.program, nothing) == simplify(case.program)
    assert simplify(case.program).equations[1].primitive.name == "mul"


def test_slices_that_write_everything_need_no_mask() -> None:
    text = "\n".join([
        "program(%0: f64[2], %1: f64[2], %2: f64[4]) {",
        "  %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0",
        "  %4: f64[4] = add_slice{starts=(2,), stops=(4,), steps=(1,)} %3, %1",
        "  %5: f64[4] = mul %4, %2",
        "  return %5",
        "}",
    ])  # fmt: skip
    assert str(simplify_linear(parse(text), (True, True, False))) == text
