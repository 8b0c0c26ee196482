"""NumPy's functions along one axis: cumulative sums, differences, gradients, interpolation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value

Function = Callable[..., Any]


RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4, 5))
V = RANDOM.normal(size=6)
KNOTS = np.sort(RANDOM.normal(size=5))
HEIGHTS = RANDOM.normal(size=5)
POINTS = np.array([-4.0, -0.7, -0.31, 0.1, 0.12, 0.9, 5.0])


@pytest.mark.parametrize("f", [
    lambda x: np.cumsum(x > 0, axis=0),
    lambda x: np.cumprod(np.round(x).astype("i2")),
    lambda x: np.diff(x > 0, axis=1),
    lambda x: np.cumsum(x, axis=1, dtype="f4"),
    lambda x: np.gradient(np.round(3 * x).astype(int), axis=0),
])  # fmt: skip
def test_dtypes_are_those_of_numpy(f: Function) -> None:
    found = fd.vjp(lambda x: (np.sum(x), f(x)), X, has_aux=True)[2]
    assert found.dtype == f(X).dtype
    np.testing.assert_array_equal(found, f(X))


def test_evenly_spaced_traced_coordinates_keep_all_their_derivatives() -> None:
    assert_derivatives(lambda t: np.gradient(V, t), np.arange(6.0))


def test_out_receives_a_cumulative_sum() -> None:
    def f(x: Any) -> Any:
        out = np.empty_like(x)
        assert np.cumsum(x, axis=0, out=out) is out
        return out * x

    assert_value(f, X)
    assert_derivatives(f, X)


# ---- interpolation ---------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{}, {"left": -3}, {"left": 1.5, "right": 0}, {"period": 1.3}])
def test_interpolation_has_the_values_of_numpy(keywords: dict[str, Any]) -> None:
    assert_value(lambda x: np.interp(x, KNOTS, HEIGHTS, **keywords), POINTS)
    assert_value(lambda x: np.interp(x[1:].reshape(2, 3), [0, 1], [3, 4], **keywords), POINTS)
    assert_value(lambda x: np.interp(x, [0.1], [2.0], **keywords), POINTS)
    assert_value(lambda y: np.interp(POINTS, KNOTS, y + 1j * y**2, **keywords), HEIGHTS)
    assert_derivatives(lambda x, t, y: np.interp(x, t, y, **keywords), POINTS, KNOTS, HEIGHTS)


def test_interpolation_of_complex_heights_has_derivatives() -> None:
    assert_derivatives(lambda x, y: np.interp(x, KNOTS, y), POINTS, HEIGHTS + 1j * HEIGHTS[::-1])


def test_values_on_the_left_and_right_have_derivatives() -> None:
    assert_derivatives(
        lambda x, a, b: np.interp(x, KNOTS, HEIGHTS, left=a, right=b),
        POINTS, np.float64(2), np.float64(3),
    )  # fmt: skip


def test_interpolation_meets_infinite_heights_as_numpy_does() -> None:
    heights = np.array([1.0, np.inf, np.inf, 2])
    assert_value(
        lambda x: np.interp(x, [0.0, 1, 2, 3], heights), np.array([0.5, 1, 1.5, 2, 2.5, 3])
    )
    assert_value(lambda x: np.interp(x, [0.0, 1], [2.0, 3]), np.array([np.nan, 0.25]))
