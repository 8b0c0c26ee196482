"""The text of a function computes what the function does: dtypes, arrays written to and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.backend.test_text import assert_same_bits

COUNTS = np.array([[100, 100, 3], [0, 7, 200]])


def _narrow_sums(x: Any) -> Any:
    return [
        getattr(np, name)(x, axis=axis, dtype=dtype)
        for name in ("sum", "prod")
        for axis in (None, 0, (0, 1))
        for dtype in (np.int8, np.uint8, np.int16, np.int32, np.float32)
    ]


def _narrow_cumulative_sums(x: Any) -> Any:
    return [
        getattr(np, name)(x, axis=axis, dtype=dtype)
        for name in ("cumsum", "cumprod")
        for axis in (None, 1)
        for dtype in (np.int8, np.uint8, np.float32)
    ]


def _kept_on_the_way(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    first = y.copy()
    y[1] = x[0] * 2
    second = y.copy()
    y[:, 1] += x[:, 0]
    return first, second, y, first * y


FUNCTIONS: list[Callable[[Any], Any]] = [_narrow_sums, _narrow_cumulative_sums, _kept_on_the_way]


@pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__.strip("_") for f in FUNCTIONS])
def test_the_text_of_a_function_computes_its_bits_and_dtypes(f: Callable[[Any], Any]) -> None:
    program = fd.trace(f)(COUNTS)
    assert_same_bits(program, [COUNTS])
