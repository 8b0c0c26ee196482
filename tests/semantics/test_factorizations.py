"""Factorizations: every shape, what a choice of vectors may decide, batches, Hermitian matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import FuncdiffError
from funcdiff.testing import check_grads

Derivative = Callable[[Callable[..., Any], Any], Any]

RANDOM = np.random.default_rng(41)
SQUARE = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)
TALL = RANDOM.normal(size=(4, 3))
STACK = RANDOM.normal(size=(2, 3, 3)) + 4 * np.eye(3)
COMPLEX = SQUARE + 1j * RANDOM.normal(size=(3, 3))
HERMITIAN = COMPLEX @ COMPLEX.conj().T + np.eye(3)


# ---- qr --------------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("x", [SQUARE, TALL, TALL.T, STACK, COMPLEX], ids=lambda x: str(x.shape))
def test_qr_of_every_shape_is_differentiated(x: Any) -> None:
    check_grads(lambda x: tuple(np.linalg.qr(x)), (x,), order=2)


def test_the_triangle_alone_of_a_qr_is_differentiated() -> None:
    check_grads(lambda x: np.linalg.qr(x, mode="r"), (TALL,), order=2)


def test_complete_factors_of_a_wide_matrix_are_differentiated() -> None:
    check_grads(lambda x: tuple(np.linalg.qr(x, mode="complete")), (TALL.T,), order=2)


def test_the_one_column_that_a_complete_qr_adds_is_determined_and_differentiated() -> None:
    check_grads(lambda x: tuple(np.linalg.qr(x, mode="complete")), (TALL,), order=2)


def test_the_columns_that_a_complete_qr_adds_raise_and_the_message_says_what_to_pass() -> None:
    with pytest.raises((FuncdiffError, TypeError), match="reduced"):
        fd.grad(lambda x: np.sum(np.linalg.qr(x, mode="complete")[0] ** 3))(
            RANDOM.normal(size=(5, 3))
        )


# ---- eigenvalues and eigenvectors --------------------------------------------------------------


def test_eigenvectors_keep_the_length_one_under_differentiation() -> None:
    t = RANDOM.normal(size=(3, 3))
    v, moved = fd.jvp(lambda x: np.linalg.eig(x)[1], (SQUARE,), (t,))
    np.testing.assert_allclose(np.sum(np.conj(v) * moved, axis=0).real, np.zeros(3), atol=1e-13)


def test_eigenvalues_move_as_perturbation_theory_says() -> None:
    t = RANDOM.normal(size=(3, 3))
    w, moved = fd.jvp(np.linalg.eigvals, (SQUARE,), (t,))
    v = np.linalg.eig(SQUARE)[1]
    np.testing.assert_array_equal(w, np.linalg.eigvals(SQUARE))
    np.testing.assert_allclose(moved, np.diag(np.linalg.inv(v) @ t @ v), rtol=1e-10)
    np.testing.assert_allclose(
        fd.grad(lambda x: np.sum(np.linalg.eigvals(x)).real)(SQUARE), np.eye(3), atol=1e-13
    )


def test_the_gradient_of_a_hermitian_factor_is_hermitian() -> None:
    functions: list[Callable[[Any], Any]] = [
        lambda x: np.sum(np.abs(np.linalg.cholesky(x)) ** 3),
        lambda x: np.linalg.eigvalsh(x)[1],
        lambda x: np.sum(np.abs(np.linalg.eigh(x)[1]) ** 3),
    ]
    for f in functions:
        g = fd.grad(f)(HERMITIAN)
        np.testing.assert_allclose(g, g.conj().T, rtol=1e-10, atol=1e-12)


# ---- batches -------------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("f", [
    np.linalg.inv,
    np.linalg.pinv,
    np.linalg.det,
    np.linalg.cond,
    lambda x: np.linalg.slogdet(x)[1],
    lambda x: np.linalg.matrix_power(x, -2),
    lambda x: np.linalg.solve(x, np.ones((3, 2))),
    lambda x: np.linalg.cholesky(x @ np.swapaxes(x, -1, -2)),
    lambda x: np.linalg.eigvalsh(x + np.swapaxes(x, -1, -2)),
    lambda x: np.linalg.svd(x)[1],
    lambda x: np.linalg.norm(x, "nuc", axis=(-2, -1)),
])  # fmt: skip
def test_a_stack_is_differentiated_matrix_by_matrix(f: Any) -> None:
    result = fd.grad(lambda x: np.sum(f(x) ** 2))(STACK)
    for k, x in enumerate(STACK):
        expected = fd.grad(lambda x: np.sum(f(x) ** 2))(x)
        np.testing.assert_allclose(result[k], expected, rtol=1e-9, atol=1e-11)
    check_grads(f, (STACK,), order=2)


# ---- norms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_every_norm_of_a_matrix_of_zeros_has_slope_zero(p: Any, gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.norm(x, p), np.zeros((2, 3)))
    np.testing.assert_array_equal(result, np.zeros((2, 3)))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("p", [2, -2, "nuc"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_by_singular_values_take_axis_and_keepdims(p: Any, keepdims: bool) -> None:
    check_grads(lambda x: np.linalg.norm(x, p, axis=(0, 2), keepdims=keepdims), (STACK,), order=2)


def test_equal_sums_share_in_the_norm_of_a_matrix(gradient: Derivative) -> None:
    x = np.array([[1.0, -2.0], [3.0, 2.0]])
    columns = gradient(lambda x: np.linalg.norm(x, 1), x)
    np.testing.assert_array_equal(columns, [[0.5, -0.5], [0.5, 0.5]])
    rows = gradient(lambda x: np.linalg.norm(x, np.inf), np.array([[1.0, -2.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(rows, [[0.5, -0.5], [0.5, 0.5]])


def test_equal_singular_values_share_in_the_spectral_norm(gradient: Derivative) -> None:
    result = gradient(lambda x: np.linalg.norm(x, 2), np.diag([2.0, 2.0, 1.0]))
    np.testing.assert_allclose(result, np.diag([0.5, 0.5, 0]), atol=1e-15)


# ---- determinants --------------------------------------------------------------------------------


def test_the_hessian_of_a_determinant_of_rank_one_is_exact(second: Derivative) -> None:
    x = np.outer([1.0, 2, 3], [1.0, -1, 2])
    epsilon = np.zeros((3, 3, 3))
    epsilon[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1
    epsilon[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1
    expected = np.einsum("ikm,jln,mn->ijkl", epsilon, epsilon, x)
    np.testing.assert_allclose(second(np.linalg.det, x), expected, atol=1e-12)


def test_the_hessian_of_a_determinant_of_zeros_is_zero(second: Derivative) -> None:
    np.testing.assert_array_equal(second(np.linalg.det, np.zeros((3, 3))), np.zeros((3,) * 4))
