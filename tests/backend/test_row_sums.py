"""Rows that a kernel adds up by index have the bits that `numpy.add.at` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.kernels import Kernel

CALLS = 4


def rows(dtype: Any, shape: tuple[int, ...] = (50, 7)) -> Any:
    random = np.random.default_rng(0)
    return (random.normal(size=shape) * 10.0 ** random.integers(-9, 9, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.longdouble])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.uint64])
def test_sums_have_the_bits_of_add_at(dtype: Any, kind: Any) -> None:
    x, u = rows(dtype), rows(dtype, (400, 7))
    u[3], u[4, 0] = np.inf, np.nan
    index = np.random.default_rng(1).integers(0, 50, 400).astype(kind)

    def added(x: Any, u: Any, index: Any) -> Any:
        y = x.copy()
        np.add.at(y, index, u)
        return y

    expected = added(x, u, index)
    kernel = Kernel(fd.trace(added)(x, u, index), None)
    for arranged in (np.ascontiguousarray, np.asfortranarray):
        for _ in range(CALLS):
            (found,) = kernel(arranged(x), arranged(u), index)
            np.testing.assert_array_equal(found, expected)


def test_rows_are_added_by_the_product_wherever_they_go() -> None:
    x, u, index = rows(float), rows(float, (400, 7)), np.arange(400) % 50

    def added(start: Any, u: Any) -> Any:
        np.add.at(start, index, u)
        return start

    def to_zeros(x: Any, u: Any) -> Any:
        return added(np.zeros_like(x), u)

    def to_a_copy(x: Any, u: Any) -> Any:
        return added(x.copy(), u)

    def in_place(x: Any, u: Any) -> Any:
        return added(x + 1.0, u)

    for function in (to_zeros, to_a_copy, in_place):
        kernel = Kernel(fd.trace(function)(x, u), None)
        assert "add_rows_" in kernel.source.text


def test_positions_from_the_end_and_outside() -> None:
    u, index = rows(float, (20, 30, 7)), np.random.default_rng(1).integers(-50, 50, (20, 30))
    index[-1, -1] = -1

    def added(u: Any, index: Any) -> Any:
        y = np.zeros_like(u, shape=(50, 7))
        np.add.at(y, index, u)
        return y * 2.0

    expected = added(u, index)
    kernel = Kernel(fd.trace(added)(u, index), None)
    for _ in range(CALLS):
        np.testing.assert_array_equal(kernel(u, index)[0], expected)
        with pytest.raises(IndexError, match="index 50 is out of bounds"):
            kernel(u, np.where(index == -1, 50, index))


def test_what_is_added_to_stays_as_it_was_where_it_is_seen() -> None:
    x, u, index = rows(float), rows(float, (400, 7)), np.arange(400) % 50

    def added(x: Any, u: Any) -> Any:
        y = np.sin(x)
        z = y.copy()
        np.add.at(z, index, u)
        np.add.at(z, index[::-1].copy(), u)
        return y, z

    expected = added(x, u)
    kernel = Kernel(fd.trace(added)(x, u), None)
    before = x.copy()
    for _ in range(CALLS):
        found = kernel(x, u, index, index[::-1].copy())
        for y, z in zip(found, expected, strict=True):
            np.testing.assert_array_equal(y, z)
        np.testing.assert_array_equal(x, before)


def test_rows_are_taken_as_an_index_takes_them() -> None:
    table = rows(float)
    for kind in (np.int64, np.int8, np.uint64):
        index = np.random.default_rng(1).integers(0, 50, (6, 30)).astype(kind)
        for x in (table, np.asfortranarray(table), table[::-1], table[:0]):
            if len(x):
                (found,) = Kernel(fd.trace(lambda x, i: x[i])(x, index), None)(x, index)
                np.testing.assert_array_equal(found, x[index])
                found[...] = 0.0
    np.testing.assert_array_equal(table, rows(float))
    with pytest.raises(IndexError, match="out of bounds"):
        fd.jit(lambda x, i: x[i])(table, np.full(60, 50))
