"""Where libraries for derivatives of NumPy code are known to be silently wrong: we are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

X = np.array([1.5, -0.5, 2.0, 0.25])
MASK = np.array([True, False, True, False])


def gradient_and_jvp(f: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """Return the gradient, and the same from forward mode, one direction at a time."""
    x = np.asarray(x)
    forward = [fd.jvp(f, (x,), (e.reshape(x.shape),))[1] for e in np.eye(x.size)]
    return fd.grad(f)(x), np.reshape(forward, x.shape)


@together
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(lambda x: np.sum(x * x, where=MASK), X, [3.0, 0, 4.0, 0], id="sum(where=)"),
        pytest.param(lambda x: np.mean(x, where=MASK), X, [0.5, 0, 0.5, 0], id="mean(where=)"),
        pytest.param(lambda x: np.prod(x, where=MASK), X, [2.0, 0, 1.5, 0], id="prod(where=)"),
        pytest.param(
            lambda x: np.max(x, where=MASK, initial=-1.0), X, [0, 0, 1.0, 0], id="max(where=)"
        ),
        pytest.param(lambda x: np.max(x, initial=3.0), X, [0, 0, 0, 0], id="max below initial="),
        pytest.param(lambda x: np.max(x, initial=1.0), X, [0, 0, 1.0, 0], id="max above initial="),
        pytest.param(lambda x: np.min(x, initial=-2.0), X, [0, 0, 0, 0], id="min above initial="),
        pytest.param(lambda x: np.sum(x, initial=3.0), X, [1.0, 1, 1, 1], id="sum(initial=)"),
        pytest.param(
            lambda x: np.prod(x, initial=3.0), [2.0, 5.0], [15.0, 6.0], id="prod(initial=)"
        ),
        pytest.param(lambda x: np.prod(x), [0.0, 2.0, 3.0], [6.0, 0, 0], id="prod with a zero"),
        pytest.param(lambda x: np.prod(x), [0.0, 0.0, 3.0], [0, 0, 0], id="prod with two zeros"),
        pytest.param(
            lambda x: np.cumprod(x).sum(),
            [2.0, 0.0, 3.0],
            [1.0, 8.0, 0.0],
            id="cumprod with a zero",
        ),
        pytest.param(lambda x: np.sinc(x).sum(), [0.0], [0.0], id="sinc at 0"),
        pytest.param(
            lambda x: np.full_like(x, x[0], shape=3).sum(),
            X,
            [3.0, 0, 0, 0],
            id="full_like of fill",
        ),
        pytest.param(
            lambda x: np.full_like(x, 2.0).sum(), X, [0, 0, 0, 0], id="full_like of shape"
        ),
        pytest.param(
            lambda x: np.linalg.norm(x.reshape(2, 2), axis=1, keepdims=True).sum(),
            [3.0, 4.0, 0.0, 0.0],
            [0.6, 0.8, 0, 0],
            id="norm(keepdims=) at 0",
        ),
        pytest.param(lambda x: np.linalg.norm(x), [0.0, 0.0], [0, 0], id="norm at 0"),
        pytest.param(lambda x: np.std(x), [2.0, 2.0], [0, 0], id="std of constants"),
        pytest.param(lambda x: np.abs(x).sum(), [0.0, -1.0], [0, -1.0], id="abs at 0"),
        pytest.param(
            lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum(),
            [0.0, -1.0, 4.0],
            [0, 0, 0.25],
            id="where of an infinite slope",
        ),
        pytest.param(lambda x: np.max(x), [1.0, 3, 3, 2], [0, 0.5, 0.5, 0], id="ties of max"),
        pytest.param(
            lambda x: np.max(x, axis=0), [1.0, 3, 3, 2], [0, 0.5, 0.5, 0], id="max(axis=)"
        ),
        pytest.param(lambda x: np.clip(x, 0, 1).sum(), [0.0, 0.5, 1.0], [0.5, 1, 0.5], id="clip"),
        pytest.param(lambda x: x[[0, 0, 1]].sum(), X, [2.0, 1, 0, 0], id="repeated indices"),
        pytest.param(lambda x: np.repeat(x, 2)[:3].sum(), X, [2.0, 1, 0, 0], id="repeat"),
        pytest.param(
            lambda x: np.linalg.det(x.reshape(2, 2)),
            [1.0, 2, 2, 4],
            [4.0, -2, -2, 1],
            id="det of a singular matrix",
        ),
        pytest.param(lambda x: np.power(x, 2.0).sum(), [0.0, -1.0], [0, -2.0], id="power at 0"),
        pytest.param(lambda x: np.arctan2(x[0], x[1]), [0.0, -1.0], [-1.0, 0], id="arctan2"),
    ],
)
def test_both_modes_give_what_is_right(f: Callable[..., Any], x: Any, expected: Any) -> None:
    for found in gradient_and_jvp(f, x):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@together
@pytest.mark.parametrize("n", [3, 4, 6, 7])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["rfft", "fft", "ihfft"])
def test_transforms_of_another_length_are_adjoint(name: str, norm: str, n: int) -> None:
    def f(x: Any) -> Any:
        return getattr(np.fft, name)(x, n=n, norm=norm)

    matrix = np.stack([f(e) for e in np.eye(4)], axis=-1)
    v = np.arange(1.0, len(matrix) + 1) * (1 + 0.5j)
    (found,) = fd.vjp(f, X)[1](v)
    np.testing.assert_allclose(found, (matrix.conj().T @ v).real, atol=1e-12)


@pytest.mark.parametrize("n", [None, 5, 6])
def test_irfft_gives_zero_to_imaginary_parts_that_it_ignores(n: int | None) -> None:
    z = np.array([1 + 2j, -0.5 + 1j, 2 - 1j, 0.3 + 0.7j])
    (found,) = fd.vjp(lambda z: np.fft.irfft(z, n=n), z)[1](np.arange(float(n or 6)))
    assert found[0].imag == 0.0
    if n != 5:
        assert found[3].imag == 0.0


def test_second_derivative_of_sinc_at_zero() -> None:
    np.testing.assert_allclose(fd.grad(fd.grad(lambda x: np.sinc(x)))(0.0), -(np.pi**2) / 3)


def test_hessian_of_prod_with_zeros_is_exact() -> None:
    found = fd.hessian(np.prod)(np.array([0.0, 0.0, 3.0]))
    np.testing.assert_array_equal(found, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
