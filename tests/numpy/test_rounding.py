"""Rounding, limits, repairs and tests on traced values; sinc, i0 and unwrap."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(9)
X = 20 * RANDOM.normal(size=(4, 5))
ODD = np.array([1.5, np.nan, -np.inf, np.inf, -2, -0.0])

TESTS: list[Function] = [
    lambda x: np.isclose(x, x * (1 + 1e-7)),
    lambda x: np.isclose(x, np.round(x), rtol=0, atol=0.2),
    lambda x: np.isclose(x, 3),
    lambda x: np.allclose(x, X),
    lambda x: np.allclose(x, X + 1),
    lambda x: np.array_equal(x, x),
    lambda x: np.array_equal(x, x[0]),
    lambda x: np.array_equiv(x[0], np.stack([x[0], x[0]])),
    np.isposinf,
    np.isneginf,
    np.isreal,
    np.iscomplex,
    np.iscomplexobj,
    np.isrealobj,
]


@pytest.mark.parametrize("f", TESTS)
def test_tests_on_values_are_those_of_numpy(f: Function) -> None:
    for x in (X, X.astype("f4")):
        found = fd.vjp(lambda x: (np.sum(x), f(x)), x, has_aux=True)[2]
        np.testing.assert_array_equal(found, f(x))


@pytest.mark.parametrize("f", [np.isposinf, np.isneginf, partial(np.isclose, b=ODD),
                               partial(np.isclose, b=ODD, equal_nan=True),
                               partial(np.array_equal, a2=ODD, equal_nan=True)])  # fmt: skip
def test_tests_meet_infinity_and_nan_as_numpy_does(f: Function) -> None:
    np.testing.assert_array_equal(fd.vjp(lambda x: (x[0], f(x)), ODD, has_aux=True)[2], f(ODD))


@pytest.mark.parametrize("f", [
    lambda n: np.round(n, -1), lambda n: np.round(n, 2), lambda n: np.clip(n, 3, 2.5),
    lambda n: np.clip(n, -(10**9), 7), lambda n: np.nan_to_num(n), np.i0, np.sinc,
])  # fmt: skip
def test_integers_are_treated_as_in_numpy(f: Function) -> None:
    n = np.arange(-15, 25, dtype="i4")
    found = fd.vjp(lambda x: (x, f(x.astype("i4"))), n.astype(float), has_aux=True)[2]
    assert found.dtype == f(n).dtype
    np.testing.assert_array_equal(found, f(n))


def test_what_nan_to_num_replaces_has_derivative_zero() -> None:
    expected = np.nan_to_num(ODD, nan=7, posinf=8, neginf=-9)
    f: Function = partial(np.nan_to_num, nan=7, posinf=8, neginf=-9)
    pull: Any
    value, pull = fd.vjp(f, ODD)
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(pull(np.ones(6))[0], [1, 0, 0, 0, 1, 1])


def test_nan_to_num_may_change_its_argument() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        assert np.nan_to_num(y, copy=False) is y
        return y

    np.testing.assert_array_equal(fd.vjp(f, ODD)[0], np.nan_to_num(ODD))


def test_sinc_is_smooth_at_zero() -> None:
    first, second = fd.grad(NP.sinc), fd.grad(fd.grad(NP.sinc))
    fourth = fd.grad(fd.grad(second))
    assert first(0.0) == 0
    np.testing.assert_allclose(second(0.0), -(np.pi**2) / 3, rtol=1e-15)
    np.testing.assert_allclose(fourth(0.0), np.pi**4 / 5, rtol=1e-14)
    np.testing.assert_allclose(second(1e-9), -(np.pi**2) / 3, rtol=1e-14)
    assert fd.jvp(NP.sinc, (0.0,), (1.0,))[1] == 0


def test_the_derivatives_of_i0_are_exact_at_zero_and_far_out() -> None:
    assert fd.grad(NP.i0)(0.0) == 0
    assert fd.grad(fd.grad(NP.i0))(0.0) == 0.5
    # I1(x) = x/2 + x**3/16 + ..., and I1(50), I1(700) by the asymptotic series 9.7.1
    np.testing.assert_allclose(fd.grad(NP.i0)(1e-6), 5.000000000000625e-07, rtol=1e-14)
    for x in (50.0, 700.0):
        terms = [1, -3 / (8 * x), -15 / (2 * (8 * x) ** 2), -315 / (6 * (8 * x) ** 3),
                 -14175 / (24 * (8 * x) ** 4), -1091475 / (120 * (8 * x) ** 5)]  # fmt: skip
        expected = np.exp(x) / np.sqrt(2 * np.pi * x) * sum(terms)
        np.testing.assert_allclose(fd.grad(NP.i0)(x), expected, rtol=1e-9)
    assert fd.grad(NP.i0)(-2.0) == -fd.grad(NP.i0)(2.0)


def test_nearly_real_numbers_become_real() -> None:
    assert fd.vjp(lambda x: np.real_if_close(x + 1e-20j), 2.0)[0].dtype == float
    assert fd.vjp(lambda x: np.real_if_close(x + 1j), 2.0)[0].dtype == complex


def test_out_receives_a_rounded_or_limited_array() -> None:
    def f(x: Any) -> Any:
        out = np.empty_like(x)
        assert np.clip(x, -5, 5, out=out) is out
        rounded = np.zeros_like(x)
        np.round(x, out=rounded)
        return out * rounded

    assert_value(f, X)
    assert_derivatives(f, X)
