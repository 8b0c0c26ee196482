"""Simplification as a whole: bits are kept, equal equations shared, dead ones dropped."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from docs.benchmarks.workloads import observations
from funcdiff.core.program import Program
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.core.types import ArrayType
from funcdiff.passes.simplify import simplify, simplify_linear
from tests.core.programs import programs, scalars
from tests.passes.rewrites import Rewrite, require_same_bits, rewrites, run, singular_points

# ---- random programs ---------------------------------------------------------------------------


@given(programs())
def test_simplifying_twice_is_simplifying_once(program: Program) -> None:
    once = simplify(program)
    assert simplify(once) == once


@given(programs())
def test_a_simplified_program_is_valid_and_no_longer(program: Program) -> None:
    once = simplify(program)
    check(once)
    assert once.input_types == program.input_types
    assert once.output_types == program.output_types
    assert _computing(once) <= _computing(program)


def _computing(program: Program) -> int:
    """Count the equations that are no views."""
    return sum(eq.primitive.facts.elements != "moved" for eq in program.equations)


@given(programs(), st.data())
def test_every_bit_is_kept_at_random_points(program: Program, data: st.DataObject) -> None:
    arrays = [_drawn(data, t) for t in program.input_types]
    require_same_bits(run(program, arrays), run(simplify(program), arrays))


def _drawn(data: st.DataObject, type_: ArrayType) -> Any:
    numbers = data.draw(st.lists(scalars(type_.dtype), min_size=type_.size, max_size=type_.size))
    return np.array(numbers, type_.dtype).reshape(type_.shape)[()]


@given(programs())
def test_every_bit_is_kept_at_singular_points(program: Program) -> None:
    once = simplify(program)
    for arrays in list(singular_points(program.input_types))[:12]:
        require_same_bits(run(program, arrays), run(once, arrays))


# ---- sharing and dead code -----------------------------------------------------------------------


SHARED_OR_DROPPED = rewrites("""
equal equations are shared through all that follows(%0: f64[3])
  %1: f64[3] = sin %0
  %2: f64[3] = sin %0
  %3: f64[] = reduce_sum{axes=(0,)} %1
  %4: f64[] = reduce_sum{axes=(0,)} %2
  %5: f64[] = div %3, %4
  return %5
=>
  %1: f64[3] = sin %0
  %2: f64[] = reduce_sum{axes=(0,)} %1
  %3: f64[] = div %2, %2
  return %3

equations that differ in a parameter or the bits of a literal are not shared(%0: f64[2,2])
  %1: f64[2] = reduce_sum{axes=(0,)} %0
  %2: f64[2] = reduce_sum{axes=(1,)} %0
  %3: f64[2,2] = mul %0, 0.0:f64[2,2]
  %4: f64[2,2] = mul %0, -0.0:f64[2,2]
  return %1, %2, %3, %4

dead equations fall away but inputs stay(%0: f64[3], %1: f64[3])
  %2: f64[3] = sin %0
  %3: f64[3] = cos %2
  %4: f64[3] = exp %0
  return %4
=>
  %2: f64[3] = exp %0
  return %2

what a rewrite leaves unused falls away(%0: f64[3], %1: bool[3])
  %2: f64[3] = neg %0
  %3: f64[3] = neg %2
  %4: f64[3] = sin %3
  %5: f64[3] = sin %0
  %6: f64[3] = select %1, %4, %5
  return %6
=>
  %2: f64[3] = sin %0
  return %2

operations on literals are computed(%0: f64[2])
  %1: f64[] = add 0.5:f64[], 1.0:f64[]
  %2: f64[] = div %1, 0.0:f64[]
  %3: f64[2] = broadcast{shape=(2,), axes=()} %2
  %4: i64[] = add 9223372036854775807:i64[], 1:i64[]
  %5: f64[3] = slice{starts=(0,), stops=(3,), steps=(1,)} 2.0:f64[5]
  %6: f64[] = convert{dtype=f64} complex(1.0, 2.0):c128[]
  return %3, %4, %5, %6
=>
  return inf:f64[2], -9223372036854775808:i64[], 2.0:f64[3], 1.0:f64[]

sums of literals stay because their order of addition is numpys()
  %0: f64[] = reduce_sum{axes=(0,)} 0.1:f64[1000]
  return %0
