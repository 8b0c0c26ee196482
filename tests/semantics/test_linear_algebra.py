"""Determinants, inverses, solutions and factors: singular points, symmetry and batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import FuncdiffError

Derivative = Callable[[Callable[..., Any], Any], Any]

RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)
B = RANDOM.normal(size=(3, 2))
STACK = RANDOM.normal(size=(2, 3, 3)) + 4 * np.eye(3)
POSITIVE = A @ A.T + np.eye(3)


def _differences(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a scalar function by central differences."""
    step = 1e-6
    units = np.eye(x.size).reshape(x.size, *x.shape)
    slopes = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in units]
    return np.reshape(slopes, x.shape)


# ---- determinants ----------------------------------------------------------------------------


def test_the_gradient_of_a_determinant_is_the_cofactor_matrix(gradient: Derivative) -> None:
    expected = np.linalg.det(A) * np.linalg.inv(A).T
    np.testing.assert_allclose(gradient(np.linalg.det, A), expected, rtol=1e-12)


def test_the_determinant_of_a_singular_matrix_has_the_adjugate(
    gradient: Derivative, second: Derivative
) -> None:
    x = np.array([[1.0, 2], [2, 4]])
    np.testing.assert_allclose(gradient(np.linalg.det, x), [[4, -2], [-2, 1]], atol=1e-12)
    expected = np.zeros((2, 2, 2, 2))
    expected[0, 0, 1, 1] = expected[1, 1, 0, 0] = 1
    expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = -1
    np.testing.assert_allclose(second(np.linalg.det, x), expected, atol=1e-12)


def test_a_singular_matrix_of_rank_two_has_the_adjugate(gradient: Derivative) -> None:
    x = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    adjugate = np.array([[-3.0, 6, -3], [6, -12, 6], [-3, 6, -3]])
    np.testing.assert_allclose(gradient(np.linalg.det, x), adjugate.T, atol=1e-9)


def test_the_determinant_of_zeros_has_gradient_zero(gradient: Derivative) -> None:
    np.testing.assert_array_equal(gradient(np.linalg.det, np.zeros((3, 3))), np.zeros((3, 3)))


def test_a_stack_of_determinants_is_differentiated_matrix_by_matrix(
    gradient: Derivative,
) -> None:
    result = gradient(lambda x: np.sum(np.linalg.det(x) * np.array([1.0, 5.0])), STACK)
    for k, weight in enumerate([1.0, 5.0]):
        expected = weight * gradient(np.linalg.det, STACK[k])
        np.testing.assert_allclose(result[k], expected, rtol=1e-12)


def test_the_gradient_of_a_log_determinant_is_the_inverse_transposed(
    gradient: Derivative, second: Derivative
) -> None:
    def f(x: Any) -> Any:
        return np.linalg.slogdet(x)[1]

    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(gradient(f, A), inverse.T, rtol=1e-12)
    expected = -np.einsum("jk,li->ijkl", inverse, inverse)
    np.testing.assert_allclose(second(f, A), expected, rtol=1e-11, atol=1e-12)


def test_the_sign_of_a_determinant_is_a_constant(gradient: Derivative) -> None:
    np.testing.assert_array_equal(
        gradient(lambda x: np.linalg.slogdet(x).sign, A), np.zeros((3, 3))
    )


# ---- inverses and solutions ------------------------------------------------------------------


def test_the_inverse_has_minus_the_product_of_inverses(gradient: Derivative) -> None:
    inverse = np.linalg.inv(A)
    result = gradient(lambda x: np.linalg.inv(x)[0, 2], A)
    np.testing.assert_allclose(result, -np.outer(inverse[0], inverse[:, 2]), rtol=1e-12)


def test_solve_is_differentiated_in_matrix_and_right_hand_side(gradient: Derivative) -> None:
    weights = RANDOM.normal(size=(3, 2))

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b) * weights)

    adjoint = np.linalg.solve(A.T, weights)
    np.testing.assert_allclose(gradient(lambda b: f(A, b), B), adjoint, rtol=1e-12)
    expected = -adjoint @ np.linalg.solve(A, B).T
    np.testing.assert_allclose(gradient(lambda a: f(a, B), A), expected, rtol=1e-12)


def test_solve_takes_a_one_dimensional_right_hand_side_as_a_vector(gradient: Derivative) -> None:
    b = np.array([1.0, 2, 3])
    result = gradient(lambda b: np.linalg.solve(A, b)[1], b)
    np.testing.assert_allclose(result, np.linalg.inv(A)[1], rtol=1e-12)


def test_solve_takes_a_stack_of_vectors_as_one_matrix() -> None:
    b = RANDOM.normal(size=(3, 3))
    y, f_vjp = fd.vjp(lambda b: np.linalg.solve(STACK, b), b)
    np.testing.assert_array_equal(y, np.linalg.solve(STACK, b))
    (ct,) = f_vjp(np.ones((2, 3, 3)))
    expected = sum(np.linalg.solve(a.T, np.ones((3, 3))) for a in STACK)
    np.testing.assert_allclose(ct, expected, rtol=1e-12)


def test_solve_broadcasts_batches(gradient: Derivative) -> None:
    result = gradient(lambda a: np.sum(np.linalg.solve(a, np.stack([B, 2 * B, -B]))), A)
    expected = gradient(lambda a: 2 * np.sum(np.linalg.solve(a, B)), A)
    np.testing.assert_allclose(result, expected, rtol=1e-11)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_matrix_powers_are_repeated_products(n: int, gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.linalg.matrix_power(x, n)), A)
    expected = _differences(lambda x: np.sum(np.linalg.matrix_power(x, n)), A)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)


