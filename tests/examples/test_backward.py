"""The numbers that articles about ``backward(gradient=...)`` print."""

import numpy as np
import pytest
from backward import (
    chain_rule_by_cotangents,
    forward_and_backward_programs,
    gradient_of_a_target,
    gradient_through_a_loop,
    gradients_of_three_inputs,
    gradients_of_three_scalars,
    main,
    message_of_a_shape_mismatch,
    rows_of_the_jacobian,
    side_by_side,
    sum_of_the_rows,
    sum_times,
)
from numpy.testing import assert_allclose, assert_array_equal

import funcdiff as fd

PRINTED_DIGITS = 1e-4
"""The articles print five significant digits."""


def test_a_one_hot_cotangent_picks_one_row_of_the_jacobian() -> None:
    rows = rows_of_the_jacobian()
    assert_array_equal(rows, [[[2, 0, 0, 0]], [[0, 2, 0, 0]], [[0, 0, 2, 0]], [[0, 0, 0, 2]]])


def test_a_cotangent_of_ones_sums_the_rows() -> None:
    assert_array_equal(sum_of_the_rows(), [[2, 2, 2, 2]])


def test_a_weighted_cotangent_weighs_the_elements_of_three_inputs() -> None:
    a_gradient, b_gradient, c_gradient = gradients_of_three_inputs(np.array([6.0, 7.0, 8.0]))
    assert_allclose(a_gradient, [0.3, 3.0, 3e-4], rtol=1e-15)
    assert_allclose(b_gradient, [1.2, 16.0, 2e-3], rtol=1e-15)
    assert_allclose(c_gradient, [1.6667e-2, 1.4286e-1, 1.25e-5], rtol=PRINTED_DIGITS)
    assert_allclose(c_gradient, [0.1 / 6, 1 / 7, 1e-4 / 8], rtol=1e-15)


def test_three_scalars_need_no_cotangent() -> None:
    assert gradients_of_three_scalars() == (3.0, 4.0, 10.0)


def test_a_gradient_of_scalars_is_made_of_scalars() -> None:
    assert all(isinstance(slope, float) for slope in gradients_of_three_scalars())


def test_an_infinite_slope_is_a_value_and_not_an_exception() -> None:
    a_gradient, b_gradient, c_gradient = gradients_of_three_inputs(np.array([0.0, 7.0, 8.0]))
    assert_allclose(a_gradient, [0.3, 3.0, 3e-4], rtol=1e-15)
    assert_allclose(b_gradient, [1.2, 16.0, 2e-3], rtol=1e-15)
    assert_allclose(c_gradient, [np.inf, 1 / 7, 1e-4 / 8], rtol=1e-15)


def test_a_loop_that_doubles_ten_times_gives_the_printed_gradient() -> None:
    y, gradient = gradient_through_a_loop(np.array([0.5, -1.0, 0.25]))
    assert_array_equal(y, [512.0, -1024.0, 256.0])
    assert_allclose(gradient, [102.4, 1024.0, 0.1024], rtol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_a_loop_whose_length_depends_on_random_data_is_followed_as_it_ran(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(3)
    y, gradient = gradient_through_a_loop(x)
    power = y[0] / x[0]
    assert np.linalg.norm(y) >= 1000
    assert np.linalg.norm(y) < 2000
    assert_array_equal(y, power * x)
    assert_array_equal(gradient, power * np.array([0.1, 1.0, 0.0001]))


def test_feeding_the_cotangent_of_an_outer_map_gives_the_chain_rule() -> None:
    jacobian, weighted, expected = chain_rule_by_cotangents(np.array([0.2, 0.8]))
    assert_allclose(jacobian, [[36.0, 24.0], [39.0, 58.0]], rtol=1e-15)
    assert_allclose(expected, jacobian, rtol=1e-15)
    assert_allclose(weighted, [0.2 * 36 + 0.8 * 39, 0.2 * 24 + 0.8 * 58], rtol=1e-15)


def test_a_target_as_cotangent_is_the_gradient_of_its_product_with_the_output() -> None:
    from_target, from_sum = gradient_of_a_target()
    x, target = np.array([0.5, -1.0, 2.0]), np.array([3.0, 0.25, -1.0])
    assert_allclose(from_target, target * (1 - np.tanh(x) ** 2), rtol=1e-14)
    assert_allclose(from_sum, from_target, rtol=1e-15)


def test_the_backward_program_multiplies_where_the_forward_program_did() -> None:
    forward, backward = forward_and_backward_programs()
    assert forward.count("= add ") == 1
    assert forward.count("= mul ") == 1
    assert backward.count("= mul ") == 2


def test_the_backward_pass_of_a_sum_times_d_gives_d_twice_and_the_sum() -> None:
    assert fd.grad(sum_times, argnums=(0, 1, 2))(2.0, 3.0, 4.0) == (4.0, 4.0, 5.0)


def test_a_cotangent_of_the_wrong_shape_is_answered_with_both_shapes() -> None:
    message = message_of_a_shape_mismatch()
    assert "(3,)" in message
    assert "(1, 4)" in message


def test_texts_of_unequal_length_stand_side_by_side() -> None:
    assert side_by_side("one\ntwo", "1\n2\n3") == "one   |   1\ntwo   |   2\n      |   3"


def test_the_example_prints_the_numbers_and_both_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main()
    printed = capsys.readouterr().out
    assert "c.grad = [1.6667e-02  1.4286e-01  1.2500e-05]" in printed
    assert "c.grad = [inf  1.4286e-01  1.2500e-05]" in printed
    assert printed.count("program(") == 2
    assert "Traceback" not in printed
