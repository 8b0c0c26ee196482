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
