"""The sign of complex numbers, infinite ones too, to the bits of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

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
