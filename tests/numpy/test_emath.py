"""NumPy's functions whose results are complex where the real ones have no value: `np.emath`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError

FUNCTIONS: list[Callable[[Any], Any]] = [
    np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arcsin, np.emath.arccos,
    np.emath.arctanh, lambda x: np.emath.logn(2.5, x), lambda x: np.emath.power(x, 1.5),
    lambda x: np.emath.power(1.5, x), lambda x: np.emath.power(x, -1),
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.4, -0.4, 1.7, -2.3, np.array([0.3, 0.8]), np.array([0.3, -1.8])])
def test_values_are_numpys_and_derivatives_those_of_the_branch(f: Any, x: Any) -> None:
    def parts(x: Any) -> Any:
        y = f(x)
        return np.sum(np.real(y) * 2.0 + np.imag(y) * 3.0)

    assert fd.jit(f)(x).dtype == f(x).dtype
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    expected = np.real(slope) * 2.0 + np.imag(slope) * 3.0
    for derive in (fd.grad(parts), fd.jit(fd.grad(parts)), fd.jacfwd(parts)):
        np.testing.assert_allclose(derive(x), expected, 1e-7)
    twice = fd.hessian(parts)(x)
    moved = (fd.grad(parts)(x + 1e-6) - fd.grad(parts)(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.sum(twice, axis=-1) if np.ndim(x) else twice, moved, 1e-6, 1e-6)


def test_examples_of_both_kinds_have_no_common_dtype() -> None:
    def root(x: Any) -> Any:
        return np.emath.sqrt(x)

    np.testing.assert_array_equal(fd.vmap(root)(np.array([1.0, 4.0])), [1.0, 2.0])
    with pytest.raises(ConcreteValueError, match=r"test_emath\.py"):
        fd.vmap(root)(np.array([1.0, -4.0]))
