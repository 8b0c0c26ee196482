"""What was recorded once is recorded directly the next time: the same operations, and results."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.pow,
)  # fmt: skip
UNARY = (operator.neg, operator.pos, abs)


@together
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("other", [2.0, 2, 0.3, -1.5])
def test_operators_of_python_numbers_keep_their_sides(op: Callable[..., Any], other: Any) -> None:
    x = 0.7

    def f(x: Any) -> Any:
        results = []
        for _ in range(3):  # of the second on, a number is known
            results += [op(x, other), op(other, x), op(x, x), op(x * other, other)]
        return results

    with np.errstate(all="ignore"):
        expected = [float(y.real) if isinstance(y, complex) else y for y in f(np.float64(x))]
        for _ in range(3):
            found, _ = fd.jvp(lambda x: [y * 1.0 for y in f(x)], (x,), (1.0,))
            np.testing.assert_array_equal(found, np.array(expected, float))
            assert all(type(y) is float or isinstance(y, np.float64) for y in found)


@together
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("other", [[1.0, 2.0, 3.0], (4, 1, 2), [[3], [4]]])
def test_lists_of_numbers_are_arrays(op: Callable[..., Any], other: Any) -> None:
    x = np.array([0.7, 1.3, 2.0])
    for _ in range(3):
        found, _ = fd.jvp(lambda x: [op(x, other) * 1.0, op(other, x) * 1.0], (x,), (x,))
        for value, expected in zip(found, (op(x, other), op(other, x)), strict=True):
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("op", UNARY)
def test_operators_of_one_python_number_give_a_number(op: Callable[..., Any]) -> None:
    def f(x: Any, a: Any) -> Any:
        for _ in range(3):
            x = op(x)
        return np.sum(a * x)  # a number gives way to the dtype of the array

    a = np.ones(3, np.float32)
    for _ in range(3):
        value, (slope, _) = fd.value_and_grad(f, argnums=(0, 1))(-0.7, a)
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, 3 * op(op(op(-0.7))), rtol=1e-6)
        np.testing.assert_allclose(abs(slope), 3.0, rtol=1e-6)


@together
@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 2.5, 0, 1, 0.0, 1.0, -2])
@pytest.mark.parametrize("x", [0.7, np.float64(0.7), np.float32(0.7), np.array([0.7, 1.3])])
def test_powers_that_come_back_are_the_same(x: Any, exponent: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(x**exponent) + np.sum((x * 2.0) ** exponent + (-x) ** 2)

    expected = f(np.asarray(x))
    programs = {str(fd.trace(f)(x)) for _ in range(3)}
    assert len(programs) == 1
    for _ in range(3):
        value, _ = fd.value_and_grad(f)(x)
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_integers_and_floats_that_are_equal_are_different_exponents() -> None:
    def f(x: Any, k: Any) -> Any:
        return [k**2, k**2.0, k**True, x**2, x**2.0, x**True]

    k = np.array([1, 2, 3], np.int16)
    for _ in range(3):
        found = fd.trace(f)(np.ones(3, np.float32), k).output_types
        assert [t.dtype for t in found] == [y.dtype for y in f(np.ones(3, np.float32), k)]


def test_new_axes_come_back_as_views() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            column = x[:, None]
            column[0, 0] = 5.0
            x = x * 1.0 + x[None][0] + column[..., 0]
        return np.sum(x**2)

    x = np.array([0.5, 2.0])
    first = fd.grad(f)(x.copy())
    for _ in range(3):
        np.testing.assert_allclose(fd.grad(f)(x.copy()), first, rtol=1e-14)
    np.testing.assert_allclose(first, [0.0, 2 * 27**2 * 2.0], rtol=1e-12)


@pytest.mark.parametrize("ufunc", [np.subtract, np.float_power, np.heaviside, np.less, np.copysign])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_operands_that_are_converted_or_broadcast_keep_their_sides(ufunc: Any, dtype: Any) -> None:
    table, row = np.array([[0.3, 2.0, 1.0], [1.5, 0.2, 4.0]]), np.array([1, 0, 3]).astype(dtype)
    others = [row, row[:2, None], row[0], np.zeros((0, 1, 3), dtype)]

    def f(x: Any, *ys: Any) -> list[Any]:
        return [z for y in ys for z in (ufunc(x, y), ufunc(y, x))]

    with np.errstate(all="ignore"):
        for _ in range(3):
            traced = fd.evaluate(fd.trace(f)(table, *others), [table, *others])
            captured, _ = fd.jvp(lambda x: f(x, *others), (table,), (table,))
            for y, z, expected in zip(traced, captured, f(table, *others), strict=True):
                np.testing.assert_array_equal(y, expected, strict=True)
                np.testing.assert_array_equal(z, expected, strict=True)


def _agrees(f: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Check that the values of a function under a trace are NumPy's, call after call."""
    for _ in range(2):
        for args in calls:
            found, _ = fd.vjp(f, *args)
            np.testing.assert_array_equal(found, f(*args), strict=True)


