"""Compiled programs compute what the function does: arrays used again, NaN, whole products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.kernels import Kernel
from funcdiff.core.text.parse import parse
from tests.backend.test_kernels import assert_computes
from tests.backend.test_unrolling import assert_computes as assert_unrolled


def test_a_cotangent_to_which_a_piece_was_added_is_used_again() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(w * x) + np.sum(np.sin(x[1:]))

    def both(x: Any, w: Any) -> Any:
        return fd.grad(f)(x, w), w * 3.0, fd.grad(f, 1)(x, w * x)

    x, w = np.linspace(0.0, 1.0, 3), np.linspace(2.0, 5.0, 3)
    assert assert_unrolled(fd.trace(both)(x, w), [x, w])


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("pair", [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), (2.0, 1.0)])
def test_the_larger_and_the_smaller_of_nan_and_a_number_are_numpys(f: Any, pair: Any) -> None:
    jitted = fd.jit(lambda x, y: f(x, y) * 2.0)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(*pair), f(*pair) * 2.0)
        rows = [np.full(2, x) for x in pair]
        np.testing.assert_array_equal(jitted(*rows), f(*rows) * 2.0)


@pytest.mark.parametrize("kept", ["below=True, diagonal=1.0, above=False",
                                  "below=False, diagonal=0.5, above=True"])  # fmt: skip
def test_a_product_that_is_returned_is_whole_though_one_triangle_is_used(kept: str) -> None:
    program = parse(f"""\
program(%0: f64[140,140], %1: f64[140,140]) {{
  %2: f64[140,140] = contract{{left=(0, 1), right=(1, 2), out=(0, 2)}} %0, %1
  %3: f64[140,140] = part{{{kept}}} %2
  return %2, %3
}}""")
    a, b = np.random.default_rng(0).normal(size=(2, 140, 140))
    assert_computes(program, [a, b])
    out = np.full((140, 140), np.nan)  # as of a row that a loop stacks
    Kernel(program, None, (0,))(a, b, out)
    np.testing.assert_allclose(out, a @ b, atol=1e-12)


def test_slices_of_numbers_have_no_index() -> None:
    program = parse("""\
program(%0: f64[], %1: f64[]) {
  %2: f64[] = slice{starts=(), stops=(), steps=()} %0
  %3: f64[] = sin %1
  %4: f64[] = add_slice{starts=(), stops=(), steps=()} %3, %2
  %5: f64[] = mul %4, %4
  return %5, %2
}""")
    assert_computes(program, [np.float64(2.0), np.float64(3.0)])
