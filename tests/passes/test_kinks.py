"""Roots of squares: the same bits, and the derivative at the kink."""

from __future__ import annotations

import numpy as np
import pytest

from funcdiff.core.program import Program
from funcdiff.core.text.parse import parse
from funcdiff.passes.rewrites import norms
from funcdiff.passes.simplify import simplify
from funcdiff.transforms.jvp import jvp
from tests.passes.rewrites import Rewrite, names, require_same_bits, rewrites, run, singular_points

CASES = rewrites("""
_root_of_squares(%0: f64[3], %1: f64[3])
  %2: f64[3] = square %0
  %3: f64[3] = mul %1, %1
  %4: f64[3] = add %2, %3
  %5: f64[] = reduce_sum{axes=(0,)} %4
  %6: f64[] = sqrt %5
  return %6
=>
  %2: f64[3] = square %0
  %3: f64[3] = square %1
  %4: f64[3] = add %2, %3
  %5: f64[] = reduce_sum{axes=(0,)} %4
  %6: f64[] = root_of_squares %5
  return %6

_root_of_squares(%0: f32[2,3])
  %1: f32[3] = contract{left=(0, 1), right=(0, 1), out=(1,)} %0, %0
  %2: f32[1,3] = reshape{shape=(1, 3)} %1
  %3: f32[3,1] = permute{axes=(1, 0)} %2
  %4: f32[3,2,1] = broadcast{shape=(3, 2, 1), axes=(0, 2)} %3
  %5: f32[3,2,1] = sqrt %4
  return %5
=>
  %1: f32[3] = contract{left=(0, 1), right=(0, 1), out=(1,)} %0, %0
  %2: f32[1,3] = reshape{shape=(1, 3)} %1
  %3: f32[3,1] = permute{axes=(1, 0)} %2
  %4: f32[3,2,1] = broadcast{shape=(3, 2, 1), axes=(0, 2)} %3
  %5: f32[3,2,1] = root_of_squares %4
  return %5

_root_of_squares(%0: f64[3])
  %1: f64[3] = power %0, 4.0:f64[3]
  %2: f64[3] = sqrt %1
  return %2
=>
  %1: f64[3] = power %0, 4.0:f64[3]
  %2: f64[3] = root_of_squares %1
  return %2

_modulus(%0: f64[3])
  %1: f64[3] = square %0
  %2: f64[3] = fabs %1
  %3: f64[3] = sqrt %2
  return %3
=>
  %1: f64[3] = square %0
  %2: f64[3] = absolute %1
  %3: f64[3] = known %2, %1
  %4: f64[3] = root_of_squares %3
  return %4

_maximum(%0: f64[3])
  %1: f64[3] = square %0
  %2: f64[3] = maximum -0.0:f64[3], %1
  %3: f64[3] = sqrt %2
  return %3
=>
  %1: f64[3] = square %0
  %2: f64[3] = maximum -0.0:f64[3], %1
  %3: f64[3] = known %2, %1
  %4: f64[3] = root_of_squares %3
  return %4

_fmax(%0: f64[3])
  %1: f64[3] = square %0
  %2: f64[3] = fmax %1, -1.0:f64[3]
  %3: f64[3] = sqrt %2
  return %3
=>
  %1: f64[3] = square %0
  %2: f64[3] = fmax %1, -1.0:f64[3]
  %3: bool[3] = equal %1, %1
  %4: f64[3] = select %3, %1, 0.0:f64[3]
  %5: f64[3] = known %2, %4
  %6: f64[3] = root_of_squares %5
  return %6

_choice(%0: f64[3])
  %1: f64[3] = square %0
  %2: bool[3] = less_equal %1, 0.0:f64[3]
  %3: f64[3] = select %2, 0.0:f64[3], %1
  %4: f64[3] = sqrt %3
  return %4
=>
  %1: f64[3] = square %0
  %2: bool[3] = less_equal %1, 0.0:f64[3]
  %3: f64[3] = select %2, 0.0:f64[3], %1
  %4: bool[3] = equal %1, %1
  %5: f64[3] = select %4, %1, 0.0:f64[3]
  %6: f64[3] = known %3, %5
  %7: f64[3] = root_of_squares %6
  return %7

_state_once(%0: f64[3])
  %1: f64[3] = square %0
  %2: f64[3] = absolute %1
  %3: f64[3] = known %2, %1
  %4: f64[3] = known %3, %1
  %5: f64[3] = sqrt %4
  return %5
=>
  %1: f64[3] = square %0
  %2: f64[3] = absolute %1
  %3: f64[3] = known %2, %1
  %4: f64[3] = root_of_squares %3
  return %4
""")


