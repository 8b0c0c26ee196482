"""Identities: each as text before and after, and both sides at singular points."""

from __future__ import annotations

import numpy as np
import pytest

from funcdiff.core.parse import parse
from funcdiff.passes import algebra
from funcdiff.passes.simplify import simplify, simplify_linear
from tests.passes.rewrites import Rewrite, names, require_same_bits, run, singular_points

KEEPING_BITS = [
    Rewrite(
        "_scale_by_one",
        "%0: f64[3]",
        """
        %1: f64[3] = mul %0, 1.0:f64[3]
        %2: f64[3] = mul 1.0:f64[3], %1
        return %2
        """,
        "return %0",
    ),
    Rewrite(
        "_scale_by_one",
        "%0: i64[3], %1: bool[2], %2: f16[5], %3: flong[]",
        """
        %4: i64[3] = mul %0, 1:i64[3]
        %5: bool[2] = mul True:bool[2], %1
        %6: f16[5] = mul %2, 1.0:f16[5]
        %7: flong[] = mul 1.0:flong[], %3
        return %4, %5, %6, %7
        """,
        "return %0, %1, %2, %3",
    ),
    Rewrite(
        "_negate_twice",
        "%0: f64[3], %1: u8[3], %2: c128[2]",
        """
        %3: f64[3] = neg %0
        %4: f64[3] = neg %3
        %5: u8[3] = neg %1
        %6: u8[3] = neg %5
        %7: c128[2] = neg %2
        %8: c128[2] = neg %7
        return %4, %6, %8
        """,
        "return %0, %1, %2",
    ),
    Rewrite(
        "_conjugate_twice",
        "%0: c128[3]",
        """
        %1: c128[3] = conj %0
        %2: c128[3] = conj %1
        return %2
        """,
        "return %0",
    ),
    Rewrite(
        "_reshape_twice",
        "%0: f64[2,3]",
        """
        %1: f64[6] = reshape{shape=(6,)} %0
        %2: f64[3,2] = reshape{shape=(3, 2)} %1
        %3: f64[2,3] = reshape{shape=(2, 3)} %2
        return %2, %3
        """,
        """
        %1: f64[3,2] = reshape{shape=(3, 2)} %0
        return %1, %0
        """,
    ),
    Rewrite(
        "_permute_twice",
        "%0: f64[2,3,4,5]",
        """
        %1: f64[3,4,2,5] = permute{axes=(1, 2, 0, 3)} %0
        %2: f64[5,3,4,2] = permute{axes=(3, 0, 1, 2)} %1
        %3: f64[2,3,4,5] = permute{axes=(3, 1, 2, 0)} %2
        return %2, %3
        """,
        """
        %1: f64[5,3,4,2] = permute{axes=(3, 1, 2, 0)} %0
        return %1, %0
        """,
    ),
    Rewrite(
        "_reverse_twice",
        "%0: f64[2,3]",
        """
        %1: f64[2,3] = reverse{axes=(0,)} %0
        %2: f64[2,3] = reverse{axes=(0,)} %1
        %3: f64[2,3] = reverse{axes=(1,)} %1
        return %2, %3
        """,
        """
        %1: f64[2,3] = reverse{axes=(0,)} %0
        %2: f64[2,3] = reverse{axes=(1,)} %1
        return %0, %2
        """,
    ),
    Rewrite(
        "_broadcast_twice",
        "%0: f64[3]",
        """
        %1: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
        %2: f64[2,4,3,5] = broadcast{shape=(2, 4, 3, 5), axes=(0, 2)} %1
        return %2
        """,
        """
        %1: f64[2,4,3,5] = broadcast{shape=(2, 4, 3, 5), axes=(2,)} %0
        return %1
        """,
    ),
    Rewrite(
        "_convert_nothing",
        "%0: f64[3], %1: i64[3], %2: c128[3]",
        """
        %3: f64[3] = convert{dtype=f64} %0
        %4: c128[3] = convert{dtype=c128} %3
        %5: f64[3] = convert{dtype=f64} %4
        %6: f64[3] = convert{dtype=f64} %1
        %7: i64[3] = convert{dtype=i64} %6
        %8: f64[3] = convert{dtype=f64} %2
        %9: c128[3] = convert{dtype=c128} %8
        return %5, %7, %9
        """,
        """
        %3: f64[3] = convert{dtype=f64} %1
        %4: i64[3] = convert{dtype=i64} %3
        %5: f64[3] = convert{dtype=f64} %2
        %6: c128[3] = convert{dtype=c128} %5
        return %0, %4, %6
        """,
    ),
    Rewrite(
        "_real_of_real",
        "%0: f64[3], %1: f64[3], %2: f16[3]",
        """
        %3: c128[3] = convert{dtype=c128} %0
        %4: f64[3] = real %3
        %5: c128[3] = join %1, %0
        %6: f64[3] = real %5
        %7: c64[3] = join %2, %2
        %8: f32[3] = real %7
        return %4, %6, %8
        """,
        """
        %3: c64[3] = join %2, %2
        %4: f32[3] = real %3
        return %0, %1, %4
        """,
    ),
    Rewrite(
        "_imaginary_of_pair",
        "%0: f64[3], %1: f64[3], %2: f16[3]",
        """
        %3: c128[3] = join %0, %1
        %4: f64[3] = imag %3
        %5: c64[3] = join %2, %2
        %6: f32[3] = imag %5
        return %4, %6
        """,
        """
        %3: c64[3] = join %2, %2
        %4: f32[3] = imag %3
        return %1, %4
        """,
    ),
    Rewrite(
        "_broadcast_later",
        "%0: f64[3], %1: f64[3], %2: f64[]",
        """
        %3: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %1
        %5: f64[2,3] = broadcast{shape=(2, 3), axes=()} %2
        %6: f64[2,3] = div %3, %4
        %7: f64[2,3] = sub 1.0:f64[2,3], %3
        %8: f64[2,3] = neg %5
        %9: f64[2,3] = add %3, %5
        %10: f64[2,3] = exp %5
        return %6, %7, %8, %9, %10
        """,
        """
        %3: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=()} %2
        %5: f64[3] = div %0, %1
        %6: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %5
        %7: f64[3] = sub 1.0:f64[3], %0
        %8: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %7
        %9: f64[] = neg %2
        %10: f64[2,3] = broadcast{shape=(2, 3), axes=()} %9
        %11: f64[2,3] = add %3, %4
        %12: f64[2,3] = exp %4
        return %6, %8, %10, %11, %12
        """,
    ),
    Rewrite(
        "_both_with_constant",
        "%0: bool[3], %1: f64[3]",
        """
        %2: bool[3] = logical_and %0, True:bool[3]
        %3: bool[3] = logical_and False:bool[3], %0
        %4: bool[3] = logical_and %1, 1.0:f64[3]
        return %2, %3, %4
        """,
        """
        %2: bool[3] = logical_and %1, 1.0:f64[3]
        return %0, False:bool[3], %2
        """,
    ),
    Rewrite(
        "_either_with_constant",
        "%0: bool[3], %1: f64[3]",
        """
        %2: bool[3] = logical_or %0, True:bool[3]
        %3: bool[3] = logical_or False:bool[3], %0
        %4: bool[3] = logical_or %1, 0.0:f64[3]
        return %2, %3, %4
        """,
        """
        %2: bool[3] = logical_or %1, 0.0:f64[3]
        return True:bool[3], %0, %2
        """,
    ),
    Rewrite(
        "_select_same",
        "%0: bool[3], %1: f64[3], %2: f64[3]",
        """
        %3: f64[3] = select %0, %1, %1
        %4: f64[3] = select True:bool[3], %1, %2
        %5: f64[3] = select False:bool[3], %1, %2
        %6: f64[3] = select %0, nan:f64[3], nan:f64[3]
        %7: f64[3] = select %0, 0.0:f64[3], -0.0:f64[3]
        return %3, %4, %5, %6, %7
        """,
        """
        %3: f64[3] = select %0, 0.0:f64[3], -0.0:f64[3]
        return %1, %1, %2, nan:f64[3], %3
        """,
    ),
    Rewrite(
        "_contract_with_number",
        "%0: f64[2,3], %1: f64[], %2: c128[7], %3: c128[]",
        """
        %4: f64[3,2] = contract{left=(0, 1), right=(), out=(1, 0)} %0, %1
        %5: f64[2,3] = contract{left=(), right=(0, 1), out=(0, 1)} %1, %0
        %6: f64[] = contract{left=(), right=(), out=()} %1, %1
        %7: c128[7] = contract{left=(0,), right=(), out=(0,)} %2, %3
        return %4, %5, %6, %7
        """,
        """
        %4: f64[3,2] = permute{axes=(1, 0)} %0
        %5: f64[3,2] = broadcast{shape=(3, 2), axes=()} %1
        %6: f64[3,2] = mul %4, %5
        %7: f64[2,3] = broadcast{shape=(2, 3), axes=()} %1
        %8: f64[2,3] = mul %7, %0
        %9: f64[] = mul %1, %1
        %10: c128[7] = broadcast{shape=(7,), axes=()} %3
        %11: c128[7] = mul %2, %10
        return %6, %8, %9, %11
        """,
    ),
]