def test_one_array_twice_is_not_two_arrays() -> None:
    x, y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[0.5, 7.0], [1.0, 4.0]])
    _agrees(lambda x, y: np.dot(x, x) + np.dot(x, y) + np.dot(y, y), (x, y), (y, x))
    for a, b in ((y, y), (y, x), (x, y)):
        _agrees(lambda x, a=a, b=b: np.concatenate([a, x, b]) + np.vstack([b, x, a]), (x,), (y,))


def test_zeros_keep_their_sign_and_numbers_their_kind() -> None:
    x = np.array([-1.0, 2.0])
    for _ in range(3):
        for zero in (0.0, -0.0, 0, False):
            found, _ = fd.vjp(partial(lambda zero, x: np.where(x > 0, x, zero), zero), x)
            assert np.signbit(found[0]) == np.signbit(zero)
        for a, dtype in ((1, np.int16), (1.0, np.float64), (True, np.int16)):
            program = fd.trace(lambda k, a=a: np.where(k > 0, k, a))(np.array([0, 3], np.int16))
            assert program.output_types[0].dtype == dtype


def test_orders_that_layouts_decide_are_asked_for_each_time() -> None:
    x = np.arange(6.0).reshape(2, 3)
    orders: Any = ("C", "F", "A", "K")
    _agrees(
        lambda x: np.concatenate(
            [np.ravel(y.copy(made), order) for made in "CF" for order in orders for y in (x, x.T)]
        ),
        (x,),
        (2 * x,),
    )


def test_views_come_back_as_views() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            x = x * 1.0
            for view in (x.T, np.reshape(x, (3, 2)), np.swapaxes(x, 0, 1), np.expand_dims(x, 0)):
                view[0, 1] += 1.0
            row = np.einsum("ij->ji", x)
            row[2, 1] = 7.0
        return x + np.sum(x)

    _agrees(f, (np.arange(6.0).reshape(2, 3),), (np.ones((2, 3)),))


def test_arguments_that_decide_are_looked_at_each_time() -> None:
    x, mask = np.array([1.0, -2.0, 4.0]), np.array([True, False, True])
    for where in (mask, ~mask, np.ones(3, bool), True):
        _agrees(lambda x, w=where: np.mean(x, where=w) + np.sum(x, where=w), (x,), (3 * x,))
        _agrees(lambda x, w=where: np.prod(x, where=np.logical_and(w, x > 0)), (x,), (-x,))
    for order in (2.0, 1.0, 3.0, np.inf, 0.3, 0.4):
        _agrees(lambda x, order=order: np.linalg.norm(x, order), (x,))
    for low, high in ((0.1, 0.7), (0.2, 1.5), (-1, 2), (None, 1.0), (0.5, None)):
        _agrees(lambda x, a=low, b=high: np.clip(x, a, b) + np.maximum(x, b or 1), (x,), (-x,))


def test_a_buffer_that_is_overwritten_is_taken_anew() -> None:
    def f(x: Any) -> Any:
        buffer, total = np.zeros((2, 2)), 0.0
        for k in range(4):
            buffer[...] = k
            total = total + np.dot(buffer, x) + np.concatenate([buffer, x])[1:3] * buffer
        return total

    _agrees(f, (np.ones((2, 2)),), (np.full((2, 2), 3.0),))


def test_what_comes_from_an_outer_trace_is_recorded_for_it() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, -1.0])

    def slope(x: Any, y: Any) -> Any:
        return fd.grad(lambda y: np.dot(x, y) * np.dot(y, y) + np.sum(np.stack([x, y, x]) ** 2))(y)

    for _ in range(8):
        found = fd.jacobian(lambda x: slope(x, b))(a)
        np.testing.assert_allclose(found, np.dot(b, b) * np.eye(2) + 2 * np.outer(b, b))


def test_integers_out_of_range_are_refused_each_time() -> None:
    small = np.array([1, 2], np.int8)
    _agrees(lambda x: x * (small + 1), (np.ones(2),))
    for _ in range(3):
        with pytest.raises(OverflowError, match="out of bounds"):
            fd.trace(lambda k: k + 300)(small)
        assert "i8[2]" in str(fd.trace(lambda k: k + 3)(small))
        np.testing.assert_array_equal(fd.trace(lambda k: k < 300)(small).output_types[0].shape, 2)


def test_a_traced_axis_decides_in_every_call_what_is_recorded() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for f in (np.sum, np.cumsum, np.expand_dims):
        jitted = fd.jit(lambda x, axes, f=f: f(x, axes[0]))
        for axis in (0, 1, 0):
            np.testing.assert_array_equal(jitted(x, np.array([axis, 0])), f(x, axis))
