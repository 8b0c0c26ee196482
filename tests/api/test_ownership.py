"""Nothing that a transform returns shares memory, or a handle, with anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError

X = np.array([1.0, 2.0, 3.0])
MATRIX = np.arange(12.0).reshape(3, 4)


def pulled_after_the_value_was_changed(x: Any) -> Any:
    y, f_vjp = fd.vjp(np.exp, x * 1)
    y *= 0
    return f_vjp(x)[0]


def pushed_after_the_value_was_changed(x: Any) -> Any:
    y, f_jvp = fd.linearize(np.exp, x * 1)
    y -= 1
    return f_jvp(x)


def pulled_after_the_argument_was_changed(x: Any) -> Any:
    y = x * 1
    f_vjp = fd.vjp(lambda q: q * q, y)[1]
    f_jvp = fd.linearize(lambda q: q**3, y)[1]
    y *= 100
    return f_vjp(x)[0] + f_jvp(x)


def a_batched_identity(x: Any) -> Any:
    y = x * 1
    r = fd.vmap(lambda a: a)(y)
    r *= 10
    return y


def a_pullback_of_an_identity(x: Any) -> Any:
    y = x * 1
    value, f_vjp = fd.vjp(lambda a: a, y)
    value *= 10
    (ct,) = f_vjp(y)
    ct *= 10
    return y


def one_value_returned_twice(x: Any) -> Any:
    def twice(q: Any) -> Any:
        z = q * 2
        return z, z

    a, b = fd.vmap(twice)(x)
    a *= 10
    return b


def a_stopped_value(x: Any) -> Any:
    y = x * 1
    r = fd.stop_gradient(y)
    r *= 10
    return y


def a_branch_that_returns_its_operand(x: Any) -> Any:
    y = x * 1
    r = fd.cond(True, lambda a: a, lambda a: a, y)
    r *= 10
    return y


@pytest.mark.parametrize("f", [
    pulled_after_the_value_was_changed,
    pushed_after_the_value_was_changed,
    pulled_after_the_argument_was_changed,
    a_batched_identity,
    a_pullback_of_an_identity,
    one_value_returned_twice,
    a_stopped_value,
    a_branch_that_returns_its_operand,
])  # fmt: skip
def test_a_result_changed_in_place_changes_nothing_else(f: Callable[[Any], Any]) -> None:
    plain = f(X.copy())
    np.testing.assert_allclose(fd.vjp(f, X)[0], plain, rtol=1e-15)
    np.testing.assert_allclose(fd.jvp(f, (X,), (X,))[0], plain, rtol=1e-15)


def test_a_concrete_branch_and_a_stopped_value_leave_the_argument_alone() -> None:
    x = X.copy()
    for result in (fd.cond(True, lambda a: a, lambda a: a, x), fd.stop_gradient(x)):
        result *= 3
    np.testing.assert_array_equal(x, X)


def test_a_copy_is_in_c_order_and_its_reshape_a_view() -> None:
    def f(x: Any) -> Any:
        y = x.T.copy()
        r = y.reshape(-1)
        r *= 2
        return y.sum()

    value, gradient = fd.value_and_grad(f)(MATRIX)
    assert value == f(MATRIX) == 132
    np.testing.assert_array_equal(gradient, np.full((3, 4), 2.0))


def test_a_view_that_depends_on_an_unknown_layout_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x.T * 1
        r = y.ravel()
        r *= 2
        return y

    with pytest.raises(UnsupportedNumPyError, match="by its layout in memory"):
        fd.vmap(f)(np.ones((2, 3, 4)))


@pytest.mark.parametrize("make", [
    lambda x: np.select([x.T > -1], [x.T]),
    lambda x: np.delete(x.T, 0, 0),
    lambda x: np.einsum("ij,jk->ki", x, x.T),
])  # fmt: skip
def test_a_layout_that_numpy_may_choose_otherwise_is_never_guessed(
    make: Callable[[Any], Any],
) -> None:
    def f(x: Any) -> Any:
        y = make(x)
        r = y.reshape(-1)
        r *= 2
        return y.sum()

    with pytest.raises(UnsupportedNumPyError, match="by its layout in memory"):
        fd.grad(f)(MATRIX)


def test_an_array_is_changed_in_place_under_vmap_of_grad() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[0] *= x[1]
        return y.sum()

    batch = np.arange(24.0).reshape(2, 3, 4)
    expected = np.stack([fd.grad(f)(x) for x in batch])
    np.testing.assert_array_equal(fd.vmap(fd.grad(f))(batch), expected)


def test_complex_numbers_keep_the_sign_of_a_zero_part() -> None:
    z, mask = np.array([1 + 1j, 2 - 1j]), np.array([True, False])
    for number in (complex(-1, 0.0), complex(-1, -0.0), complex(-20.5, -0.0), complex(-0.0, 1)):

        def f(z: Any, number: complex = number) -> Any:
            return np.sqrt(np.where(mask, number, z))

        np.testing.assert_array_equal(fd.vjp(f, z)[0], f(z))


def test_float_power_computes_in_double_precision() -> None:
    x = np.linspace(0.5, 1, 4).astype(np.float32)
    functions: list[Callable[[Any], Any]] = [
        lambda x: np.float_power(x, 0.1),
        lambda x: np.float_power(1e300, x),
    ]
    for f in functions:
        np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))
