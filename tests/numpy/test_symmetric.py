"""Cholesky factors and eigenvalues of symmetric matrices: symmetry, and equal eigenvalues."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.testing import check_grads

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3))
STACK = RANDOM.normal(size=(2, 3, 3)) + 2 * np.diag([1.0, -1.0, 2.0])
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))


def _hermitian(a: Any) -> Any:
    return a + np.conj(np.swapaxes(a, -1, -2))


def _positive(a: Any) -> Any:
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1])


def _grad(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.grad(f)(x)


def test_eigenvectors_of_a_real_matrix_have_a_derivative() -> None:
    check_grads(lambda a: linalg.eigh(_hermitian(a))[1], (A,))
    check_grads(lambda a: linalg.eigh(_hermitian(a))[1], (STACK,))


@pytest.mark.parametrize("f", [
    lambda a: np.sum(linalg.cholesky(a) * A),
    lambda a: np.sum(linalg.cholesky(a, upper=True) * A),
    lambda a: np.sum(linalg.eigvalsh(a) * A[0]),
    lambda a: np.sum(linalg.eigh(a, "U")[1] * A),
])  # fmt: skip
def test_the_gradient_of_a_symmetric_matrix_is_symmetric(f: Callable[[Any], Any]) -> None:
    gradient = _grad(f, _positive(A))
    assert gradient.any()
    np.testing.assert_allclose(gradient, gradient.T, rtol=1e-13, atol=1e-15)


def test_the_sum_of_equal_eigenvalues_has_the_identity_as_gradient() -> None:
    for values in (linalg.eigvalsh, lambda a: linalg.eigh(a)[0]):
        f_vjp: Any = fd.vjp(values, np.eye(3))[1]
        np.testing.assert_array_equal(f_vjp(np.ones(3))[0], np.eye(3))


def test_one_of_several_equal_eigenvalues_has_their_average_as_gradient() -> None:
    q = linalg.qr(A)[0]
    a = q @ np.diag([1.0, 1.0, 4.0]) @ q.T
    projector = q[:, :2] @ q[:, :2].T
    f_vjp: Any = fd.vjp(linalg.eigvalsh, a)[1]
    for k in (0, 1):
        (gradient,) = f_vjp(np.eye(3)[k])
        np.testing.assert_allclose(gradient, projector / 2, atol=1e-14)


def test_equal_eigenvalues_part_along_a_direction() -> None:
    t = np.array([[0.0, 1.0], [1.0, 0.0]])
    for f in (linalg.eigvalsh, lambda a: linalg.eigh(a).eigenvalues):
        np.testing.assert_allclose(fd.jvp(f, (np.eye(2),), (t,))[1], [-1.0, 1.0])


def test_a_function_of_a_matrix_is_exact_in_forward_mode_at_equal_eigenvalues() -> None:
    def exponential(a: Any) -> Any:
        w, v = linalg.eigh(a)
        return (v * np.exp(w)) @ v.T

    q = linalg.qr(A)[0]
    t = _hermitian(A)
    for a in (np.eye(3), q @ np.diag([1.0, 1.0, -2.0]) @ q.T):
        h = 1e-5
        expected = (exponential(a + h * t) - exponential(a - h * t)) / (2 * h)
        np.testing.assert_allclose(fd.jvp(exponential, (a,), (t,))[1], expected, atol=1e-8)
        assert np.isfinite(_grad(lambda a: np.sum(exponential(a)), a)).all()


def test_the_projector_on_equal_eigenvalues_is_exact_in_both_modes() -> None:
    def projector(a: Any) -> Any:
        v = linalg.eigh(a)[1][:, :2]
        return v @ np.conj(v.T)

    for q in (linalg.qr(A)[0], linalg.qr(COMPLEX)[0]):
        a = q @ np.diag([1.0, 1.0, 4.0]) @ np.conj(q.T)
        t, h = _hermitian(q * np.array([1.0, 2.0, -1.0])), 1e-5
        expected = (projector(a + h * t) - projector(a - h * t)) / (2 * h)
        np.testing.assert_allclose(fd.jvp(projector, (a,), (t,))[1], expected, atol=1e-9)
        gradient = _grad(lambda a: np.sum((projector(a) * COMPLEX).real), a)
        np.testing.assert_allclose(
            np.sum(np.conj(gradient) * t).real, np.sum((expected * COMPLEX).real), atol=1e-8
        )


@pytest.mark.parametrize("dtype", [float, complex])
def test_what_depends_on_the_choice_of_eigenvectors_raises(dtype: Any) -> None:
    with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
        _grad(lambda a: np.sum(linalg.eigh(a)[1].real * A), np.eye(3, dtype=dtype))


def _of_eigenvectors(f: Callable[[Any], Any], a: Any) -> Any:
    return f(linalg.eigh(a)[1])


def test_a_use_that_is_stationary_at_the_eigenvectors_of_lapack_raises_all_the_same() -> None:
    uses: list[Callable[[Any], Any]] = [lambda v: v[0, 0], lambda v: v[1, 1] ** 2, np.sum]
    for f in uses:
        with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
            _grad(partial(_of_eigenvectors, f), np.eye(2))


def test_the_phase_of_a_complex_eigenvector_has_no_derivative() -> None:
    with pytest.raises(NotDifferentiableError, match="any phase"):
        _grad(lambda a: np.sum(linalg.eigh(a)[1].real * A), _hermitian(COMPLEX))