def test_multi_dot_is_the_product_of_its_matrices(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.linalg.multi_dot([B.T, x, A, x, B])), A)
    expected = gradient(lambda x: np.sum(B.T @ x @ A @ x @ B), A)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_tensorsolve_and_tensorinv_are_solutions_of_matrices(gradient: Derivative) -> None:
    a = RANDOM.normal(size=(2, 3, 6)) + np.eye(6).reshape(2, 3, 6) * 4
    b = RANDOM.normal(size=(2, 3))
    for f in (
        lambda x: np.sum(np.linalg.tensorsolve(x, b) ** 2),
        lambda x: np.sum(np.linalg.tensorinv(x, ind=2) ** 2),
    ):
        np.testing.assert_allclose(gradient(f, a), _differences(f, a), rtol=1e-5, atol=1e-7)


# ---- symmetric factors -----------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.linalg.cholesky(x) * np.arange(9.0).reshape(3, 3)),
    lambda x: np.linalg.eigvalsh(x)[0],
    lambda x: np.linalg.eigh(x)[0][2] ** 2,
    lambda x: np.sum(np.abs(np.linalg.eigh(x).eigenvectors) * np.arange(9.0).reshape(3, 3)),
])  # fmt: skip
def test_symmetric_factors_have_symmetric_gradients(f: Any, gradient: Derivative) -> None:
    result = gradient(f, POSITIVE)
    np.testing.assert_allclose(result, result.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        result, _differences(lambda x: f((x + x.T) / 2), POSITIVE), rtol=1e-5, atol=1e-7
    )


def test_cholesky_depends_on_both_triangles_alike(gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.cholesky(x)[1, 0], POSITIVE)
    assert result[0, 1] == result[1, 0] != 0


def test_the_sum_of_equal_eigenvalues_has_the_identity(gradient: Derivative) -> None:
    np.testing.assert_allclose(
        gradient(lambda x: np.sum(np.linalg.eigvalsh(x)), np.eye(3)), np.eye(3), atol=1e-15
    )
    np.testing.assert_allclose(
        gradient(lambda x: np.sum(np.linalg.eigh(x)[0]), np.eye(3)), np.eye(3), atol=1e-15
    )


@pytest.mark.parametrize("k", [0, 1, 2])
def test_one_of_three_equal_eigenvalues_has_the_average_of_the_block(k: int) -> None:
    result = fd.grad(lambda x: np.linalg.eigvalsh(x)[k])(np.eye(3))
    np.testing.assert_allclose(result, np.eye(3) / 3, atol=1e-15)


def test_a_double_eigenvalue_next_to_a_single_one_has_the_average_of_its_block() -> None:
    x = np.diag([2.0, 2.0, 5.0])
    low = fd.grad(lambda x: np.linalg.eigvalsh(x)[0])(x)
    np.testing.assert_allclose(low, np.diag([0.5, 0.5, 0]), atol=1e-15)
    high = fd.grad(lambda x: np.linalg.eigvalsh(x)[2])(x)
    np.testing.assert_allclose(high, np.diag([0.0, 0, 1]), atol=1e-15)


def test_equal_eigenvalues_split_along_a_direction_forward() -> None:
    swap = np.array([[0.0, 1], [1, 0]])
    for f in (np.linalg.eigvalsh, lambda x: np.linalg.eigh(x)[0]):
        np.testing.assert_allclose(fd.jvp(f, (np.eye(2),), (swap,))[1], [-1, 1], atol=1e-15)


def test_a_function_of_a_matrix_through_its_eigenvalues_is_finite_at_equal_ones() -> None:
    def f(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.sum(((v * np.exp(w)) @ v.T) * np.array([[1.0, 2], [2, 5]]))

    result = fd.grad(f)(np.eye(2))
    np.testing.assert_allclose(result, np.e * np.array([[1.0, 2], [2, 5]]), rtol=1e-12)


def test_a_gauge_dependent_use_of_eigenvectors_raises() -> None:
    with pytest.raises(FuncdiffError):
        fd.grad(lambda x: np.linalg.eigh(x)[1][0, 0])(np.eye(2))


# ---- norms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [None, 1, 2, np.inf, -np.inf, 3, 2.5, -1])
def test_norms_of_vectors(p: Any, gradient: Derivative) -> None:
    x = np.array([3.0, -1.0, 2.0, 0.5])
    result = gradient(lambda x: np.linalg.norm(x, p), x)
    np.testing.assert_allclose(
        result, _differences(lambda x: np.linalg.norm(x, p), x), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("p", [None, "fro", 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_stacks_of_matrices(p: Any, keepdims: bool, gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.norm(x, p, axis=(0, 2), keepdims=keepdims) ** 2)

    np.testing.assert_allclose(gradient(f, STACK), _differences(f, STACK), rtol=1e-6, atol=1e-8)


def test_ties_in_a_norm_share(gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.norm(x, np.inf), np.array([1.0, -2, 2, 0]))
    np.testing.assert_array_equal(result, [0, -0.5, 0.5, 0])


def test_the_one_norm_has_slope_zero_at_a_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.norm(x, 1), np.array([1.0, -2, 0]))
    np.testing.assert_array_equal(result, [1, -1, 0])
