"""Cholesky factors and eigenvalues of symmetric matrices: symmetry, and equal eigenvalues."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3))
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))


def _hermitian(a: Any) -> Any:
    return a + np.conj(np.swapaxes(a, -1, -2))


def _grad(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.grad(f)(x)


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
