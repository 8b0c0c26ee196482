"""Fourier transforms in the case list: odd lengths, and what `irfft` does not look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.semantics.modes import slopes
from tests.together import together

FFT: Any = np.fft
X = np.array([0.3, -1.2, 2.0, 0.7, -0.4])
Z = np.array([0.9 + 0.4j, -0.3 + 1.1j, 0.5 - 0.8j, 1.7 + 0.6j])
ENDS = {5: np.array([1.0, 2.0, 2.0]), 4: np.array([1.0, 2.0, 1.0])}


def _energy(x: Any, *options: Any) -> Any:
    return np.sum(np.abs(FFT.fft(x, *options)) ** 2)


test_gradients_are_those_of_parsevals_equation = pytest.mark.filterwarnings(
    "ignore:invalid value encountered in sqrt"
)(slopes({
    # Σ_k w_k·|X_k|² = n·Σ_j x_j², where the ends of the spectrum weigh 1 and the others 2
    "of odd and even length": [
        (lambda x, n=n: np.sum(ENDS[n] * np.abs(FFT.rfft(x)) ** 2), X[:n], 2 * n * X[:n])
        for n in (5, 4)
    ],
    "cropped and padded": [
        (lambda x, n=n: _energy(x, n), X, 2 * n * np.where(np.arange(5) < n, X, 0))
        for n in (3, 4, 7, 8)
    ],
    "a round trip is the identity": [
        (lambda x, n=n: np.sum(np.sin(FFT.irfft(FFT.rfft(x), n))), X[:n], np.cos(X[:n]),
         np.diag(-np.sin(X[:n])))
        for n in (5, 4)
    ],
    "a masked operand keeps its true zeros": (
        lambda x: _energy(np.where(x > 0, np.sqrt(x), 0)), [4.0, 0, -1], [3, 0, 0]
    ),
}, rtol=1e-7, atol=1e-14))  # fmt: skip


@together
@pytest.mark.parametrize("n", [3, 4, 6, 7])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["rfft", "fft", "ihfft"])
def test_transforms_of_another_length_are_adjoint(name: str, norm: str, n: int) -> None:
    def f(x: Any) -> Any:
        return getattr(np.fft, name)(x, n=n, norm=norm)

    matrix = np.stack([f(e) for e in np.eye(4)], axis=-1)
    v = np.arange(1.0, len(matrix) + 1) * (1 + 0.5j)
    (found,) = fd.vjp(f, X[:4])[1](v)
    np.testing.assert_allclose(found, (matrix.conj().T @ v).real, atol=1e-12)


@pytest.mark.parametrize("jacobian", [fd.jacfwd, fd.jacrev])
def test_the_holomorphic_derivative_is_the_matrix_itself(jacobian: Callable[..., Any]) -> None:
    """The transpose has no conjugate in it: the matrix is symmetric."""
    found = jacobian(FFT.fft, holomorphic=True)(Z)
    np.testing.assert_allclose(found, FFT.fft(np.eye(4)), atol=1e-15)
