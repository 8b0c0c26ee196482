"""Zeros that a function contains keep their signs, whichever of them comes first."""

from __future__ import annotations

from typing import Any

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
