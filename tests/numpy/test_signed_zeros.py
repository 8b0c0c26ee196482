"""Zeros keep their signs, whichever comes first; the sign of complex numbers is NumPy's."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd

ZEROS = [0.0, -0.0, complex(0.0, -0.0), complex(-0.0, 0.0), complex(-0.0, 2.0), complex(3.0, -0.0)]


@pytest.mark.parametrize("order", [1, -1])
def test_zeros_of_both_signs_in_one_function_are_those_of_numpy(order: int) -> None:
    def f(x: Any) -> Any:
        complexes = [np.multiply(1 + 0 * x, z) for z in ZEROS[2:][::order]]
        return [np.copysign(x, z) for z in ZEROS[:2][::order]], complexes, np.arctan2(x * 0.0, -0.0)

    def same(ours: Any, numpys: Any) -> None:
        np.testing.assert_array_equal(ours, numpys)
        np.testing.assert_array_equal(np.signbit(np.real(ours)), np.signbit(np.real(numpys)))
        np.testing.assert_array_equal(np.signbit(np.imag(ours)), np.signbit(np.imag(numpys)))

    for x in (np.array([1.0, -2.0]), 3.0):
        for _ in range(2):
            fd.pytree.map(same, fd.vjp(f, x)[0], f(x))
            fd.pytree.map(same, fd.jit(f)(x), f(x))


BOUNDS: Final = [0.0, -0.0, 1.0, -1.0, np.nan, None]


def _limited(low: Any, high: Any, x: Any) -> Any:
    return np.clip(x, low, high)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_limits_keep_the_zero_that_numpy_keeps(dtype: Any) -> None:
    x: Any = np.array([0.0, -0.0, 1.0, -1.0, np.nan], dtype)
    for low, high in list(product(BOUNDS, BOUNDS))[:-1]:
        for make in (lambda b: b, lambda b: None if b is None else np.full(5, b, dtype)):
            limited = partial(_limited, make(low), make(high))
            expected = limited(x)
            for found in (fd.vjp(limited, x)[0], fd.jit(limited)(x)):
                np.testing.assert_array_equal(found, expected)
                zero = expected == 0
                np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 1), (100,)])
def test_a_sum_of_negative_zeros_is_numpys(shape: Any) -> None:
    x: Any = np.full(shape, -0.0)
    for f in (np.sum, np.mean, lambda x: np.sum(x, 0), lambda x: np.dot(x.T, np.abs(x))):
        jitted = fd.jit(f)
        for _ in range(2):
            np.testing.assert_array_equal(np.signbit(jitted(x)), np.signbit(f(x)))


# ---- signs of complex numbers --------------------------------------------------------------------

PARTS = [0.0, -0.0, 1.0, -2.5, 1e30, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_sign_of_any_complex_number_is_numpys(dtype: Any) -> None:
    z: Any = np.array([complex(x, y) for x in PARTS for y in PARTS], dtype)
    with np.errstate(all="ignore"):
        (found,) = fd.evaluate(fd.trace(np.sign)(z), [z])
        expected = np.sign(z)
    assert found.dtype == expected.dtype
    for part, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_array_equal(part, wanted)
        number = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(part[number]), np.signbit(wanted[number]))


def test_the_sign_does_not_move_at_an_infinite_number() -> None:
    x, y = np.array([3.0, np.inf]), np.array([4.0, 1.0])

    def f(x: Any, y: Any) -> Any:
        return np.sum(np.sign(x + 1j * y).real)

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fd.grad(f)(x, y), [16 / 125, 0])
