"""Masks go last in derivatives: an infinite coefficient never meets the zeros that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.text.parse import parse
from funcdiff.core.types import ArrayType
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.passes.supports import masking
from tests.passes import supported
from tests.passes.rewrites import Masking, maskings, names, run
from tests.together import together

CASES = (
    maskings("""
mask_last(%0: f64[3], %1: bool[3], %2: f64[3])
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[3] = mul %3, %2
  %5: f64[3] = select %1, -0.0:f64[3], %0
  %6: f64[3] = mul %2, %5
  return %4, %6
=>
  %3: f64[3] = mul %0, %2
  %4: f64[3] = select %1, %3, 0.0:f64[3]
  %5: f64[3] = select %1, 0.0:f64[3], %3
  return %4, %5
given [True, False, False], [inf, nan, 3]
results [inf, 0, 0], [0, nan, 6]

mask_last(%0: f64[3], %1: bool[3], %2: f64[3])
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[3] = div %3, %2
  %5: f64[3] = select %1, 0.0:f64[3], %0
  %6: f64[3] = div %5, %2
  return %4, %6
=>
  %3: f64[3] = div %0, %2
  %4: f64[3] = select %1, %3, 0.0:f64[3]
  %5: f64[3] = select %1, 0.0:f64[3], %3
  return %4, %5
given [True, False, False], [0, nan, 4]
results [inf, 0, 0], [0, nan, 0.5]

_join_masks(%0: f64[3], %1: bool[3], %2: bool[3], %3: f64[3])
  %4: f64[3] = select %1, %0, 0.0:f64[3]
  %5: f64[3] = select %2, %4, 0.0:f64[3]
  %6: f64[3] = mul %5, %3
  %7: f64[3] = select %2, 0.0:f64[3], %4
  return %6, %7
=>
  %4: bool[3] = logical_and %2, %1
  %5: f64[3] = mul %0, %3
  %6: f64[3] = select %4, %5, 0.0:f64[3]
  %7: bool[3] = logical_not %1
  %8: bool[3] = logical_or %2, %7
  %9: f64[3] = select %8, 0.0:f64[3], %0
  return %6, %9
given [True, False, False], [True, True, False], [3, inf, nan]
results [6, 0, 0], [0, 0, 0]

work_inside(%0: f64[2], %1: f64[3])
  %2: f64[3] = add_slice{starts=(0,), stops=(3,), steps=(2,)} 0.0:f64[3], %0
  %3: f64[3] = mul %2, %1
  %4: f64[3] = mul %1, %2
  return %3, %4
=>
  %2: f64[2] = slice{starts=(0,), stops=(3,), steps=(2,)} %1
  %3: f64[2] = mul %0, %2
  %4: f64[3] = add_slice{starts=(0,), stops=(3,), steps=(2,)} 0.0:f64[3], %3
  return %4, %4
given [3, inf, -inf]
results [6, 0, -inf], [6, 0, -inf]

work_inside(%0: f64[2,1], %1: f64[1,3])
  %2: f64[3,1] = add_slice{starts=(0, 0), stops=(3, 1), steps=(2, 1)} 0.0:f64[3,1], %0
  %3: f64[1,3] = reshape{shape=(1, 3)} %2
  %4: f64[1,3] = mul %3, %1
  return %4
=>
  %2: f64[1,2] = reshape{shape=(1, 2)} %0
  %3: f64[1,2] = slice{starts=(0, 0), stops=(1, 3), steps=(1, 2)} %1
  %4: f64[1,2] = mul %2, %3
  %5: f64[1,3] = add_slice{starts=(0, 0), stops=(1, 3), steps=(1, 2)} 0.0:f64[1,3], %4
  return %5
given [[3, inf, -inf]]
results [[6, 0, -inf]]

_scale_scattered(%0: f64[2], %1: f64[3], %2: i64[2])
  %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
  %4: f64[3] = mul %1, %3
  return %4
=>
  %3: f64[2] = gather{axes=(0,)} %1, %2
  %4: f64[2] = mul %0, %3
  %5: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %4, %2
  return %5
given [inf, nan, 3], [2, 2]
results [0, 0, 12]

_record_masked(%0: f64[4], %1: f64[3], %2: i64[4]) written by index
  %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
  %4: f64[3] = mul %3, %1
  return %4
=>
  %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, %2
  %4: bool[3] = scatter_add{axes=(0,)} False:bool[3], True:bool[4], %2
  %5: f64[3] = mul %3, %1
  %6: f64[3] = select %4, %5, 0.0:f64[3]
  return %6
given [inf, 3, nan], [1, 1, 1, 1]
results [0, 24, 0]

_record_masked(%0: f64[2], %1: f64[1], %2: f64[4]) written in pieces
  %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0
  %4: f64[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} %3, %1
  %5: f64[4] = mul %2, %4
  return %5
=>
  %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0
  %4: f64[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} %3, %1
  %5: bool[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} False:bool[4], True:bool[2]
  %6: bool[4] = add_slice{starts=(1,), stops=(2,), steps=(1,)} %5, True:bool[1]
  %7: f64[4] = mul %2, %4
  %8: f64[4] = select %6, %7, 0.0:f64[4]
  return %8
