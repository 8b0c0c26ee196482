"""Order statistics: the values are those of sorting, and equal entries share a derivative."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.recording.builder import Builder
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.sorting import order_statistics

RNG = np.random.default_rng(5)


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
