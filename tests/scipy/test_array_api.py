"""What SciPy's code asks of array libraries beyond their standard."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff.scipy.array_api import apply_where, at, is_lazy_array


def test_only_an_array_without_values_is_lazy() -> None:
    seen: list[bool] = []

    def look(x: Any) -> Any:
        seen.append(is_lazy_array(x))
        return 2 * x

    look(1.0)
    fd.grad(look)(1.0)
    fd.jit(look)(1.0)
    assert not any(seen)
    fd.vmap(look)(np.ones(2))
    assert seen[-1]


def test_other_entries_are_set_in_arrays_and_scalars() -> None:
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        fd.jacobian(lambda x: at(x)[x > 1.5].set(0.0))(x), np.diag([1.0, 0.0, 0.0])
    )
    np.testing.assert_array_equal(at(x, 1).add(5.0), [1.0, 7.0, 3.0])
    np.testing.assert_array_equal(at(x)[1:].divide(2.0), [1.0, 1.0, 1.5])
    np.testing.assert_array_equal(at(x)[1:].multiply(x[:2]), [1.0, 2.0, 6.0])
    np.testing.assert_array_equal(at(x)[0].subtract(1.0), [0.0, 2.0, 3.0])
    assert fd.grad(lambda x: at(x)[x > 5].set(np.nan))(2.0) == 1.0
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_what_is_not_taken_has_no_part_in_the_derivative() -> None:
    def root(x: float) -> float:
        found: float = apply_where(x > 0, x, np.sqrt, fill_value=0.0)
        return found

    assert fd.grad(root)(4.0) == 0.25
    assert fd.grad(root)(-4.0) == 0.0
    assert fd.grad(lambda x: apply_where(x > 0, (x, x), np.multiply, np.add))(-4.0) == 2.0
