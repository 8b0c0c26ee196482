"""Which results NumPy copies, and which are the array itself."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd


@pytest.mark.parametrize("copy", [
    lambda y: np.where(True, y, y),
    lambda y: np.where(True, y, 0.0),
    lambda y: np.clip(y, None, None),
    lambda y: np.conj(y),
])  # fmt: skip
def test_what_numpy_copies_is_changed_alone(copy: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = copy(y)
        z *= 2
        return np.sum(y)

    assert fd.value_and_grad(f)(np.ones(2))[0] == f(np.ones(2))
    np.testing.assert_array_equal(fd.grad(f)(np.ones(2)), [1.0, 1.0])


def test_the_conjugate_method_of_a_real_array_is_the_array() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.conj()[0] = 5.0
        return np.sum(y)

    assert fd.value_and_grad(f)(np.ones(2))[0] == f(np.ones(2)) == 6.0
    np.testing.assert_array_equal(fd.grad(f)(np.ones(2)), [0.0, 1.0])
