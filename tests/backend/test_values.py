"""Compiled programs compute what the function does: arrays used again, NaN, whole products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd


@pytest.mark.parametrize("n", [3, 40])
def test_a_cotangent_to_which_a_piece_was_added_is_used_again(n: int) -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(w * x) + np.sum(np.sin(x[1:]))

    def both(x: Any, w: Any) -> Any:
        return fd.grad(f)(x, w), w * 3.0, fd.grad(f, 1)(x, w * x)

    x, w = np.linspace(0.0, 1.0, n), np.linspace(2.0, 5.0, n)
    expected = w + np.cos(x) * (np.arange(n) > 0), w * 3.0, x
    jitted = fd.jit(both)
    for _ in range(3):
        for ours, wanted in zip(jitted(x, w), expected, strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-14)


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("pair", [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), (2.0, 1.0)])
def test_the_larger_and_the_smaller_of_nan_and_a_number_are_numpys(f: Any, pair: Any) -> None:
    jitted = fd.jit(lambda x, y: f(x, y) * 2.0)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(*pair), f(*pair) * 2.0)
        rows = [np.full(2, x) for x in pair]
        np.testing.assert_array_equal(jitted(*rows), f(*rows) * 2.0)


@pytest.mark.parametrize("part", [np.tril, np.triu])
def test_a_product_that_is_returned_is_whole_though_one_triangle_is_used(part: Any) -> None:
    def f(a: Any, b: Any) -> Any:
        c = a @ b
        return c, part(c)

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 140, 140))
    jitted = fd.jit(f)
    for _ in range(2):
        whole, triangle = jitted(a, b)
        np.testing.assert_allclose(whole, a @ b, atol=1e-12)
        np.testing.assert_allclose(triangle, part(a @ b), atol=1e-12)
