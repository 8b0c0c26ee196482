"""Arrays as sets: values are NumPy's, and the derivative belongs to the representative."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_value

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
