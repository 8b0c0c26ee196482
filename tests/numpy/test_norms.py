"""Norms of traced arrays: NumPy's values in every spelling, zeros, ties."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(17)
TALL = RANDOM.normal(size=(2, 4, 3))
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
A = COMPLEX.real
EVERY_NORM = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
EVERY_VECTOR_NORM = (None, 1, 2, 3, 2.5, 0.5, -1.5, np.inf, -np.inf)


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (x, f(x)), x, has_aux=True)[2]


def _grad(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.grad(f)(x)


def _assert_equal(result: Any, expected: Any) -> None:
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("order", EVERY_NORM)
def test_matrix_norms_are_those_of_numpy(order: Any) -> None:
    for x in (TALL, TALL.astype("f4"), np.asfortranarray(TALL)):
        for axis in ((-2, -1), (2, 0)):
            for keepdims in (False, True):

                def f(x: Any, axis: Any = axis, keepdims: Any = keepdims) -> Any:
                    return linalg.norm(x, order, axis, keepdims)

                _assert_equal(_value(f, x), f(x))
    np.testing.assert_array_equal(
        _value(lambda x: linalg.norm(x, order), TALL[0]), linalg.norm(TALL[0], order)
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("order", [*EVERY_VECTOR_NORM, 0])
def test_vector_norms_are_those_of_numpy(order: Any) -> None:
    for x in (TALL, TALL.astype("f4"), np.asfortranarray(TALL)):
        for axis in (0, -1):
            for keepdims in (False, True):

                def f(x: Any, axis: Any = axis, keepdims: Any = keepdims) -> Any:
                    return linalg.norm(x, order, axis, keepdims)

                _assert_equal(_value(f, x), f(x))


@pytest.mark.parametrize("order", EVERY_NORM)
def test_the_derivative_of_a_matrix_norm_at_zero_is_zero(order: Any) -> None:
    zero = np.zeros((2, 3))
    assert not _grad(lambda x: linalg.norm(x, order, (0, 1)), zero).any()
    assert not _grad(lambda x: linalg.matrix_norm(x, ord=order), zero).any()
    assert fd.jvp(lambda x: linalg.norm(x, order, (0, 1)), (zero,), (zero + 1,))[1] == 0


@pytest.mark.parametrize("order", EVERY_VECTOR_NORM)
def test_the_derivative_of_a_vector_norm_at_zero_is_zero(order: Any) -> None:
    for zero in (np.zeros(3), np.zeros(3, complex)):
        assert not _grad(lambda x: linalg.norm(x, order), zero).any()
        assert not _grad(lambda x: linalg.norm(x, order, 0), zero).any()
        assert fd.jvp(lambda x: linalg.norm(x, order, 0), (zero,), (zero + 1,))[1] == 0
    assert not _grad(lambda x: linalg.vector_norm(x, ord=order or 2), np.zeros(3)).any()
    assert not _grad(lambda x: linalg.norm(x, order) ** 2, np.zeros(3)).any()


@pytest.mark.parametrize("order", EVERY_VECTOR_NORM)
def test_a_zero_among_others_leaves_the_gradient_of_a_norm_finite(order: Any) -> None:
    gradient = _grad(lambda x: linalg.norm(x, order), np.array([1.0, 0.0, 2.0]))
    assert np.isfinite(gradient).all()
    assert gradient[1] == 0


def test_ties_share_the_derivative_of_a_norm() -> None:
    x = np.array([[2.0, 0.0], [0.0, -2.0]])
    half = np.diag([0.5, -0.5])
    for order in (1, -1, 2, -2, np.inf, -np.inf):
        np.testing.assert_allclose(_grad(partial(linalg.norm, ord=order), x), half)
    v = np.array([3.0, -3.0, 1.0])
    np.testing.assert_allclose(_grad(lambda x: linalg.norm(x, np.inf), v), [0.5, -0.5, 0.0])


def test_repeated_or_zero_singular_values_have_finite_gradients() -> None:
    def total(x: Any) -> Any:
        return np.sum(linalg.svdvals(x))

    np.testing.assert_allclose(_grad(total, np.eye(2, 3)), np.eye(2, 3), atol=1e-15)
    assert not _grad(total, np.zeros((3, 2))).any()
    np.testing.assert_allclose(_grad(total, np.diag([2.0, 0.0])), np.diag([1.0, 0.0]), atol=1e-15)


@pytest.mark.parametrize("f", [
    lambda x: linalg.norm(x, 3),
    lambda x: linalg.norm(x, "fro", axis=0),
    lambda x: linalg.norm(x, axis=(0, 0)),
    lambda x: linalg.norm(x, 1, axis=(0, 1, 2)),
])  # fmt: skip
def test_wrong_arguments_raise_value_errors_as_in_numpy(f: Callable[[Any], Any]) -> None:
    for call in (f, lambda x: _value(f, x)):
        with pytest.raises(ValueError):  # noqa: PT011
            call(A)


@pytest.mark.parametrize("order", [-1, -2, -0.5])
@pytest.mark.filterwarnings("ignore:overflow|divide")
def test_negative_orders_of_nothing_or_of_the_infinite_are_infinite(order: float) -> None:
    for x in (np.zeros((3, 0)), np.full((2, 2), np.inf)):

        def f(x: Any) -> Any:
            return np.linalg.norm(x, order, axis=-1)

        np.testing.assert_array_equal(fd.jvp(f, (x,), (np.zeros_like(x),))[0], f(x))


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5, -1.5])
def test_a_norm_has_a_derivative_by_its_order(order: float) -> None:
    def f(p: Any) -> Any:
        return linalg.norm(A * (1 + 0 * p), p, -1)

    difference = (f(order + 1e-5) - f(order - 1e-5)) / 2e-5
    for found in (
        fd.jacfwd(f)(order),
        fd.jacrev(f)(order),
        fd.vmap(fd.jacrev(f))(np.array([order]))[0],
    ):
        np.testing.assert_allclose(found, difference, rtol=1e-8)
    np.testing.assert_array_equal(fd.jacfwd(f)(np.inf), np.zeros(3))
    np.testing.assert_array_equal(fd.jacfwd(f)(-np.inf), np.zeros(3))
    assert np.isnan(fd.jacfwd(f)(0.0)).all()
    assert fd.grad(lambda p: linalg.norm(np.zeros(3) * p, p))(2.0) == 0


def test_an_ordinary_array_and_a_traced_order_say_what_to_write_or_work() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"import funcdiff\.numpy as np"):
        fd.grad(lambda p: np.sum(linalg.norm(A, p, axis=-1)))(2.0)
    by_order = fd.jacfwd(lambda p: fnp.linalg.norm(A, p, axis=-1))(2.0)
    expected = fd.jacfwd(lambda p: linalg.norm(A * (1 + 0 * p), p, -1))(2.0)
    np.testing.assert_allclose(by_order, expected, rtol=1e-12)
