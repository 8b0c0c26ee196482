"""Where the elements of a rearrangement come from: equal elements keep their order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.ops.axes.sorting import origins_p
from funcdiff.ops.structure.structural import Axis

RNG = np.random.default_rng(7)


def _origins(x: Any, y: Any) -> Any:
    return origins_p.impl(Axis(0))(x, y)


def _expected(x: Any, y: Any) -> Any:
    """Match elements of equal rank, by sorting both stably."""
    result = np.empty(x.size, int)
    result[np.argsort(y, kind="stable")] = np.argsort(x, kind="stable")
    return result


VALUES = st.lists(
    st.one_of(st.sampled_from([0.0, -0.0, np.nan, np.inf, 1.0]), st.floats(width=16)), max_size=20
)


@given(VALUES, st.sampled_from(["f2", "f4", "f8"]), st.randoms(use_true_random=False))
def test_elements_of_equal_rank_are_matched(values: Any, dtype: str, random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    x, y = np.array(values, dtype), np.array(shuffled, dtype)
    np.testing.assert_array_equal(_origins(x, y), _expected(x, y))


@pytest.mark.parametrize("x", [
    RNG.standard_normal(200_000),
    RNG.integers(0, 70_000, 200_000).astype(float),
    np.exp(RNG.standard_normal(100_000) * 100),
    RNG.standard_normal(100_000).astype("f4"),
], ids=["distinct", "tied", "of all sizes", "float32"])  # fmt: skip
def test_many_elements_are_matched(x: Any) -> None:
    y = RNG.permutation(x)
    np.testing.assert_array_equal(_origins(x, y), _expected(x, y))


def test_complex_elements_are_matched_by_both_parts() -> None:
    x = np.array([1 + 2j, 2 + 1j, 1 + 2j, 1 - 2j, complex(np.nan, 1), complex(1, -0.0), 1])
    y = x[[6, 4, 3, 2, 1, 0, 5]]
    np.testing.assert_array_equal(_origins(x, y), [5, 4, 3, 0, 1, 2, 6])


@pytest.mark.thinned(2)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_derivative_of_a_long_partition_follows_its_elements(axis: int) -> None:
    x = np.moveaxis(RNG.integers(0, 100_000, (2, 150_000)).astype(float), 1, axis)
    t = np.moveaxis(RNG.standard_normal((2, 150_000)), 1, axis)
    y, moved = fd.jvp(lambda x: np.partition(x, 60_000, axis=axis), (x,), (t,))
    rows = zip(*(np.moveaxis(z, axis, 1) for z in (x, y, t, moved)), strict=True)
    for a, b, before, after in rows:
        np.testing.assert_array_equal(after, before[_expected(a, b)])
