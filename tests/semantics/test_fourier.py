"""Fourier transforms in the case list: odd lengths, and what `irfft` does not look at."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

Derivative = Callable[[Callable[..., Any], Any], Any]

FFT: Any = np.fft
X = np.array([0.3, -1.2, 2.0, 0.7, -0.4])
Z = np.array([0.9 + 0.4j, -0.3 + 1.1j, 0.5 - 0.8j, 1.7 + 0.6j])


@pytest.mark.parametrize("n", [5, 4])
def test_parseval_holds_for_real_transforms_of_odd_and_even_length(
    n: int, gradient: Derivative
) -> None:
    """Σ_k w_k·|X_k|² = n·Σ_j x_j², where the ends of the spectrum weigh 1 and the others 2."""
    weights = np.array([1.0, 2.0, 2.0]) if n % 2 else np.array([1.0, 2.0, 1.0])

    def energy(x: Any) -> Any:
        return np.sum(weights * np.abs(FFT.rfft(x)) ** 2)

    np.testing.assert_allclose(gradient(energy, X[:n]), 2 * n * X[:n])


@pytest.mark.parametrize("n", [5, 4])
def test_a_round_trip_is_the_identity(n: int, gradient: Derivative, second: Derivative) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(FFT.irfft(FFT.rfft(x), n)))

    np.testing.assert_allclose(gradient(f, X[:n]), np.cos(X[:n]))
    np.testing.assert_allclose(second(f, X[:n]), np.diag(-np.sin(X[:n])), atol=1e-15)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_irfft_ignores_the_imaginary_part_of_dc_and_nyquist(name: str, norm: Any) -> None:
    def f(z: Any) -> Any:
        return np.sum(X.take([0, 1, 2, 3, 4, 1]) * getattr(FFT, name)(z, norm=norm) ** 3)

    moved = Z + 1j * np.array([1.0, 0.0, 0.0, -3.0])
    assert f(moved) == f(Z)
    slope = fd.grad(f)(Z)
    np.testing.assert_array_equal(slope.imag[[0, 3]], 0)
    assert np.all(slope.imag[1:3] != 0)
    assert fd.jvp(f, (Z,), (1j * np.array([1.0, 0.0, 0.0, -3.0]),))[1] == 0


def test_of_an_odd_number_of_points_only_dc_is_ignored() -> None:
    v = np.arange(1.0, 8.0) ** 2
    slope = fd.grad(lambda z: np.sum(v * FFT.irfft(z, 7)))(Z)
    assert slope[0].imag == 0
    assert np.all(slope[1:].imag != 0)


@pytest.mark.parametrize("n", [3, 4, 7, 8])
def test_n_crops_and_pads(n: int, gradient: Derivative) -> None:
    """Of the cropped elements the gradient is 0; padding adds nothing."""

    def f(x: Any) -> Any:
        return np.sum(np.abs(FFT.fft(x, n)) ** 2)

    np.testing.assert_allclose(gradient(f, X), 2 * n * np.where(np.arange(5) < n, X, 0), atol=1e-14)


def test_a_masked_operand_keeps_its_true_zeros(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.abs(FFT.fft(np.where(x > 0, np.sqrt(x), 0))) ** 2)

    x = np.array([4.0, 0.0, -1.0])
    np.testing.assert_allclose(gradient(f, x), [3.0, 0.0, 0.0])


@pytest.mark.parametrize("jacobian", [fd.jacfwd, fd.jacrev])
def test_the_holomorphic_derivative_is_the_matrix_itself(jacobian: Callable[..., Any]) -> None:
    """The transpose has no conjugate in it: the matrix is symmetric."""
    found = jacobian(FFT.fft, holomorphic=True)(Z)
    np.testing.assert_allclose(found, FFT.fft(np.eye(4)), atol=1e-15)
