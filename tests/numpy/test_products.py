"""Products: NumPy's values to rounding, both modes to second order, and clear errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import value_under_trace

_random = np.random.default_rng(0)


def _array(*shape: int) -> Any:
    return _random.normal(size=shape)


V, W = _array(3), _array(3)
M, N = _array(2, 3), _array(3, 4)


def _assert_close(f: Callable[..., Any], args: Any) -> None:
    expected, found = f(*args), value_under_trace(f, *args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    assert found.shape == expected.shape


def test_einsum_honours_its_keywords() -> None:
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, dtype=complex), (M, N))
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, out=np.zeros_like(x @ y)), (M, N))
    _assert_close(lambda x: np.einsum("ij->i", x, dtype="f4", casting="same_kind"), (M,))
    with pytest.raises(TypeError, match="cast"):
        fd.vjp(lambda x: np.einsum("ij->i", x, dtype="f4"), M)


def test_integer_products_stay_integer() -> None:
    def f(x: Any) -> Any:
        k = np.floor(x).astype(int)
        return np.dot(k, k), np.einsum("i,j", k, k), np.convolve(k, k), np.matmul(k > 0, k > 0)

    for found, expected in zip(value_under_trace(f, 3 * V), f(3 * V), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