given [3, inf, nan, inf]
results [6, inf, 0, 0]
linear 2

work_inside(%0: f64[2,2], %1: f64[3,4], %2: f64[4,5])
  %3: f64[3,4] = add_slice{starts=(1, 0), stops=(3, 4), steps=(1, 2)} 0.0:f64[3,4], %0
  %4: f64[4,4] = contract{left=(0, 1), right=(0, 2), out=(1, 2)} %1, %3
  %5: f64[5,3] = contract{left=(0, 1), right=(2, 0), out=(1, 2)} %2, %3
  return %4, %5
=>
  %3: f64[2,4] = slice{starts=(1, 0), stops=(3, 4), steps=(1, 1)} %1
  %4: f64[4,2] = contract{left=(0, 1), right=(0, 2), out=(1, 2)} %3, %0
  %5: f64[4,4] = add_slice{starts=(0, 0), stops=(4, 4), steps=(1, 2)} 0.0:f64[4,4], %4
  %6: f64[2,5] = slice{starts=(0, 0), stops=(4, 5), steps=(2, 1)} %2
  %7: f64[5,2] = contract{left=(0, 1), right=(2, 0), out=(1, 2)} %6, %0
  %8: f64[5,3] = add_slice{starts=(0, 1), stops=(5, 3), steps=(1, 1)} 0.0:f64[5,3], %7
  return %5, %8
given [[nan, inf, nan, 1], [1, 0, 2, 1], [0, 1, 1, 3]], [[1.0, 2, 0, 1, 3], [inf, nan, 1, 1, 1],
  [2, 1, 1, 0, 1], [nan, 1, 1, 1, 1]]
results [[2, 0, 2, 0], [2, 0, 2, 0], [6, 0, 6, 0], [8, 0, 8, 0]], [[0, 6, 6], [0, 6, 6], [0, 2,
  2], [0, 2, 2], [0, 8, 8]]

work_inside(%0: f64[2], %1: f64[2], %2: f64[2,3]) and multiplied
  %3: f64[3] = add_slice{starts=(0,), stops=(3,), steps=(2,)} 0.0:f64[3], %0
  %4: f64[2,3] = contract{left=(0,), right=(1,), out=(1, 0)} %3, %1
  %5: f64[2,3] = mul %4, %2
  return %5
=>
  %3: f64[2,2] = contract{left=(0,), right=(1,), out=(1, 0)} %0, %1
  %4: f64[2,2] = slice{starts=(0, 0), stops=(2, 3), steps=(1, 2)} %2
  %5: f64[2,2] = mul %3, %4
  %6: f64[2,3] = add_slice{starts=(0, 0), stops=(2, 3), steps=(1, 2)} 0.0:f64[2,3], %5
  return %6
given [2, 2], [[3, inf, 4], [-inf, nan, 5]]
results [[12, 0, 16], [-inf, 0, 20]]
""")
    + supported.CASES
)


@pytest.mark.slow
def test_masks_of_many_turns_do_not_pile_up() -> None:
    def halved(x: Any) -> Any:
        y = x
        for _ in range(300):
            y = 0.5 * np.sqrt(y * y)
        return y

    assert fd.grad(halved)(0.0) == 0
    assert fd.grad(halved)(2.0) == 0.5**300


def test_every_rule_is_named_here() -> None:
    rules = {*names(masking.rules), "_record_masked", "_mask_coefficient"}
    assert rules == {case.rule for case in CASES}


@together
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_puts_the_other_side_of_its_identity(case: Masking) -> None:
    assert str(simplify_linear(case.program, case.flags)) == case.expected


@together
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules_applied_again_find_nothing_more(case: Masking) -> None:
    once = simplify_linear(case.program, case.flags)
    assert simplify_linear(once, case.flags) == once


@together
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


@together
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


def test_masks_added_are_not_masked_where_nothing_is_multiplied() -> None:
    text = """program(%0: f64[3], %1: f64[3], %2: bool[3]) {
  %3: f64[3] = select %2, %0, 0.0:f64[3]
  %4: f64[3] = select %2, 0.0:f64[3], %1
  %5: f64[3] = add %3, %4
  return %5
}"""
    assert str(simplify_linear(parse(text), (True, True, False))) == text


def test_slices_that_write_everything_need_no_mask() -> None:
    text = """program(%0: f64[2], %1: f64[2], %2: f64[4]) {
  %3: f64[4] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[4], %0
  %4: f64[4] = add_slice{starts=(2,), stops=(4,), steps=(1,)} %3, %1
  %5: f64[4] = mul %4, %2
  return %5
}"""
    assert (
        str(simplify_linear(parse(text), (True, True, False)))
        == """program(%0: f64[2], %1: f64[2], %2: f64[4]) {
  %3: f64[4] = concatenate{axis=0} %0, %1
  %4: f64[4] = mul %3, %2
  return %4
}"""
    )
