"""The text of a function computes what the function does: dtypes, arrays written to and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.reading.test_text import assert_same_bits, executed

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


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "a full contraction": lambda a, b: np.einsum("ij,ij->", a, b),
    "a stacked one": lambda a, b: np.einsum("ij,ji->", a, b.T),
    "a dot product": lambda a, b: a[0] @ b[0],
    "a sum of products": lambda a, b: np.tensordot(a, b),
    "an element": lambda a, b: a[0, 1] * b[1, 0],
}


@pytest.mark.parametrize("f", NUMBERS.values(), ids=list(NUMBERS))
def test_a_written_function_returns_numbers_where_the_function_does(f: Any) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 2, 3))
    found = executed(fd.source(f)(a, b))(a, b)
    assert type(found) is type(fd.jit(f)(a, b)) is np.float64
    assert found == pytest.approx(f(a, b))
