"""Ties and order statistics: those that are equal share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

Derivative = Callable[[Callable[..., Any], Any], Any]


# ---- extrema ---------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    np.max,
    lambda x: x.max(),
    lambda x: np.max(x, axis=0),
    lambda x: np.max(x, axis=-1, keepdims=True)[0],
    np.maximum.reduce,
    lambda x: -np.min(-x),
    lambda x: np.sum(np.max(x.reshape(2, 2).reshape(1, 4), axis=1)),
])  # fmt: skip
def test_equal_maxima_share(f: Any, gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(f, np.array([1.0, 3, 3, 2])), [0, 0.5, 0.5, 0])


@pytest.mark.parametrize("f", [np.min, lambda x: np.min(x, axis=0), np.minimum.reduce])
def test_equal_minima_share(f: Any, gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(f, np.array([1.0, 3, 1, 1])), [1 / 3, 0, 1 / 3, 1 / 3])


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_equal_operands_share(f: Any, gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(lambda v: f(v[0], v[1]), np.ones(2)), [0.5, 0.5])


@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_an_extremum_of_x_with_itself_has_slope_one(f: Any, gradient: Derivative) -> None:
    assert gradient(lambda x: f(x, x), 3.0) == 1


def test_a_rectifier_has_slope_one_half_at_zero(gradient: Derivative) -> None:
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(np.maximum(x, 0)), np.array([-1.0, 0, 2])), [0, 0.5, 1]
    )


def test_maximum_gives_a_nan_operand_all(gradient: Derivative) -> None:
    result = gradient(lambda v: np.maximum(v[0], v[1]), np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(result, [1, 0])


def test_max_gives_a_nan_element_all(gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(np.max, np.array([1, np.nan, 2.0])), [0, 1, 0])


def test_fmax_ignores_a_nan_operand(gradient: Derivative) -> None:
    result = gradient(lambda v: np.fmax(v[0], v[1]), np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(result, [0, 1])


# ---- clip ------------------------------------------------------------------------------------


def test_clip_on_a_bound_has_slope_one_half(gradient: Derivative) -> None:
    x = np.array([-1.0, 0, 0.5, 1, 2])
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(np.clip(x, 0, 1)), x), [0, 0.5, 1, 0.5, 0]
    )


def test_clip_is_a_minimum_of_a_maximum_in_x_and_its_bounds(gradient: Derivative) -> None:
    x = np.array([-1.0, 0, 0.5, 1, 2])

    def clipped(v: Any) -> Any:
        return np.sum(np.clip(v[2:], v[0], v[1]) * np.arange(1.0, 6))

    def composed(v: Any) -> Any:
        return np.sum(np.minimum(np.maximum(v[2:], v[0]), v[1]) * np.arange(1.0, 6))

    v = np.concatenate([[0.0, 1.0], x])
    np.testing.assert_array_equal(gradient(clipped, v), gradient(composed, v))


def test_clip_differentiates_in_its_bounds(gradient: Derivative) -> None:
    result = gradient(
        lambda v: np.sum(np.clip(np.array([-3.0, 0.5, 7, 8]), v[0], v[1])), np.array([0.0, 1.0])
    )
    np.testing.assert_array_equal(result, [1, 2])


# ---- order statistics ------------------------------------------------------------------------


WEIGHTS = np.array([1.0, 10, 100, 1000])


@pytest.mark.parametrize("f", [
    np.sort,
    lambda x: np.sort(x, kind="heapsort"),
    lambda x: x[np.argsort(x, kind="stable")],
])  # fmt: skip
def test_sort_is_the_stable_permutation(f: Any, gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(f(x) * WEIGHTS), np.array([2.0, 1, 2, 1]))
    np.testing.assert_array_equal(result, [100, 1, 1000, 10])


def test_partition_puts_the_weight_where_the_element_came_from(gradient: Derivative) -> None:
    x = np.array([4.0, 1, 3, 2])
    result = gradient(lambda x: np.partition(x, 2)[2] * 7, x)
    np.testing.assert_array_equal(result, [0, 0, 7, 0])


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([5.0, 1, 3], [0, 0, 1]),
        ([4.0, 1, 3, 2], [0, 0, 0.5, 0.5]),
        ([1.0, 2, 2, 3], [0, 0.5, 0.5, 0]),
        ([2.0, 2, 2, 9, 1], [1 / 3, 1 / 3, 1 / 3, 0, 0]),
        ([7.0, 7, 7, 7], [0.25, 0.25, 0.25, 0.25]),
    ],
)
@pytest.mark.parametrize("f", [
    np.median,
    lambda x: np.quantile(x, 0.5),
    lambda x: np.percentile(x, 50),
    lambda x: np.median(x, axis=0),
])  # fmt: skip
def test_equal_entries_share_the_weight_of_a_median(
    f: Any, x: list[float], expected: list[float], gradient: Derivative
) -> None:
    np.testing.assert_allclose(gradient(f, np.array(x)), expected, rtol=1e-15)


def test_a_quantile_weighs_its_neighbours(gradient: Derivative) -> None:
    result = gradient(lambda x: np.quantile(x, 0.3), np.array([10.0, 0, 20, 5, 40]))
    np.testing.assert_allclose(result, [0.2, 0, 0, 0.8, 0], rtol=1e-14)


def test_a_quantile_differentiates_in_its_order(gradient: Derivative) -> None:
    x = np.array([10.0, 0, 20, 5, 40])
    np.testing.assert_allclose(gradient(lambda q: np.quantile(x, q), 0.3), 4 * 5, rtol=1e-14)
    np.testing.assert_allclose(gradient(lambda q: np.percentile(x, q), 30.0), 0.2, rtol=1e-14)


# ---- interp ----------------------------------------------------------------------------------


XP, FP = np.array([0.0, 1, 3]), np.array([0.0, 2, 3])


def test_interp_has_the_right_slope_at_a_knot(gradient: Derivative) -> None:
    x = np.array([0.0, 0.5, 1, 2])
    result = gradient(lambda x: np.sum(np.interp(x, XP, FP)), x)
    np.testing.assert_array_equal(result, [2, 2, 0.5, 0.5])


def test_interp_is_constant_outside(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.interp(x, XP, FP)), np.array([-1.0, 4.0]))
    np.testing.assert_array_equal(result, [0, 0])


def test_interp_differentiates_in_its_values(gradient: Derivative) -> None:
    result = gradient(lambda fp: np.interp(2.5, XP, fp), FP)
    np.testing.assert_allclose(result, [0, 0.25, 0.75], rtol=1e-15)


def test_interp_differentiates_in_its_knots(gradient: Derivative) -> None:
    result = gradient(lambda xp: np.interp(2.0, xp, FP), XP)
    # y = 2 + (x - a)/(b - a): dy/da = (x - b)/(b - a)², dy/db = -(x - a)/(b - a)²
    np.testing.assert_allclose(result, [0, -0.25, -0.25], rtol=1e-15)


# ---- standard deviations ---------------------------------------------------------------------


@pytest.mark.parametrize("f", [np.std, lambda x: np.std(x, axis=0), lambda x: x.std()])
def test_the_deviation_of_constants_has_derivative_zero(f: Any, gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(f, np.full(4, 3.0)), np.zeros(4))


def test_the_deviation_of_one_element_has_derivative_zero(gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(np.std, np.array([3.0])), [0])


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:(divide by zero|invalid value)")
@pytest.mark.parametrize(("x", "ddof"), [([3.0], 1), ([1.0, 3.0], 2), ([2.0, 2.0], 3)])
def test_too_many_degrees_of_freedom_give_numpys_own_value(x: list[float], ddof: int) -> None:
    value, _ = fd.value_and_grad(lambda x: np.std(x, ddof=ddof))(np.array(x))
    np.testing.assert_array_equal(value, np.std(np.array(x), ddof=ddof))
    assert not np.isfinite(value)
