"""Order of elements: sorting and searching, sets, positions in the flat array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_value


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (x, f(x)), x, has_aux=True)[2]


def test_named_results_of_unique_keep_their_names() -> None:
    grad = fd.grad(lambda x: np.sum(np.unique_all(x).values ** 2))(np.array([2.0, 1.0, 2.0]))
    np.testing.assert_array_equal(grad, [4.0, 2.0, 0.0])


def test_complex_numbers_are_sorted_by_real_and_imaginary_part() -> None:
    z = np.array([1 + 2j, 1 - 1j, 0 + 5j])
    y, t = fd.jvp(np.sort, (z,), (np.array([1.0, 2j, 3.0]) + 0j,))
    np.testing.assert_array_equal(y, np.sort(z))
    np.testing.assert_array_equal(t, [3.0, 2j, 1.0])


def test_positions_of_a_number_without_axes_are_those_of_numpy() -> None:
    assert np.array_equal(_value(np.argsort, np.float64(2.0)), [0])
    with pytest.raises(np.exceptions.AxisError):
        fd.grad(lambda x: np.sort(x).sum())(2.0)


@pytest.mark.parametrize("f", [
    lambda x: np.sort(x, kind="fast"),  # type: ignore[call-overload]
    lambda x: np.sort(x, kind="stable", stable=True),
    lambda x: np.partition(x, 9),
    lambda x: np.searchsorted(x, x, side="middle"),  # type: ignore[call-overload]
    lambda x: np.searchsorted(x, x, sorter=[0, 1, 2]),
    lambda x: np.searchsorted(x, x, sorter=np.argsort(x)[:1]),
    lambda x: np.digitize(x, [0, 2, 1]),
])  # fmt: skip
def test_wrong_arguments_raise_the_error_that_numpy_raises(f: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 2.0])
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        f(x)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        _value(f, x)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("f", [
    lambda x: np.sort(x, order="a"),
    lambda x: np.argsort(x, order="a"),
    lambda x: np.partition(x, 0, order="a"),
])  # fmt: skip
def test_fields_of_records_are_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"\(order=\)"):
        _value(f, np.array([1.0, 2.0]))


# ---- sets ----------------------------------------------------------------------------------------

A = np.array([3.0, 1, 2, 1, 3, -1, np.nan, np.nan])
B = np.array([1.0, 5, 3, 5, 0])

UNIQUE: list[Callable[..., Any]] = [
    np.unique,
    lambda x: np.unique(x, True, True, True),
    lambda x: np.unique(x, return_counts=True, equal_nan=False),
    lambda x: np.unique(x.reshape(4, 2)[:3], axis=1, return_index=True),
    np.unique_all,
    np.unique_counts,
    np.unique_inverse,
    np.unique_values,
]
SETS: list[Callable[..., Any]] = [
    np.intersect1d,
    lambda x, y: np.intersect1d(x, y, return_indices=True),
    lambda x, y: np.intersect1d(x[1:3], y[:2], assume_unique=True, return_indices=True),
    np.union1d,
    np.setdiff1d,
    lambda x, y: np.setdiff1d(x[1:3], y[:2], assume_unique=True),
    np.setxor1d,
    lambda x, y: np.setxor1d(x[1:3], y[:2], assume_unique=True),
    np.isin,
    lambda x, y: np.isin(x.reshape(2, 4), y, invert=True),
    lambda x, y: np.isin(x, [1, 2]),
    lambda x, y: np.isin(x, []),
]


@pytest.mark.parametrize("f", UNIQUE)
def test_distinct_elements_are_those_of_numpy(f: Callable[..., Any]) -> None:
    assert_value(f, A)


@pytest.mark.parametrize("f", SETS)
def test_sets_are_those_of_numpy(f: Callable[..., Any]) -> None:
    assert_value(f, A, B)


def test_the_derivative_belongs_to_the_first_of_equal_elements() -> None:
    weights = np.array([1.0, 10, 100])
    left, right = fd.grad(lambda x, y: weights[:2] @ np.intersect1d(x, y), (0, 1))(A[:6], B)
    np.testing.assert_array_equal(left, [10, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(right, np.zeros(5))
    gradient = fd.grad(lambda x: weights @ np.unique(x))(np.array([2.0, 1, 2, 0]))
    np.testing.assert_array_equal(gradient, [100, 10, 0, 1])


def test_membership_works_in_a_batch() -> None:
    found = fd.vmap(lambda x: np.isin(x, B) * x)(A[:6].reshape(2, 3))
    np.testing.assert_array_equal(found, (np.isin(A, B) * A)[:6].reshape(2, 3))


def test_a_table_of_floats_is_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match="table"):
        fd.grad(lambda x: np.sum(np.isin(x, B, kind="table") * x))(A[:6])


# ---- positions -----------------------------------------------------------------------------------

X_POSITIONS = np.array([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])


UNKNOWN: Any = "unknown"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (6,), (1, 2, 3)])
def test_indices_and_positions_are_numpys(order: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        indices = np.unravel_index(np.argsort(x, axis=None), shape, order)
        positions = np.ravel_multi_index(indices, shape, order=order)
        return np.sum(x), (indices, positions)

    _, (indices, positions) = fd.grad(f, has_aux=True)(X_POSITIONS)
    wanted = np.unravel_index(np.argsort(X_POSITIONS, axis=None), shape, order)
    for found, index in zip(indices, wanted, strict=True):
        np.testing.assert_array_equal(found, index)
        assert found.dtype == index.dtype
    np.testing.assert_array_equal(positions, np.argsort(X_POSITIONS, axis=None))


@pytest.mark.parametrize("mode", ["wrap", "clip", ("wrap", "clip")])
def test_positions_out_of_bounds_are_brought_back_as_the_mode_says(mode: Any) -> None:
    def f(x: Any) -> Any:
        order = np.argsort(x[0])
        return np.sum(x), np.ravel_multi_index((order + 5, order - 1), (2, 3), mode)

    order = np.argsort(X_POSITIONS[0])
    wanted = np.ravel_multi_index((order + 5, order - 1), (2, 3), mode)
    np.testing.assert_array_equal(fd.grad(f, has_aux=True)(X_POSITIONS)[1], wanted)


def test_the_element_at_the_largest_position_has_the_derivative() -> None:
    def f(x: Any) -> Any:
        return x[np.unravel_index(np.argmax(x), x.shape)] ** 2

    np.testing.assert_array_equal(fd.grad(f)(X_POSITIONS), [[0, 0, 0], [14, 0, 0]])
    batch = np.stack([X_POSITIONS, X_POSITIONS[:, ::-1]])
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
