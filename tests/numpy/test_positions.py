"""Positions in the flat array: numbers of NumPy's own, which have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.array([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])


UNKNOWN: Any = "unknown"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (6,), (1, 2, 3)])
def test_indices_and_positions_are_numpys(order: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        indices = np.unravel_index(np.argsort(x, axis=None), shape, order)
        positions = np.ravel_multi_index(indices, shape, order=order)
        return np.sum(x), (indices, positions)

    _, (indices, positions) = fd.grad(f, has_aux=True)(X)
    wanted = np.unravel_index(np.argsort(X, axis=None), shape, order)
    for found, index in zip(indices, wanted, strict=True):
        np.testing.assert_array_equal(found, index)
        assert found.dtype == index.dtype
    np.testing.assert_array_equal(positions, np.argsort(X, axis=None))


@pytest.mark.parametrize("mode", ["wrap", "clip", ("wrap", "clip")])
def test_positions_out_of_bounds_are_brought_back_as_the_mode_says(mode: Any) -> None:
    def f(x: Any) -> Any:
        order = np.argsort(x[0])
        return np.sum(x), np.ravel_multi_index((order + 5, order - 1), (2, 3), mode)

    order = np.argsort(X[0])
    wanted = np.ravel_multi_index((order + 5, order - 1), (2, 3), mode)
    np.testing.assert_array_equal(fd.grad(f, has_aux=True)(X)[1], wanted)


def test_the_element_at_the_largest_position_has_the_derivative() -> None:
    def f(x: Any) -> Any:
        return x[np.unravel_index(np.argmax(x), x.shape)] ** 2

    np.testing.assert_array_equal(fd.grad(f)(X), [[0, 0, 0], [14, 0, 0]])
    batch = np.stack([X, X[:, ::-1]])
    np.testing.assert_array_equal(fd.vmap(f)(batch), [49, 49])


@pytest.mark.parametrize("call", [
    lambda i: np.unravel_index(i + 6, (2, 3)),
    lambda i: np.ravel_multi_index((i, i + 3), (2, 3)),
    lambda i: np.ravel_multi_index((i, i), (2, 3), mode=UNKNOWN),
    lambda i: np.unravel_index(i, (2, 3), order=UNKNOWN),
])  # fmt: skip
def test_positions_that_are_not_there_raise_as_in_numpy(call: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(np.array([0]))

    def f(x: Any) -> Any:
        with pytest.raises(ValueError, match=r"out of bounds|clipmode|order"):
            call(np.argsort(x))
        return np.sum(x)

    fd.grad(f)(np.ones(1))
