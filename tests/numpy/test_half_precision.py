"""Moments of float16 are NumPy's, which adds up a mean in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

VALUES = np.random.default_rng(0).uniform(80, 120, (40, 60)).astype(np.float16)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("f", [
    np.mean, lambda x, axis: np.mean(x, axis, keepdims=True),
    lambda x, axis: np.mean(x, axis, np.float64), lambda x, axis: np.mean(x, axis, where=x > 100),
])  # fmt: skip
def test_the_mean_of_many_small_numbers_does_not_overflow(f: Any, axis: Any) -> None:
    expected = f(VALUES, axis)
    assert np.isfinite(expected).all()
    for found in (fd.vjp(lambda x: f(x, axis), VALUES)[0], fd.jit(lambda x: f(x, axis))(VALUES)):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("f", [
    np.max, np.min, np.nanmax, np.median, lambda x: np.maximum.accumulate(x)[-1],
    lambda x: np.fmin.accumulate(x)[-1],
])  # fmt: skip
def test_more_ties_than_half_precision_counts_share_alike(f: Any) -> None:
    x = np.zeros(70_000, np.float16)
    for derive in (fd.grad(f), fd.grad(fd.jit(f))):
        np.testing.assert_array_equal(derive(x), np.full(70_000, 1 / 70_000, np.float16))


def test_fractions_in_half_precision_of_more_entries_than_it_counts_give_what_numpy_gives() -> None:
    x, q = (np.arange(70_000) % 7).astype(np.float16), np.float16(0.5)
    with np.errstate(all="ignore"):
        expected = np.quantile(x, q)
        for found in (fd.vjp(lambda x: np.quantile(x, q), x)[0], fd.jit(np.quantile)(x, q)):
            np.testing.assert_array_equal(found, expected)
