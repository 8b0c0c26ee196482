"""Determinants, inverses, solutions and factors: singular points, ties, symmetry and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import FuncdiffError
from tests.claims import alike, refused
from tests.differences import differences
from tests.semantics.modes import gradient, slopes

linalg: Any = np.linalg
RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)
POSITIVE = A @ A.T + np.eye(3)
COMPLEX = A + 1j * RANDOM.normal(size=(3, 3))
HERMITIAN = COMPLEX @ COMPLEX.conj().T + np.eye(3)
TALL = RANDOM.normal(size=(4, 3))
INVERSE = np.linalg.inv(A)
RANK_ONE = np.outer([1.0, 2, 3], [1.0, -1, 2])
EPSILON = np.zeros((3, 3, 3))
EPSILON[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1
EPSILON[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1


def _minors() -> Any:
    """Return the Hessian of the determinant of two rows."""
    found = np.zeros((2, 2, 2, 2))
    found[0, 0, 1, 1] = found[1, 1, 0, 0] = 1
    found[0, 1, 1, 0] = found[1, 0, 0, 1] = -1
    return found


test_determinants_have_cofactors = slopes({
    "of a regular matrix": (linalg.det, A, np.linalg.det(A) * INVERSE.T),
    "of a singular matrix": (linalg.det, [[1.0, 2], [2, 4]], [[4, -2], [-2, 1]], _minors()),
    "of rank one": (
        linalg.det, RANK_ONE, np.zeros((3, 3)),
        np.einsum("ikm,jln,mn->ijkl", EPSILON, EPSILON, RANK_ONE),
    ),
    "of zeros": (linalg.det, np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3,) * 4)),
    "as a logarithm": (
        lambda x: linalg.slogdet(x)[1], A, INVERSE.T, -np.einsum("jk,li->ijkl", INVERSE, INVERSE)
    ),
    "of which the sign is a constant": (lambda x: linalg.slogdet(x).sign, A, np.zeros((3, 3))),
}, rtol=1e-11, atol=1e-12)  # fmt: skip

test_a_singular_matrix_of_rank_two_has_the_adjugate = slopes({
    "of three rows": (
        linalg.det, [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]
    ),
}, atol=1e-9)  # fmt: skip

test_norms_at_kinks_have_the_slope_of_least_norm = slopes({
    "every norm of a matrix of zeros": [
        (lambda x, p=p: linalg.norm(x, p), np.zeros((2, 3)), np.zeros((2, 3)))
        for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    "equal columns": (
        lambda x: linalg.norm(x, 1), [[1.0, -2.0], [3.0, 2.0]], [[0.5, -0.5], [0.5, 0.5]]
    ),
    "equal rows": (
        lambda x: linalg.norm(x, np.inf), [[1.0, -2.0], [2.0, 1.0]], [[0.5, -0.5], [0.5, 0.5]]
    ),
    "equal elements": (lambda x: linalg.norm(x, np.inf), [1.0, -2, 2, 0], [0, -0.5, 0.5, 0]),
    "a zero element": (lambda x: linalg.norm(x, 1), [1.0, -2, 0], [1, -1, 0]),
})  # fmt: skip

test_equal_eigenvalues_and_singular_values_share = slopes({
    "the spectral norm": (
        lambda x: linalg.norm(x, 2), np.diag([2.0, 2.0, 1.0]), np.diag([0.5, 0.5, 0])
    ),
    "the sum of equal eigenvalues has the identity": [
        (lambda x: np.sum(linalg.eigvalsh(x)), np.eye(3), np.eye(3)),
        (lambda x: np.sum(linalg.eigh(x)[0]), np.eye(3), np.eye(3)),
    ],
}, rtol=1e-7, atol=1e-15)  # fmt: skip

test_one_of_equal_eigenvalues_has_the_average_of_its_block = alike({
    "of three": [
        (lambda k=k: fd.grad(lambda x: linalg.eigvalsh(x)[k])(np.eye(3)), np.eye(3) / 3)
        for k in range(3)
    ],
    "of two beside a single one": [
        (lambda k=k: fd.grad(lambda x: linalg.eigvalsh(x)[k])(np.diag([2.0, 2.0, 5.0])), expected)
        for k, expected in ((0, np.diag([0.5, 0.5, 0])), (2, np.diag([0.0, 0, 1])))
    ],
    "along a direction that parts them": [
        (lambda f=f: fd.jvp(f, (np.eye(2),), (np.diag([3.0, 1]),))[1], np.array([2.0, 2]))
        for f in (linalg.eigvalsh, lambda x: linalg.eigh(x)[0])
    ],
}, rtol=1e-7, atol=1e-15)  # fmt: skip


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.linalg.cholesky(x) * np.arange(9.0).reshape(3, 3)),
    lambda x: np.linalg.eigvalsh(x)[0],
    lambda x: np.linalg.eigh(x)[0][2] ** 2,
    lambda x: np.sum(np.abs(np.linalg.eigh(x).eigenvectors) * np.arange(9.0).reshape(3, 3)),
])  # fmt: skip
def test_symmetric_factors_have_symmetric_gradients(f: Any) -> None:
    result = gradient(f, POSITIVE)
    np.testing.assert_allclose(result, result.T, rtol=1e-12, atol=1e-14)
    expected = differences(lambda x: f((x + x.T) / 2), POSITIVE)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.abs(np.linalg.cholesky(x)) ** 3),
    lambda x: np.linalg.eigvalsh(x)[1],
    lambda x: np.sum(np.abs(np.linalg.eigh(x)[1]) ** 3),
])  # fmt: skip
def test_the_gradient_of_a_hermitian_factor_is_hermitian(f: Any) -> None:
    g = fd.grad(f)(HERMITIAN)
    np.testing.assert_allclose(g, g.conj().T, rtol=1e-10, atol=1e-12)


def test_cholesky_depends_on_both_triangles_alike() -> None:
    result = gradient(lambda x: np.linalg.cholesky(x)[1, 0], POSITIVE)
    assert result[0, 1] == result[1, 0] != 0


def test_a_function_of_a_matrix_through_its_eigenvalues_is_finite_at_equal_ones() -> None:
    weights = np.array([[1.0, 2], [2, 5]])

    def f(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.sum(((v * np.exp(w)) @ v.T) * weights)

    np.testing.assert_allclose(fd.grad(f)(np.eye(2)), np.e * weights, rtol=1e-12)


test_what_depends_on_a_choice_of_vectors_raises = refused({
    "eigenvectors of equal eigenvalues": (
        FuncdiffError, None, lambda: fd.grad(lambda x: linalg.eigh(x)[1][0, 0])(np.eye(2))
    ),
    "the columns that a complete factor adds, with what to pass": (
        (FuncdiffError, TypeError), "reduced",
        lambda: fd.grad(lambda x: np.sum(linalg.qr(x, mode="complete")[0] ** 3))(TALL[:, :2]),
    ),
})  # fmt: skip
