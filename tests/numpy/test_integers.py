"""`round`, `math.floor` and their like of traced numbers: integers, which have no derivative."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError

ROUNDINGS: list[Callable[[Any], Any]] = [round, math.floor, math.ceil, math.trunc]
VALUES = np.array([2.5, -1.5, 3.7, -0.2, 4.0])


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_the_value_is_pythons(rounding: Callable[[Any], Any], kind: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return x * rounding(x) + rounding(x) / 2

    for x in map(kind, VALUES):
        n = rounding(float(x))  # np.float32 has no trunc
        expected = x * n + n / 2
        value, slope = fd.value_and_grad(f)(x)
        assert value == fd.jit(f)(x) == expected
        assert value.dtype == np.asarray(expected).dtype
        assert slope == n


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_examples_are_rounded_one_by_one(rounding: Callable[[Any], Any]) -> None:
    found = fd.vmap(rounding)(VALUES)
    np.testing.assert_array_equal(found, [rounding(x) for x in VALUES])
    assert found.dtype == np.int64


def test_decimals_leave_a_float() -> None:
    assert fd.value_and_grad(lambda x: x * round(x, 1))(1.77) == (1.77 * 1.8, 1.8)
    assert fd.grad(lambda x: x * round(x, -1))(17.0) == 20
    value = fd.jit(lambda x: np.ones(2, np.float32) * round(x, 1))(1.77)
    assert value.dtype == np.float32
    assert fd.jit(lambda x: round(x, 1))(np.float32(1.77)) == np.float32(1.8)


def test_an_integer_may_be_an_index_or_a_length() -> None:
    table = [1.0, 10.0, 100.0]
    assert fd.grad(lambda x: x * table[round(x)])(1.7) == 100
    assert fd.grad(lambda x: sum(x for _ in range(math.ceil(x))))(2.3) == 3
    assert fd.grad(lambda x: x * np.array(table)[math.floor(x)])(1.7) == 10

    def interpolated(x: Any) -> Any:
        k = math.floor(x)
        return table[k] + (x - k) * (table[k + 1] - table[k])

    assert fd.grad(interpolated)(1.5) == 90
    assert fd.jit(fd.grad(interpolated))(1.5) == 90
    with pytest.raises(ConcreteValueError, match="index of a list"):
        fd.jit(lambda x: table[round(x)], guards=False)(1.7)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_what_has_no_integer_raises(rounding: Callable[[Any], Any]) -> None:
    for value, error in ((np.nan, ValueError), (np.inf, OverflowError)):
        with pytest.raises(error, match="cannot convert float"):
            fd.grad(lambda x: x * rounding(x))(value)
        with pytest.raises(error, match="cannot convert float"):
            fd.jit(rounding)(value)
        with pytest.raises(error, match="cannot convert float"):
            fd.vmap(rounding)(np.array([1.0, value]))
    with pytest.raises(OverflowError, match="beyond the 64 bits"):
        fd.jit(rounding)(1e300)
    with pytest.raises(TypeError, match=r"takes a real number, not f64\[5\], at .*Use np\."):
        fd.grad(lambda x: np.sum(rounding(x)))(VALUES)
    with pytest.raises(TypeError, match=r"takes a real number, not c128\[\], at"):
        fd.jit(rounding)(1j)


def test_integers_and_booleans_are_rounded_too() -> None:
    assert fd.jit(lambda n: (round(n), round(n, -1), math.floor(n)))(17) == (17, 20, 17)
    assert fd.jit(lambda b: round(b))(np.True_) == 1


def test_a_traced_python_number_is_a_number() -> None:
    def f(x: Any) -> Any:
        counts = np.isscalar(x) and isinstance(x, numbers.Number)
        return (2.0 if counts else 1.0) * x

    assert f(3.0) == fd.jit(f)(3.0) == 6
    assert fd.grad(f)(3.0) == 2


def test_many_integers_are_checked_as_one_is() -> None:
    def f(x: Any, y: Any) -> Any:
        n, d = round(x), round(y)
        return n // d, n % d, n / d, n >> abs(d), round(x)

    x, y = np.array([7.2, -3.6, 9e15, 5.0]), np.array([2.0, -1.2, 7.0, -3.0])
    for found, *expected in zip(fd.vmap(f)(x, y), *map(f, x, y), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ZeroDivisionError):
        fd.vmap(f)(x, np.array([2.0, 0.2, 7.0, 1.0]))
    with pytest.raises(OverflowError, match=r"int\(1e\+19\) is beyond the 64 bits"):
        fd.vmap(f)(np.array([1.0, 1e19]), np.ones(2))


def test_a_plain_array_is_clipped_by_traced_bounds() -> None:
    numbers = np.array([0.0, 1.0, 2.0])
    for bounds in (
        lambda x: (0.5, x),
        lambda x: (x, 1.5),
        lambda x: (x, None),
        lambda x: (x, 2 * x),
    ):

        def f(x: Any, bounds: Any = bounds) -> Any:
            return np.sum(numbers.clip(*bounds(x)) * np.array([1.0, 2.0, 4.0]))

        slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
        for derive in (fd.grad(f), fd.jit(fd.jacfwd(f))):
            np.testing.assert_allclose(derive(0.7), slope, 1e-8, 1e-8)
        np.testing.assert_array_equal(fd.vmap(f)(np.array([0.7, 0.9])), [f(0.7), f(0.9)])