KEEPING_NUMBERS = [
    Rewrite(
        "_scale_by_complex_one",
        "%0: c128[3]",
        """
        %1: c128[3] = mul %0, complex(1.0, 0.0):c128[3]
        %2: c128[3] = mul complex(1.0, 0.0):c128[3], %1
        return %2
        """,
        "return %0",
    ),
    Rewrite(
        "_scale_by_minus_one",
        "%0: f64[3], %1: c128[3]",
        """
        %2: f64[3] = mul %0, -1.0:f64[3]
        %3: c128[3] = mul complex(-1.0, 0.0):c128[3], %1
        return %2, %3
        """,
        """
        %2: f64[3] = neg %0
        %3: c128[3] = neg %1
        return %2, %3
        """,
    ),
    Rewrite(
        "_accumulate_slice",
        "%0: f64[4], %1: f64[2], %2: f64[3]",
        """
        %3: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
        %4: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} 0.0:f64[4], %2
        %5: f64[4] = add %3, %4
        %6: f64[4] = add %4, %5
        return %6
        """,
        """
        %3: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
        %4: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} %3, %2
        %5: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} %4, %2
        return %5
        """,
    ),
    Rewrite(
        "_accumulate_scattered",
        "%0: f64[4], %1: f64[2], %2: f64[3]",
        """
        %3: f64[4] = replace_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
        %4: f64[4] = scatter_add{axes=(0,)} 0.0:f64[4], %2, 1:i64[3]
        %5: f64[4] = add %3, %4
        return %5
        """,
        """
        %3: f64[4] = replace_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
        %4: f64[4] = scatter_add{axes=(0,)} %3, %2, 1:i64[3]
        return %4
        """,
    ),
]


