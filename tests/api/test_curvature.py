"""Second derivatives: `hvp`, `vhp`, `gauss_newton_product`, `hessian`, `value_grad_and_hessian`."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError, OutputError

X = np.array([0.3, -1.2, 2.0])
T = np.array([1.0, 0.5, -2.0])
A = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])

PRODUCTS = pytest.mark.parametrize("product", [fd.hvp, fd.vhp])


def _f(x: Any) -> Any:
    return np.sum(x**3) + x[0] * x[2]


H = np.diag(6 * X) + np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])

# ---- hvp and vhp -----------------------------------------------------------------------------


@PRODUCTS
def test_it_is_the_hessian_times_the_vector(product: Any) -> None:
    np.testing.assert_allclose(product(_f, (X,), (T,)), H @ T, rtol=1e-14)


@PRODUCTS
def test_of_several_arguments_blocks_are_summed(product: Any) -> None:
    a, b = product(lambda a, b: a**2 * b, (3.0, 5.0), (1.0, 2.0))
    assert (a, b) == (2 * 5 * 1 + 2 * 3 * 2, 2 * 3 * 1)


@PRODUCTS
def test_containers_come_back_as_they_went_in(product: Any) -> None:
    def f(p: Any) -> Any:
        return p["a"] ** 2 * p["b"][0]

    result = product(f, ({"a": 3.0, "b": [5.0]},), ({"a": 1.0, "b": [2.0]},))
    assert result == {"a": 22, "b": [6]}


@PRODUCTS
def test_the_products_compose_with_vmap_and_grad(product: Any) -> None:
    columns = fd.vmap(lambda t: product(_f, (X,), (t,)))(np.eye(3))
    np.testing.assert_allclose(columns, H, rtol=1e-14)
    third = fd.grad(lambda x: product(_f, (x,), (T,)) @ T)(X)
    np.testing.assert_allclose(third, 6 * T**2, rtol=1e-14)
    fd.testing.check_grads(lambda x: product(_f, (x,), (T,)), (X,))


@PRODUCTS
def test_of_a_complex_argument_the_product_is_that_of_real_and_imaginary_parts(
    product: Any,
) -> None:
    z, t = 0.4 + 1.3j, -0.7 + 0.2j
    x, y = z.real, z.imag
    # f = |z|⁴ = (x² + y²)²
    hessian = np.array([[12 * x**2 + 4 * y**2, 8 * x * y], [8 * x * y, 4 * x**2 + 12 * y**2]])
    expected = hessian @ [t.real, t.imag]
    result = product(lambda z: np.abs(z * z) ** 2, (z,), (t,))
    np.testing.assert_allclose([result.real, result.imag], expected, rtol=1e-13)


@PRODUCTS
def test_what_does_not_fit_is_an_error(product: Any) -> None:
    with pytest.raises(OutputError, match="real scalar"):
        product(lambda x: x, (X,), (T,))
    with pytest.raises(CotangentError, match=r"\(2,\).*\(3,\)"):
        product(_f, (X,), (T[:2],))
    with pytest.raises(InputError, match="tuples"):
        product(_f, X, T)
    with pytest.raises((InputError, CotangentError)):
        product(lambda a, b: a * b, (1.0, 2.0), (1.0,))
    with pytest.raises((InputError, CotangentError)):
        product(_f, (X,), (T, T))


# ---- gauss_newton_product ---------------------------------------------------------------------


def _residuals(x: Any) -> Any:
    return np.tanh(A @ x)


def _jacobian(x: Any) -> Any:
    return (1 - np.tanh(A @ x) ** 2)[:, None] * A


def test_by_default_it_is_the_squared_jacobian() -> None:
    J = _jacobian(X)
    result = fd.gauss_newton_product(_residuals, (X,), (T,))
    np.testing.assert_allclose(result, J.T @ (J @ T), rtol=1e-13)


def test_a_loss_puts_its_hessian_in_the_middle() -> None:
    def loss(y: Any) -> Any:
        return np.sum(np.exp(y)) + y[0] * y[1]

    y, J = _residuals(X), _jacobian(X)
    middle = np.diag(np.exp(y)) + np.array([[0, 1], [1, 0]])
    result = fd.gauss_newton_product(_residuals, (X,), (T,), loss=loss)
    np.testing.assert_allclose(result, J.T @ (middle @ (J @ T)), rtol=1e-13)


def test_of_a_linear_model_it_is_the_hessian_of_the_loss() -> None:
    def model(p: Any, *, x: Any) -> Any:
        return {"y": x @ p["w"] + p["b"]}

    def loss(out: Any) -> Any:
        return np.sum(np.log(1 + np.exp(out["y"])))

    p: Any = {"w": np.array([0.1, -0.4, 0.3]), "b": 0.2}
    t: Any = {"w": T, "b": 3.0}
    found = fd.gauss_newton_product(model, (p,), (t,), loss=loss, x=A)
    expected = fd.hvp(lambda p: loss(model(p, x=A)), (p,), (t,))
    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-13)
    np.testing.assert_allclose(found["b"], expected["b"], rtol=1e-13)


def test_of_complex_residuals_it_is_the_adjoint_times_the_jacobian() -> None:
    B = A + 1j * A[::-1]
    z, t = X + 0.5j, T - 1j
    result = fd.gauss_newton_product(lambda z: B @ z, (z,), (t,))
    np.testing.assert_allclose(result, B.conj().T @ (B @ t), rtol=1e-14)


def test_it_is_a_tuple_of_several_arguments_and_takes_an_auxiliary_result() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.stack([a * b, a]), "aux"

    J = np.array([[3.0, 2.0], [1.0, 0.0]])
    (a, b), aux = fd.gauss_newton_product(f, (2.0, 3.0), (1.0, -1.0), has_aux=True)
    np.testing.assert_allclose([a, b], J.T @ J @ [1.0, -1.0])
    assert aux == "aux"
    by_b = fd.gauss_newton_product(f, (2.0, 3.0), (5.0,), argnums=1, has_aux=True)
    assert by_b == (20, "aux")


# ---- hessian and value_grad_and_hessian ---------------------------------------------------------


def test_value_gradient_and_hessian_come_together() -> None:
    value, gradient, hessian = fd.value_grad_and_hessian(_f)(X)
    assert value == _f(X)
    np.testing.assert_allclose(gradient, 3 * X**2 + [X[2], 0, X[0]], rtol=1e-14)
    np.testing.assert_allclose(hessian, H, rtol=1e-14)


def test_the_three_share_their_work() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(np.sin(A @ x)))

    def ops(derived: Any) -> list[str]:
        return [eq.primitive.name for eq in fd.trace(derived)(X).equations]

    together, apart = ops(fd.value_grad_and_hessian(f)), ops(fd.hessian(f))
    for name in ("exp", "sin", "cos"):
        assert together.count(name) == apart.count(name) == 1
    assert len(together) <= len(apart) + 3


def test_hessians_in_containers_are_containers_of_containers() -> None:
    def f(p: Any, *, scale: Any) -> Any:
        return scale * p["a"] ** 2 * np.sum(p["b"] ** 3), {"aux": p["a"]}

    p = {"a": 2.0, "b": X}
    value, gradient, hessian = fd.value_grad_and_hessian(f, has_aux=True)(p, scale=10.0)
    assert value[1] == {"aux": 2.0}
    np.testing.assert_allclose(value[0], 40 * np.sum(X**3))
    np.testing.assert_allclose(gradient["b"], 120 * X**2)
    np.testing.assert_allclose(hessian["a"]["b"], 120 * X**2)
    np.testing.assert_allclose(hessian["b"]["a"], 120 * X**2)
    np.testing.assert_allclose(hessian["b"]["b"], np.diag(240 * X))
    alone, aux = fd.hessian(f, has_aux=True)(p, scale=10.0)
    assert aux == {"aux": 2.0}
    np.testing.assert_allclose(alone["b"]["b"], hessian["b"]["b"])


def test_a_hessian_in_chunks_is_the_same() -> None:
    for size in (1, 2, 3, 7):
        np.testing.assert_array_equal(fd.hessian(_f, chunk_size=size)(X), fd.hessian(_f)(X))
        _, _, hessian = fd.value_grad_and_hessian(_f, chunk_size=size)(X)
        np.testing.assert_array_equal(hessian, fd.hessian(_f)(X))


def test_the_hessian_of_a_holomorphic_function_is_its_second_derivative() -> None:
    z = 0.3 + 0.8j
    result = fd.hessian(lambda z: np.exp(2 * z), holomorphic=True)(z)
    np.testing.assert_allclose(result, 4 * np.exp(2 * z), rtol=1e-14)
    value, first, second = fd.value_grad_and_hessian(np.exp, holomorphic=True)(z)
    np.testing.assert_allclose([value, first, second], [np.exp(z)] * 3, rtol=1e-15)
    with pytest.raises(InputError, match="holomorphic"):
        fd.hessian(lambda z: np.abs(z) ** 2)(z)


def test_a_third_derivative_is_the_jacobian_of_a_hessian() -> None:
    third = fd.jacobian(fd.hessian(lambda x: np.sum(x**3)))(X)
    expected = np.zeros((3, 3, 3))
    expected[range(3), range(3), range(3)] = 6
    np.testing.assert_array_equal(third, expected)


# ---- vectors of solvers ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("product", [fd.hvp, fd.vhp, fd.gauss_newton_product])
def test_vectors_of_integers_are_taken_as_floats(product: Any, dtype: Any) -> None:
    t = np.array([1, 0, 2])
    for f in (_f, lambda p: _f(p["x"])):
        of = (lambda x: x) if f is _f else (lambda x: {"x": x})
        found, expected = (product(f, (of(X),), (of(v),)) for v in (t.astype(dtype), 1.0 * t))
        for a, b in zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True):
            assert a.dtype == np.float64
            np.testing.assert_array_equal(a, b)


def test_traced_vectors_of_integers_are_taken_as_floats() -> None:
    product = fd.jit(lambda t: fd.hvp(_f, (X,), (t,)))
    np.testing.assert_allclose(product(np.array([1, 0, 2])), H @ [1, 0, 2], rtol=1e-14)


def test_a_gauss_newton_product_has_the_dtype_of_the_primal() -> None:
    t = np.array([1.0, 0.5, -2.0], np.float32)
    found = fd.gauss_newton_product(lambda x: A @ x, (X,), (t,))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A.T @ A @ t, rtol=1e-14)
    with pytest.raises(CotangentError, match=r"tangents\[0\] has dtype complex128, but the primal"):
        fd.gauss_newton_product(lambda x: A @ x, (X,), (1j * T,))
