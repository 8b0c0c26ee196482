"""Identities: each as text before and after, and both sides at singular points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcdiff.core.text.parse import parse
from funcdiff.passes.rewrites import algebra, numbers, rearranging
from funcdiff.passes.simplify import simplify, simplify_linear
from tests.passes.amounts import NUMBERS, PRODUCTS, SIGNS
from tests.passes.bits import ALGEBRA, LOGIC
from tests.passes.rewrites import Rewrite, names, require_same_bits, run, singular_points
from tests.passes.structures import STRUCTURE
from tests.together import together

KEEPING_BITS = [*ALGEBRA, *STRUCTURE, *LOGIC]
KEEPING_NUMBERS = [*NUMBERS, *SIGNS]


def test_every_rule_is_named_here() -> None:
    tables = [
        (algebra.rules, [*ALGEBRA, *LOGIC]),
        (rearranging.rules, STRUCTURE),
        (numbers.rules, NUMBERS),
        (numbers.signs, SIGNS),
        (numbers.products, PRODUCTS),
    ]
    for rules, cases in tables:
        assert names(rules) == {case.rule for case in cases}


@together
@pytest.mark.parametrize("case", KEEPING_BITS, ids=str)
def test_a_rule_puts_the_other_side_of_its_identity(case: Rewrite) -> None:
    assert str(simplify(case.program)) == case.expected


@pytest.mark.slow
@together
@pytest.mark.parametrize("case", KEEPING_BITS, ids=str)
def test_both_sides_of_an_identity_have_the_same_bits(case: Rewrite) -> None:
    before, after = case.program, parse(case.expected)
    for arrays in singular_points(before.input_types):
        require_same_bits(run(before, arrays), run(after, arrays))


@pytest.mark.parametrize("case", [*KEEPING_NUMBERS, *PRODUCTS], ids=str)
def test_a_rule_for_derivatives_puts_the_other_side_of_its_identity(case: Rewrite) -> None:
    program = case.program
    assert str(simplify_linear(program, (True,) * len(program.inputs))) == case.expected
    assert str(simplify(program)) == str(program)


@pytest.mark.parametrize("case", KEEPING_NUMBERS, ids=str)
def test_both_sides_of_an_identity_for_derivatives_are_the_same_numbers(case: Rewrite) -> None:
    before, after = case.program, parse(case.expected)
    for arrays in singular_points(before.input_types):
        moderate = [_moderate(x) for x in arrays]
        for x, y in zip(run(before, moderate), run(after, moderate), strict=True):
            assert np.array_equal(x, y, equal_nan=True)


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_both_sides_of_an_identity_of_products_are_the_same_up_to_rounding(case: Rewrite) -> None:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=t.shape) for t in case.program.input_types]
    for x, y in zip(run(case.program, arrays), run(parse(case.expected), arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


def _moderate(x: Any) -> Any:
    """Put zeros for what is not finite, or may over- or underflow on the way."""
    if x.dtype.kind not in "fc":
        return x
    size = np.abs(x)
    return np.where((size > 1e-290) & (size < 1e290), x, 0)[()]


def test_a_complex_infinity_survives_multiplication_by_one_in_derivatives_only() -> None:
    (case,) = (case for case in NUMBERS if case.rule == "_scale_by_complex_one")
    program = case.program
    z = np.full(3, complex(np.inf, 0))
    assert np.isnan(run(simplify(program), [z])[0].imag).all()
    assert np.array_equal(run(simplify_linear(program, (True,)), [z])[0], z)


@pytest.mark.parametrize(("inputs", "equation"), [
    ("%0: f64[3]", "%1: f64[3] = add %0, 0.0:f64[3]"),
    ("%0: f64[3]", "%1: f64[3] = sub %0, -0.0:f64[3]"),
    ("%0: f64[3]", "%1: f64[3] = mul %0, 0.0:f64[3]"),
    ("%0: i64[3]", "%1: i64[3] = mul 0:i64[3], %0"),
    ("%0: f64[3]", "%1: f64[3] = mul -1.0:f64[3], %0"),
    ("%0: c128[3]", "%1: c128[3] = mul %0, complex(1.0, 0.0):c128[3]"),
    ("%0: f64[3]", "%1: f64[3] = sub %0, %0"), ("%0: f64[3]", "%1: f64[3] = div %0, %0"),
    ("%0: i64[3]", "%1: bool[3] = equal %0, %0"),
    ("%0: c128[3]", "%1: f64[3] = convert{dtype=f64} %0"),
])  # fmt: skip
def test_what_is_true_of_numbers_but_not_of_bits_stays(inputs: str, equation: str) -> None:
    text = f"program({inputs}) {{\n  {equation}\n  return %1\n}}"
    assert str(simplify(parse(text))) == text


def test_additions_keep_their_order() -> None:
    text = """program(%0: f64[], %1: f64[]) {
  %2: f64[] = add %0, %1
  %3: f64[] = add %1, %0
  %4: f64[] = add %2, %1
  %5: f64[] = add %0, %4
  return %3, %5
}"""
    assert str(simplify(parse(text))) == text
