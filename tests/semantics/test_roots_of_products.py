"""A root of |z|² is a norm, of slope 0 at 0; one of another product has its infinite slope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

U = np.array([1j, 2j, 1 + 1j])

NORMS: dict[str, Callable[[Any], Any]] = {
    "conjugate first": lambda z: np.conj(z) * z,
    "conjugate last": lambda z: z * np.conj(z),
    "turned twice": lambda z: (z * 1j) * np.conj(z * 1j),
}
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "conjugate first": lambda z: np.conj(z) * U,
    "conjugate last": lambda z: U * np.conj(z),
    "of two products": lambda z: np.conj(z * 2.0) * (U * 3.0),
}


@pytest.mark.parametrize("f", NORMS.values(), ids=list(NORMS))
def test_the_root_of_a_squared_modulus_has_no_slope_at_zero(f: Callable[[Any], Any]) -> None:
    def norm(x: Any) -> Any:
        return np.sqrt(np.sum(np.real(f(x * U))))

    x = np.zeros(3)
    np.testing.assert_array_equal(fd.grad(norm)(x), 0)
    assert fd.jvp(norm, (x,), (x + 1,))[1] == 0


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=list(PRODUCTS))
def test_the_root_of_a_product_of_different_numbers_is_no_norm(f: Callable[[Any], Any]) -> None:
    def root(x: Any) -> Any:
        return np.sqrt(np.sum(np.real(f(x * U))))

    x = np.zeros(3)
    assert fd.jvp(root, (x,), (x + 1,))[1] == np.inf