def test_every_rule_is_named_here() -> None:
    assert names(algebra.rules) == {case.rule for case in KEEPING_BITS}
    assert names(algebra.linear_rules) == {case.rule for case in KEEPING_NUMBERS}


@pytest.mark.parametrize("case", KEEPING_BITS, ids=str)
def test_a_rule_puts_the_other_side_of_its_identity(case: Rewrite) -> None:
    assert str(simplify(case.program)) == case.expected


@pytest.mark.parametrize("case", KEEPING_BITS, ids=str)
def test_both_sides_of_an_identity_have_the_same_bits(case: Rewrite) -> None:
    before, after = case.program, parse(case.expected)
    for arrays in singular_points(before.input_types):
        require_same_bits(run(before, arrays), run(after, arrays))


@pytest.mark.parametrize("case", KEEPING_NUMBERS, ids=str)
def test_a_rule_for_derivatives_puts_the_other_side_of_its_identity(case: Rewrite) -> None:
    program = case.program
    assert str(simplify_linear(program, (True,) * len(program.inputs))) == case.expected
    assert str(simplify(program)) == str(program)


@pytest.mark.parametrize("case", KEEPING_NUMBERS, ids=str)
def test_both_sides_of_an_identity_for_derivatives_are_the_same_numbers(case: Rewrite) -> None:
    before, after = case.program, parse(case.expected)
    for arrays in singular_points(before.input_types):
        numbers = [np.where(np.isfinite(x) & (np.abs(x) < 1e300), x, 0)[()] for x in arrays]
        for x, y in zip(run(before, numbers), run(after, numbers), strict=True):
            assert np.array_equal(x, y)


def test_a_complex_infinity_survives_multiplication_by_one_in_derivatives_only() -> None:
    program = KEEPING_NUMBERS[0].program
    z = np.full(3, complex(np.inf, 0))
    assert np.isnan(run(simplify(program), [z])[0].imag).all()
    assert np.array_equal(run(simplify_linear(program, (True,)), [z])[0], z)


@pytest.mark.parametrize(
    ("inputs", "equation"),
    [
        ("%0: f64[3]", "%1: f64[3] = add %0, 0.0:f64[3]"),
        ("%0: f64[3]", "%1: f64[3] = add -0.0:f64[3], %0"),
        ("%0: i64[3]", "%1: i64[3] = add %0, 0:i64[3]"),
        ("%0: f64[3]", "%1: f64[3] = mul %0, 0.0:f64[3]"),
        ("%0: i64[3]", "%1: i64[3] = mul 0:i64[3], %0"),
        ("%0: f64[3]", "%1: f64[3] = mul -1.0:f64[3], %0"),
        ("%0: c128[3]", "%1: c128[3] = mul %0, complex(1.0, 0.0):c128[3]"),
        ("%0: f64[3]", "%1: f64[3] = sub %0, %0"),
        ("%0: f64[3]", "%1: f64[3] = div %0, %0"),
        ("%0: i64[3]", "%1: bool[3] = equal %0, %0"),
        ("%0: c128[3]", "%1: f64[3] = convert{dtype=f64} %0"),
    ],
)
def test_what_is_true_of_numbers_but_not_of_bits_stays(inputs: str, equation: str) -> None:
    text = f"program({inputs}) {{\n  {equation}\n  return %1\n}}"
    assert str(simplify(parse(text))) == text


def test_additions_keep_their_order() -> None:
    text = "\n".join([
        "program(%0: f64[], %1: f64[]) {",
        "  %2: f64[] = add %0, %1",
        "  %3: f64[] = add %1, %0",
        "  %4: f64[] = add %2, %1",
        "  %5: f64[] = add %0, %4",
        "  return %3, %5",
        "}",
    ])  # fmt: skip
    assert str(simplify(parse(text))) == text
