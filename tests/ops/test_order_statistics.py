"""Order statistics: the values are those of sorting, and equal entries share a derivative."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcdiff as fd
from funcdiff.core.builder import Builder
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.sorting import order_statistics

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("count", [1, 3, 40], ids=["one", "few", "many"])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_values_are_those_of_the_sorted_array(count: int, axis: int) -> None:
    x = np.moveaxis(RNG.standard_normal((50, 3)), 0, axis)
    x.flat[::17] = np.nan
    levels = np.linspace(0, 1, count)
    expected = np.quantile(x, levels, axis=axis, method="lower")
    found = fd.jit(lambda x: np.quantile(x, levels, axis=axis, method="lower"))(x)
    assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [2, 17, 90], ids=["compared", "sorted", "often"])
def test_equal_entries_share_the_derivative_of_every_quantile(count: int) -> None:
    x = RNG.integers(0, 12, 60).astype(float)
    x[:2] = 0.0, -0.0
    levels = np.linspace(0, 1, count)
    values = np.quantile(x, levels, method="nearest")
    equal = (values[:, None] == x).astype(float)
    expected = equal / equal.sum(axis=1, keepdims=True)
    f: Any = lambda x: np.quantile(x, levels, method="nearest")
    assert_allclose(fd.jacobian(f)(x), expected, rtol=1e-15)
    assert_allclose(fd.jvp(f, (x,), (np.cos(x * 7 + 1),))[1], expected @ np.cos(x * 7 + 1))


def test_the_derivative_of_many_quantiles_is_as_large_as_the_data() -> None:
    levels = np.linspace(0, 1, 2_000)
    gradient = fd.grad(lambda x: np.sum(np.quantile(x, levels) ** 2))
    program: Any = fd.trace(gradient)(RNG.standard_normal(3_000))
    sizes = [y.type.size for equation in program.equations for y in equation.results]
    assert max(sizes) <= 2 * 3_000


def test_positions_of_another_shape_are_refused() -> None:
    with Builder("test") as builder:
        x = builder.input(ArrayType((4, 3), np.dtype(float)))
        positions = builder.input(ArrayType((2, 2), np.dtype(int)))
        with pytest.raises(TypeError, match="cannot read f64"):
            order_statistics(x, positions, 0)
