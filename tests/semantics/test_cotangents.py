"""The gradient argument of backward(): what a pullback takes, gives and refuses."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError

X = np.array([1.0, 2.0, 3.0, 4.0])


def _squares_and_sums(x: Any) -> Any:
    return np.stack([x[0] ** 2, x[0] * x[1], x[2] + 5 * x[3]])


JACOBIAN = np.array([[2.0, 0, 0, 0], [2, 1, 0, 0], [0, 0, 1, 5]])


# ---- what it is ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_one_hot_cotangent_gives_a_row_of_the_jacobian(row: int) -> None:
    _, f_vjp = fd.vjp(_squares_and_sums, X)
    np.testing.assert_array_equal(f_vjp(np.eye(3)[row])[0], JACOBIAN[row])


def test_ones_give_the_gradient_of_the_sum() -> None:
    _, f_vjp = fd.vjp(_squares_and_sums, X)
    (ones,) = f_vjp(np.ones(3))
    np.testing.assert_array_equal(ones, fd.grad(lambda x: np.sum(_squares_and_sums(x)))(X))
    np.testing.assert_array_equal(ones, JACOBIAN.sum(axis=0))


def test_weights_weigh_the_rows() -> None:
    _, f_vjp = fd.vjp(_squares_and_sums, X)
    weights = np.array([0.2, 0.8, -1.0])
    np.testing.assert_allclose(f_vjp(weights)[0], weights @ JACOBIAN, rtol=1e-15)


def test_a_target_gives_the_gradient_of_the_sum_of_output_times_target() -> None:
    target = np.array([3.0, -1.0, 0.5])
    _, f_vjp = fd.vjp(_squares_and_sums, X)
    expected = fd.grad(lambda x: np.sum(_squares_and_sums(x) * target))(X)
    np.testing.assert_allclose(f_vjp(target)[0], expected, rtol=1e-15)


def test_the_pullback_has_the_shape_of_the_primal_and_not_of_a_jacobian() -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, np.ones((2, 3)))
    (ct,) = f_vjp(np.full((2, 3), 0.5))
    np.testing.assert_array_equal(ct, np.ones((2, 3)))


# ---- a tuple, and when it may be left out ----------------------------------------------------


def test_the_result_is_a_tuple_even_for_one_primal() -> None:
    result = fd.vjp(np.sum, X)[1]()
    assert isinstance(result, tuple)
    assert len(result) == 1


def test_the_tuple_has_one_entry_for_each_primal() -> None:
    result = fd.vjp(lambda a, b, c: a * b + c, 2.0, 3.0, 4.0)[1]()
    assert result == (3.0, 2.0, 1.0)


def test_the_cotangent_of_a_real_scalar_may_be_left_out_and_is_one() -> None:
    _, f_vjp = fd.vjp(lambda x: x**2, 3.0)
    assert f_vjp() == f_vjp(1.0) == (6.0,)


@pytest.mark.parametrize("f", [
    lambda x: x,
    lambda x: x[:1],
    lambda x: x[0] * 1j,
    lambda x: (x[0], x[1]),
    lambda x: {"a": x[0]},
])  # fmt: skip
def test_any_other_output_needs_its_cotangent(f: Any) -> None:
    _, f_vjp = fd.vjp(f, X)
    with pytest.raises(CotangentError, match=r"can be left out only if .* one real scalar"):
        f_vjp()


# ---- what does not fit -----------------------------------------------------------------------


def test_a_wrong_shape_is_an_error_that_names_both_shapes() -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, X)
    with pytest.raises(CotangentError, match=r"shape \(3,\).*shape \(4,\)"):
        f_vjp(np.ones(3))


@pytest.mark.parametrize("v", [1.0, np.ones(1), np.ones((1, 4)), np.ones((4, 1))])
def test_a_cotangent_is_never_broadcast(v: Any) -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, X)
    with pytest.raises(CotangentError, match="nothing is broadcast"):
        f_vjp(v)


@pytest.mark.parametrize("v", [(1.0,), (1.0, 2.0, 3.0), [1.0, 2.0], {"a": 1.0, "b": 2.0}])
def test_a_wrong_tree_is_an_error(v: Any) -> None:
    _, f_vjp = fd.vjp(lambda x: (x[0], x[1]), X)
    with pytest.raises(CotangentError, match="structure"):
        f_vjp(v)


def test_more_than_one_cotangent_is_an_error() -> None:
    f_vjp: Any = fd.vjp(lambda x: (x[0], x[1]), X)[1]
    with pytest.raises(CotangentError, match=r"one cotangent.*tuple"):
        f_vjp(1.0, 2.0)


@pytest.mark.parametrize("v", [1, 1.0, -2])
def test_python_numbers_are_weak(v: float) -> None:
    (ct,) = fd.vjp(lambda x: x * x, np.float32(3))[1](v)
    assert ct.dtype == np.float32
    assert ct == 6 * v


def test_a_single_precision_cotangent_is_cast_to_double() -> None:
    (ct,) = fd.vjp(lambda x: x * 3, X)[1](np.ones(4, np.float32))
    assert ct.dtype == np.float64
    np.testing.assert_array_equal(ct, np.full(4, 3.0))


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.complex128])
def test_integer_and_complex_cotangents_of_a_real_output_are_errors(dtype: Any) -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, X)
    with pytest.raises(CotangentError):
        f_vjp(np.ones(4, dtype))


def test_a_double_precision_cotangent_of_a_single_precision_output_is_an_error() -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, X.astype(np.float32))
    with pytest.raises(CotangentError, match=r"float64.*float32.*astype"):
        f_vjp(np.ones(4))


def test_a_complex_number_as_cotangent_of_a_real_output_is_an_error() -> None:
    _, f_vjp = fd.vjp(lambda x: 2 * x, 3.0)
    with pytest.raises(CotangentError, match="real part"):
        f_vjp(1j)


# ---- nothing accumulates, nothing is shared --------------------------------------------------


def test_calling_twice_gives_the_same_answer_twice() -> None:
    _, f_vjp = fd.vjp(lambda x: np.sin(x) * x, X)
    v = np.array([1.0, -1.0, 2.0, 0.5])
    first, again = f_vjp(v)[0], f_vjp(v)[0]
    np.testing.assert_array_equal(first, again)
    assert first is not again


def test_mutating_the_primal_afterwards_changes_nothing() -> None:
    x = X.copy()
    _, f_vjp = fd.vjp(lambda x: x * x, x)
    x[:] = 100
    np.testing.assert_array_equal(f_vjp(np.ones(4))[0], 2 * X)


def test_mutating_the_value_afterwards_changes_nothing() -> None:
    y, f_vjp = fd.vjp(np.exp, X)
    kept = y.copy()
    y[:] = 0
    np.testing.assert_array_equal(f_vjp(np.ones(4))[0], kept)


def test_mutating_the_first_result_leaves_the_second_alone() -> None:
    _, f_vjp = fd.vjp(lambda x: 3 * x, X)
    (first,) = f_vjp(np.ones(4))
    first[:] = -1
    np.testing.assert_array_equal(f_vjp(np.ones(4))[0], np.full(4, 3.0))


def test_mutating_a_captured_array_afterwards_changes_nothing() -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    _, f_vjp = fd.vjp(lambda x: weights * x, X)
    weights[:] = 0
    np.testing.assert_array_equal(f_vjp(np.ones(4))[0], [1, 2, 3, 4])


@pytest.mark.parametrize("f", [
    lambda x: x,
    lambda x: x[:],
    lambda x: x.reshape(4),
    lambda x: np.transpose(x),
    lambda x: np.negative(-x),
])  # fmt: skip
def test_an_identity_returns_a_copy_and_never_the_very_cotangent(f: Any) -> None:
    v = np.ones(4)
    y, f_vjp = fd.vjp(f, X)
    (ct,) = f_vjp(v)
    assert not np.shares_memory(ct, v)
    assert not np.shares_memory(y, X)
    np.testing.assert_array_equal(ct, v)


def test_two_primals_that_get_the_same_cotangent_get_two_arrays() -> None:
    first, second = fd.vjp(lambda a, b: a + b, X, X)[1](np.ones(4))
    assert not np.shares_memory(first, second)


# ---- the loop of the manual ------------------------------------------------------------------


def test_doubling_until_the_norm_is_large_works_as_written() -> None:
    def f(x: Any) -> Any:
        y = 2 * x
        while np.linalg.norm(y) < 1000:
            y = 2 * y
        return y

    x = np.array([0.5, -1.2, 0.3])
    v = np.array([0.1, 1.0, 0.0001])
    y, f_vjp = fd.vjp(f, x)
    factor = y[0] / x[0]
    assert factor == 1024
    assert 1000 <= np.linalg.norm(y) < 2000
    np.testing.assert_array_equal(f_vjp(v)[0], factor * v)