""")


@pytest.mark.parametrize("case", SHARED_OR_DROPPED, ids=str)
def test_what_is_simplified(case: Rewrite) -> None:
    assert str(simplify(case.program)) == case.expected


# ---- nested programs -----------------------------------------------------------------------------

BRANCH = """program(%0: f64[3]) {{
      %1: f64[3] = neg %0
      %2: f64[3] = neg %1
      %3: f64[3] = {name} %2
      %4: f64[3] = exp %0
      return %3
    }}"""


def test_the_branches_of_cond_are_simplified() -> None:
    branches = ", ".join(BRANCH.format(name=name) for name in ("sin", "cos"))
    text = f"""program(%0: i64[], %1: f64[3]) {{
  %2: f64[3] = cond{{branches=({branches})}} %0, %1
  return %2
}}"""
    assert (
        str(simplify(parse(text)))
        == """program(%0: i64[], %1: f64[3]) {
  %2: f64[3] = cond{branches=(program(%0: f64[3]) {
      %1: f64[3] = sin %0
      return %1
    }, program(%0: f64[3]) {
      %1: f64[3] = cos %0
      return %1
    })} %0, %1
  return %2
}"""
    )


def test_the_body_of_scan_is_simplified() -> None:
    text = """program(%0: f64[], %1: f64[4]) {
  %2: f64[], %3: f64[4] = scan{body=program(%0: f64[], %1: f64[]) {
      %2: f64[] = mul %0, 1.0:f64[]
      %3: f64[] = add %2, %1
      %4: f64[] = add %0, %1
      %5: f64[] = div %3, %4
      return %5, %2
    }, constants=0, carries=1, length=4, reverse=False} %0, %1
  return %2, %3
}"""
    assert (
        str(simplify(parse(text)))
        == """program(%0: f64[], %1: f64[4]) {
  %2: f64[], %3: f64[4] = scan{body=program(%0: f64[], %1: f64[]) {
      %2: f64[] = add %0, %1
      %3: f64[] = div %2, %2
      return %3, %0
    }, constants=0, carries=1, length=4, reverse=False} %0, %1
  return %2, %3
}"""
    )


MASKED = """program(%0: f64[{n}], %1: bool[{n}], %2: f64[{n}]) {{
      %3: f64[{n}] = select %1, %0, 0.0:f64[{n}]
      %4: f64[{n}] = mul %3, %2
      return %4
    }}"""


def test_masks_go_last_in_the_branches_of_a_linear_cond() -> None:
    branch = MASKED.format(n=3)
    text = f"""program(%0: f64[3], %1: i64[], %2: bool[3], %3: f64[3]) {{
  %4: f64[3] = cond{{branches=({branch}, {branch})}} %1, %0, %2, %3
  return %4
}}"""
    arrays = [np.full(3, 2.0), np.int64(1), np.array([True, False, False]), np.full(3, np.inf)]
    program = simplify_linear(parse(text), (True, False, False, False))
    assert np.array_equal(run(program, arrays)[0], [np.inf, 0, 0])
    assert np.isnan(run(simplify(parse(text)), arrays)[0][1:]).all()


def test_masks_go_last_in_the_body_of_a_linear_scan_for_carries_that_become_linear() -> None:
    text = """program(%0: f64[2], %1: bool[2], %2: f64[2]) {
  %3: f64[], %4: f64[2] = scan{body=program(%0: f64[], %1: f64[], %2: bool[], %3: f64[]) {
      %4: f64[] = select %2, %0, 0.0:f64[]
      %5: f64[] = mul %4, %3
      return %1, %5
    }, constants=0, carries=1, length=2, reverse=False} 2.0:f64[], %0, %1, %2
  return %3, %4
}"""
    arrays = [np.full(2, 2.0), np.array([True, False]), np.array([3.0, np.inf])]
    program = simplify_linear(parse(text), (True, False, False))
    assert np.array_equal(run(program, arrays)[1], [6, 0])
    assert np.isnan(run(simplify(parse(text)), arrays)[1][1])


def test_only_coefficients_are_computed_before_they_are_repeated() -> None:
    text = """program(%0: f64[3]) {
  %1: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
  %2: f64[2,3] = sqrt %1
  return %2
}"""
    assert str(simplify(parse(text), (True,))) == text
    assert (
        str(simplify(parse(text), (False,)))
        == """program(%0: f64[3]) {
  %1: f64[3] = sqrt %0
  %2: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %1
  return %2
}"""
    )


def test_a_function_of_what_a_jacobian_repeats_is_computed_once() -> None:
    (workload,) = observations.TINY
    program = fd.trace(fd.vmap(fd.jacobian(partial(workload.function, np))))(*workload.drawn())
    lines = [line for line in str(program).splitlines() if line.startswith("  %")]
    for name in (" cos ", " sin "):
        assert sum(name in line for line in lines) == 1


@pytest.mark.parametrize("shape", [(7, 129), (33, 1000), (1000, 100)])
def test_values_beside_derivatives_are_summed_in_numpys_order(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape[1])

    def f(x: Any) -> Any:
        rows, columns = np.broadcast_to(x, shape), np.broadcast_to(x[:, None], shape[::-1])
        return np.sum(rows * 0.1) + np.sum(columns * 0.3) + np.mean(-columns)

    assert fd.value_and_grad(f)(x)[0] == f(x)


# ---- derivatives ---------------------------------------------------------------------------------


def test_values_beside_derivatives_are_numpys_own_to_the_sign_of_a_nan() -> None:
    x = np.array([np.nan, -np.nan, np.inf, -0.0])

    def f(x: Any) -> Any:
        return np.sum(x), [np.signbit(x * -1.0), x * -1.0, (x + 0j) * (1 + 0j)]

    with np.errstate(all="ignore"):
        _, expected = f(x)
        (_, found), _ = fd.value_and_grad(f, has_aux=True)(x)
    require_same_bits(found, expected)


def test_the_gradient_of_an_infinite_complex_slope_is_infinite_and_not_nan() -> None:
    with np.errstate(all="ignore"):
        slope = fd.grad(lambda z: np.sum(np.real(np.exp(z))))(np.array([1000 + 0j]))
    assert np.array_equal(slope.real, [np.inf])
    assert np.array_equal(np.abs(slope.imag), [0])


def test_a_piece_of_nothing_takes_no_other_piece_away() -> None:
    x = np.array([0.1, 0.3, 0.5])
    for bounds in ([1, 1], [0, 2], [2, 2, 3], [0, 0, 1, 1, 3, 3]):
        split: Any = partial(np.split, indices_or_sections=bounds)
        ys, pull = fd.vjp(split, x)
        (ct,) = pull([np.cos(y) for y in ys])
        np.testing.assert_array_equal(ct, np.cos(x))
