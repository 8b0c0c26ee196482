"""Kinks and singular points: the minimum-norm subgradient, true zeros behind masks, no warnings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

Derivative = Callable[[Callable[..., Any], Any], Any]


# ---- absolute values, roots and norms --------------------------------------------------------


def test_abs_at_zero_is_zero(gradient: Derivative) -> None:
    assert gradient(np.abs, 0.0) == 0


def test_complex_abs_at_zero_is_zero() -> None:
    assert fd.grad(np.abs)(0j) == 0
    assert fd.jvp(np.abs, (0j,), (1 + 1j,))[1] == 0


def test_sqrt_at_zero_is_infinite(gradient: Derivative) -> None:
    assert gradient(np.sqrt, 0.0) == np.inf


@pytest.mark.parametrize("f", [
    lambda x: np.sqrt(x**2),
    lambda x: (x**2) ** 0.5,
    lambda x: np.sqrt(np.square(x)),
    lambda x: np.sqrt(x * x),
])  # fmt: skip
def test_the_root_of_a_square_at_zero_is_zero(f: Any, gradient: Derivative) -> None:
    assert gradient(f, 0.0) == 0
    assert gradient(f, -2.0) == -1


@pytest.mark.parametrize("f", [
    lambda x: np.sqrt(x) ** 2,
    lambda x: np.square(x**0.5),
])  # fmt: skip
def test_the_square_of_a_root_at_zero_is_one(f: Any, gradient: Derivative) -> None:
    assert gradient(f, 0.0) == 1
    assert gradient(f, 4.0) == 1


NORMS: list[Callable[[Any], Any]] = [
    np.linalg.norm,
    lambda x: np.linalg.norm(x, axis=0),
    lambda x: np.linalg.norm(x, ord=2, axis=0, keepdims=True)[0],
    lambda x: np.linalg.norm(x, 1),
    lambda x: np.linalg.norm(x, np.inf),
    lambda x: np.linalg.norm(x, 3),
    np.linalg.vector_norm,
    lambda x: np.linalg.vector_norm(x, ord=2, axis=-1),
    lambda x: np.linalg.norm(x[:, None], "fro"),
    lambda x: np.linalg.matrix_norm(x[None]),
]


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_at_zero_is_zero(norm: Any, gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(norm, np.zeros(3)), np.zeros(3))


def test_rows_that_vanish_have_no_part_in_the_norm_along_an_axis(gradient: Derivative) -> None:
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    result = gradient(lambda x: np.sum(np.linalg.norm(x, axis=1)), x)
    np.testing.assert_allclose(result, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)


def test_a_squared_norm_at_zero_is_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.norm(x) ** 2, np.zeros(3))
    np.testing.assert_array_equal(result, np.zeros(3))


def test_hypot_at_the_origin_is_zero_in_both(gradient: Derivative) -> None:
    result = gradient(lambda v: np.hypot(v[0], v[1]), np.zeros(2))
    np.testing.assert_array_equal(result, [0, 0])


def test_arctan2_at_the_origin_is_nan(gradient: Derivative) -> None:
    assert np.isnan(gradient(lambda v: np.arctan2(v[0], v[1]), np.zeros(2))).all()


def test_arctan2_at_the_origin_can_be_masked(gradient: Derivative) -> None:
    def angle(v: Any) -> Any:
        away = np.hypot(v[0], v[1]) > 0
        return np.where(away, np.arctan2(v[0], v[1]), 0)

    np.testing.assert_array_equal(gradient(angle, np.zeros(2)), [0, 0])
    np.testing.assert_array_equal(gradient(angle, np.array([0.0, 2.0])), [0.5, 0])


# ---- masks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.0, -1.0])
@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")  # NumPy's own at -1
def test_the_untaken_root_contributes_a_true_zero(
    x: float, gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        return np.where(x > 0, np.sqrt(x), 0)

    assert gradient(f, x) == 0
    assert second(f, x) == 0
    assert gradient(fd.grad(fd.grad(f)), x) == 0
    assert gradient(f, 4.0) == 0.25


def test_a_masked_array_of_roots_has_true_zeros(gradient: Derivative, second: Derivative) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 0)), 0))

    x = np.array([0.0, 4.0, -9.0, 1.0])
    np.testing.assert_allclose(gradient(f, x), [0, 0.25, 0, 0.5])
    np.testing.assert_allclose(second(f, x), np.diag([0, -1 / 32, 0, -1 / 4]))


@pytest.mark.filterwarnings("ignore:divide by zero encountered")
def test_the_untaken_reciprocal_contributes_a_true_zero(
    gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        return np.where(x != 0, 1 / x, 0)

    assert gradient(f, 0.0) == 0
    assert second(f, 0.0) == 0
    assert gradient(f, 2.0) == -0.25


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered")
def test_the_untaken_x_log_x_contributes_a_true_zero(
    gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        return np.where(x > 0, x * np.log(x), 0)

    assert gradient(f, 0.0) == 0
    assert second(f, 0.0) == 0
    assert gradient(f, 1.0) == 1


@pytest.mark.parametrize("scale", [lambda x: 3 * x, lambda x: -x, np.sin, lambda x: x * np.exp(x)])
def test_a_masked_root_stays_zero_under_what_is_computed_from_it(
    scale: Any, gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        return scale(np.where(x > 0, np.sqrt(x), 0))

    assert gradient(f, 0.0) == 0
    assert second(f, 0.0) == 0


def test_a_root_of_what_is_masked_later_by_a_sum_stays_zero(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x) * np.array([1.0, 2.0, 3.0]), 0) * 2.0)

    np.testing.assert_allclose(gradient(f, np.array([0.0, 4.0, 0.0])), [0, 1, 0])


def test_a_root_behind_two_different_masks_stays_zero(
    gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        y = np.sqrt(x)
        return np.sum(np.where(x > 0, y, 0) + np.where(x > 2, 3 * y, 0))

    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(gradient(f, x), [0, 0.5, 1])
    np.testing.assert_allclose(second(f, x), np.diag([0, -1 / 4, -1 / 8]))


def test_a_root_repeated_before_it_is_masked_stays_zero(
    gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        y = np.broadcast_to(np.sqrt(x), (2, 3))
        return np.sum(np.where(x > 0, y, 0) * np.array([[1.0], [3.0]]))

    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(gradient(f, x), [0, 2, 1])
    np.testing.assert_allclose(second(f, x), np.diag([0, -1, -1 / 8]))


def test_elements_picked_one_by_one_leave_the_others_zero(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = np.sqrt(x)
        return y[1] + y[2]

    np.testing.assert_array_equal(gradient(f, np.array([0.0, 4.0, 1.0])), [0, 0.25, 0.5])


def test_an_element_dropped_by_a_boolean_mask_has_gradient_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.sqrt(x)[x > 0]), np.array([0.0, 4.0]))
    np.testing.assert_array_equal(result, [0, 0.25])


def test_an_element_dropped_by_an_index_has_gradient_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sqrt(x)[1] + np.sum(np.sqrt(x)[[1, 1]]), np.array([0.0, 4.0]))
    np.testing.assert_array_equal(result, [0, 0.75])


def test_an_element_dropped_by_a_slice_has_gradient_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.sqrt(x)[1:]), np.array([0.0, 4.0, 1.0]))
    np.testing.assert_array_equal(result, [0, 0.25, 0.5])


def test_a_derivative_gives_no_warning_of_its_own(gradient: Derivative) -> None:
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(
            gradient(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), np.zeros(2)), [0, 0]
        )


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered")
def test_x_log_x_at_zero_is_honestly_not_finite(gradient: Derivative) -> None:
    assert not np.isfinite(gradient(lambda x: x * np.log(x), 0.0))


# ---- steps and remainders --------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    np.floor,
    np.ceil,
    np.trunc,
    np.rint,
    np.round,
    np.sign,
    np.fix,
    lambda x: x // 0.7,
    lambda x: x // np.abs(x),
])  # fmt: skip
def test_steps_have_derivative_zero(f: Any, gradient: Derivative, second: Derivative) -> None:
    assert gradient(f, 2.3) == 0
    assert gradient(f, -1.2) == 0
    assert second(f, 2.3) == 0


@pytest.mark.parametrize(("x", "y"), [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0)])
def test_mod_has_slopes_one_and_minus_the_floor(x: float, y: float, gradient: Derivative) -> None:
    result = gradient(lambda v: v[0] % v[1], np.array([x, y]))
    np.testing.assert_array_equal(result, [1, -np.floor(x / y)])


@pytest.mark.parametrize(("x", "y"), [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0)])
def test_fmod_has_slopes_one_and_minus_the_truncation(
    x: float, y: float, gradient: Derivative
) -> None:
    result = gradient(lambda v: np.fmod(v[0], v[1]), np.array([x, y]))
    np.testing.assert_array_equal(result, [1, -np.trunc(x / y)])


# ---- infinite slopes and special functions ---------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (np.arccos, 1.0, -np.inf),
        (np.arcsin, 1.0, np.inf),
        (np.arcsin, -1.0, np.inf),
        (np.arctanh, 1.0, np.inf),
        (np.log, 0.0, np.inf),
        (np.log2, 0.0, np.inf),
        (np.cbrt, 0.0, np.inf),
        (np.arccosh, 1.0, np.inf),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero encountered")  # NumPy's own, of the value
def test_a_vertical_tangent_is_infinite_without_an_exception(
    f: Any, x: float, slope: float, gradient: Derivative
) -> None:
    assert gradient(f, x) == slope


def test_sinc_at_zero_has_slope_zero_and_curvature_minus_a_third_of_pi_squared(
    gradient: Derivative, second: Derivative
) -> None:
    assert gradient(np.sinc, 0.0) == 0
    np.testing.assert_allclose(second(np.sinc, 0.0), -(np.pi**2) / 3, rtol=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_logaddexp_of_equal_infinities_shares(sign: int, gradient: Derivative) -> None:
    result = gradient(lambda v: np.logaddexp(v[0], v[1]), np.full(2, sign * np.inf))
    np.testing.assert_allclose(result, [0.5, 0.5], rtol=1e-15)


def test_logaddexp_of_large_numbers_is_a_softmax(gradient: Derivative) -> None:
    result = gradient(lambda v: np.logaddexp(v[0], v[1]), np.array([1000.0, 1000.0]))
    np.testing.assert_allclose(result, [0.5, 0.5], rtol=1e-12)


def test_nan_to_num_has_derivative_zero_where_it_replaced(gradient: Derivative) -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.nan_to_num(x)), x), [1, 0, 0, 0])


@pytest.mark.parametrize("f", [np.nansum, np.nanmax, np.nanprod, np.nanmean, np.nanstd])
def test_ignored_entries_of_nan_reductions_have_derivative_zero(
    f: Any, gradient: Derivative
) -> None:
    plain: Any = {
        np.nansum: np.sum,
        np.nanmax: np.max,
        np.nanprod: np.prod,
        np.nanmean: np.mean,
        np.nanstd: np.std,
    }[f]
    expected = gradient(plain, np.array([2.0, 5.0]))
    result = gradient(f, np.array([2.0, np.nan, 5.0]))
    np.testing.assert_allclose(result, [expected[0], 0, expected[1]], rtol=1e-14)


def test_tanh_of_large_numbers_has_slope_zero_without_a_warning(
    gradient: Derivative, second: Derivative
) -> None:
    assert gradient(np.tanh, 1000.0) == 0
    assert second(np.tanh, -1000.0) == 0


def test_a_shifted_log_sum_exp_of_large_numbers_does_not_overflow(gradient: Derivative) -> None:
    def logsumexp(x: Any) -> Any:
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    np.testing.assert_allclose(gradient(logsumexp, np.array([1000.0, 1000.0])), [0.5, 0.5])