def test_every_rule_is_named_here() -> None:
    assert names(norms.rules) == {case.rule for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_puts_one_operation_for_two(case: Rewrite) -> None:
    assert str(simplify(case.program)) == case.expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_was_simplified_stays_as_it_is(case: Rewrite) -> None:
    once = simplify(case.program)
    assert str(simplify(once)) == str(once)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_one_operation_has_the_value_of_the_two(case: Rewrite) -> None:
    before, after = case.program, parse(case.expected)
    for arrays in singular_points(before.input_types):
        require_same_bits(run(before, arrays), run(after, arrays))


def _slopes(program: Program, point: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the derivative along ones, where every input is filled with one number."""
    pushed, _ = jvp(program, (True,) * len(program.inputs))
    points = [np.full(t.shape, point, t.dtype) for t in program.input_types]
    return np.asarray(run(pushed, [*points, *map(np.ones_like, points)])[-1])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_derivative_is_the_same_away_from_the_kink(case: Rewrite) -> None:
    before, after = _slopes(case.program, 0.7), _slopes(simplify(case.program), 0.7)
    np.testing.assert_allclose(after, before, rtol=8 * np.finfo(before.dtype).eps)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_derivative_at_the_kink_is_a_number_only_after_the_rule(case: Rewrite) -> None:
    assert np.isnan(_slopes(case.program, 0.0)).all()
    assert (_slopes(simplify(case.program), 0.0) == 0).all()


@pytest.mark.parametrize(
    ("inputs", "equation"),
    [
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = mul %0, %1"),
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = power %0, 3.0:f64[3]"),
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = power %0, -2.0:f64[3]"),
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = power %0, %1"),
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = power %0, 0.0:f64[3]"),
        ("%0: f64[3], %1: f64[3]", "%2: f64[3] = exp %0"),
        ("%0: c128[3], %1: f64[3]", "%2: c128[3] = square %0"),
        ("%0: f64[3,3], %1: f64[]", "%2: f64[3,3] = contract{left=(0, 1), right=(1, 2), "
         "out=(0, 2)} %0, %0"),
    ],
)  # fmt: skip
def test_the_root_of_anything_else_stays(inputs: str, equation: str) -> None:
    result = equation.partition(" = ")[0].partition(": ")[2]
    text = f"program({inputs}) {{\n  {equation}\n  %3: {result} = sqrt %2\n  return %3\n}}"
    assert str(simplify(parse(text))) == text


def test_a_sum_of_a_square_and_something_else_is_no_sum_of_squares() -> None:
    text = "\n".join([
        "program(%0: f64[3]) {",
        "  %1: f64[3] = square %0",
        "  %2: f64[3] = add %1, %0",
        "  %3: f64[3] = sqrt %2",
        "  %4: f64[3] = square %2",
        "  return %3, %4",
        "}",
    ])  # fmt: skip
    assert str(simplify(parse(text))) == text


def test_the_square_of_a_norm_keeps_the_norms_derivative() -> None:
    (norm,) = rewrites("""
the square of a norm(%0: f64[3])
  %1: f64[3] = square %0
  %2: f64[] = reduce_sum{axes=(0,)} %1
  %3: f64[] = sqrt %2
  %4: f64[] = square %3
  return %4
""")
    program = norm.program
    assert _slopes(simplify(program), 0.0) == 0
    np.testing.assert_allclose(_slopes(simplify(program), 2.0), 12.0)
