"""`jacobian`, `jacfwd`, `jacrev` and `hessian`: arrays of derivatives in containers."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

A = np.arange(6.0).reshape(2, 3)
X = np.array([1.0, -2.0, 0.5])

BOTH = pytest.mark.parametrize("jac", [fd.jacobian, fd.jacfwd, fd.jacrev])


@BOTH
def test_the_jacobian_of_a_linear_map_is_its_matrix(jac: Any) -> None:
    np.testing.assert_array_equal(jac(lambda x: A @ x)(X), A)


@BOTH
@pytest.mark.parametrize(("x_shape", "y_shape"), [
    ((), ()), ((), (2,)), ((3,), ()), ((2, 3), (3, 2)), ((0,), (2,)), ((2,), (0,)), ((1, 1), (1,)),
])  # fmt: skip
def test_the_shape_is_that_of_the_output_then_the_input(
    jac: Any, x_shape: tuple[int, ...], y_shape: tuple[int, ...]
) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * np.ones(y_shape)

    result = jac(f)(np.ones(x_shape))
    np.testing.assert_array_equal(result, np.ones((*y_shape, *x_shape)))


@BOTH
def test_rows_are_outputs_and_columns_inputs(jac: Any) -> None:
    def f(x: Any) -> Any:
        return np.stack([x[0] * x[1], np.sin(x[2])])

    np.testing.assert_allclose(jac(f)(X), [[X[1], X[0], 0], [0, 0, np.cos(X[2])]], rtol=1e-15)


@BOTH
def test_containers_of_outputs_hold_containers_of_inputs(jac: Any) -> None:
    def f(p: Any) -> Any:
        return {"product": p["a"] * p["b"], "sum": (np.sum(p["a"]),)}

    result = jac(f)({"a": X, "b": 3.0})
    np.testing.assert_array_equal(result["product"]["a"], 3 * np.eye(3))
    np.testing.assert_array_equal(result["product"]["b"], X)
    np.testing.assert_array_equal(result["sum"][0]["a"], np.ones(3))
    assert result["sum"][0]["b"] == 0


@BOTH
def test_argnums_choose_the_columns(jac: Any) -> None:
    def f(x: Any, y: Any, *, scale: float) -> Any:
        return scale * x * y

    by_x, by_y = jac(f, argnums=(0, 1))(X, 2.0, scale=10.0)
    np.testing.assert_array_equal(by_x, 20 * np.eye(3))
    np.testing.assert_array_equal(by_y, 10 * X)
    np.testing.assert_array_equal(jac(f, argnums=-1)(X, 2.0, scale=10.0), 10 * X)


@BOTH
def test_single_precision_stays_single(jac: Any) -> None:
    result = jac(lambda x: x * x)(X.astype(np.float32))
    assert result.dtype == np.float32


@BOTH
def test_an_integer_argument_is_an_error(jac: Any) -> None:
    with pytest.raises(InputError, match="no derivative"):
        jac(lambda x: x * 1.0)(np.arange(3))


@BOTH
def test_an_integer_output_is_an_error(jac: Any) -> None:
    with pytest.raises(OutputError, match="floating or complex"):
        jac(lambda x: np.argsort(x))(X)


@BOTH
def test_a_complex_argument_needs_holomorphic(jac: Any) -> None:
    with pytest.raises(InputError, match="holomorphic"):
        jac(lambda z: z * z)(X + 1j)
    result = jac(lambda z: z * z, holomorphic=True)(X + 1j)
    np.testing.assert_allclose(result, np.diag(2 * (X + 1j)), rtol=1e-15)


@BOTH
def test_a_complex_output_of_a_real_argument_is_differentiated_as_it_is(jac: Any) -> None:
    result = jac(lambda x: np.exp(1j * x))(X)
    np.testing.assert_allclose(result, np.diag(1j * np.exp(1j * X)), rtol=1e-14)


def test_forward_and_reverse_agree_with_the_chosen_mode() -> None:
    def f(x: Any) -> Any:
        return np.tanh(A @ x) * np.sum(x)

    forward, reverse = fd.jacfwd(f)(X), fd.jacrev(f)(X)
    np.testing.assert_allclose(forward, reverse, rtol=1e-13)
    np.testing.assert_allclose(fd.jacobian(f)(X), reverse, rtol=1e-13)


def test_the_hessian_is_symmetric_and_exact() -> None:
    def f(x: Any) -> Any:
        return x[0] ** 2 * x[1] + np.exp(x[1] * x[2])

    a, b, c = X
    e = np.exp(b * c)
    expected = [
        [2 * b, 2 * a, 0],
        [2 * a, c**2 * e, (1 + b * c) * e],
        [0, (1 + b * c) * e, b**2 * e],
    ]
    np.testing.assert_allclose(fd.hessian(f)(X), expected, rtol=1e-13)


def test_the_hessian_of_containers_has_blocks() -> None:
    result = fd.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": 3.0, "b": 5.0})
    assert result == {"a": {"a": 10, "b": 6}, "b": {"a": 6, "b": 0}}


def test_the_hessian_by_two_arguments_has_blocks() -> None:
    (aa, ab), (ba, bb) = fd.hessian(lambda a, b: a**2 * b, argnums=(0, 1))(3.0, 5.0)
    assert (aa, ab, ba, bb) == (10, 6, 6, 0)


def test_the_hessian_of_a_matrix_argument_has_four_axes() -> None:
    result = fd.hessian(lambda x: np.sum(x**3))(A)
    assert result.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(result.reshape(6, 6), np.diag(6 * A.ravel()))


def test_the_hessian_needs_a_scalar() -> None:
    with pytest.raises(OutputError, match="real scalar"):
        fd.hessian(lambda x: x)(X)


@BOTH
def test_a_jacobian_leaves_its_arguments_alone(jac: Any) -> None:
    x = X.copy()
    jac(lambda x: x)(x)[:] = 7
    np.testing.assert_array_equal(x, X)
