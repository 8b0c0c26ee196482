"""Products of arrays, and NumPy's own sums in convolutions, in every mode and length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value, value_under_trace

_random = np.random.default_rng(0)


def _array(*shape: int) -> Any:
    return _random.normal(size=shape)


V, W = _array(3), _array(3)
M, N = _array(2, 3), _array(3, 4)


def _assert_close(f: Callable[..., Any], args: Any) -> None:
    expected, found = f(*args), value_under_trace(f, *args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    assert found.shape == expected.shape


def test_einsum_honours_its_keywords() -> None:
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, dtype=complex), (M, N))
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, out=np.zeros_like(x @ y)), (M, N))
    _assert_close(lambda x: np.einsum("ij->i", x, dtype="f4", casting="same_kind"), (M,))
    with pytest.raises(TypeError, match="cast"):
        fd.vjp(lambda x: np.einsum("ij->i", x, dtype="f4"), M)


def test_integer_products_stay_integer() -> None:
    def f(x: Any) -> Any:
        k = np.floor(x).astype(int)
        return np.dot(k, k), np.einsum("i,j", k, k), np.convolve(k, k), np.matmul(k > 0, k > 0)

    for found, expected in zip(value_under_trace(f, 3 * V), f(3 * V), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


# ---- convolution ---------------------------------------------------------------------------------

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(5)
A = RANDOM.normal(size=40)
B = RANDOM.normal(size=40)
C = A + 1j * RANDOM.normal(size=40)
D = B + 1j * RANDOM.normal(size=40)

MODES = ("full", "same", "valid")
PRODUCTS = (np.convolve, np.correlate)
LENGTHS = [(1, 1), (5, 1), (6, 2), (7, 4), (4, 4), (3, 8), (1, 6), (4, 7), (40, 11), (13, 40)]


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("n", "m"), LENGTHS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("product", PRODUCTS)
def test_values_are_those_of_numpy(product: Any, mode: str, n: int, m: int) -> None:
    for a, v in ((A, B), (C, D), (A, D), (C, B)):
        assert_value(lambda a, v: product(a, v, mode), a[:n], v[-m:])
        assert_value(lambda a, v: product(a[::-1], v[::2], mode=mode), a[:n], v[-m:])


def test_integers_and_booleans_are_constants() -> None:
    for k in (np.argsort(A[:4]), A[:4] > 0):

        def f(a: Any, k: Any = k) -> Any:
            return np.sum(a), np.convolve((a > 9) | (k != 0), k)

        np.testing.assert_array_equal(fd.vjp(f, A[:4], has_aux=True)[2], f(A[:4])[1])


def test_numbers_are_vectors_of_one_element() -> None:
    assert_value(lambda a: NP.convolve(a, 2.0), A)
    assert_derivatives(lambda a, v: np.convolve(v, a), A[:3], np.float64(0.7))


def test_the_gradient_costs_a_convolution_for_every_operand() -> None:
    def energy(a: Any, v: Any) -> Any:
        return np.sum(np.convolve(a, v) ** 2)

    program = fd.trace(fd.grad(energy, argnums=(0, 1)))(np.ones(1000), np.ones(50))
    sizes = [eq.results[0].type.size for eq in program.equations]
    assert str(program).count("= convolve{") == 3
    assert max(sizes) == 1049


def test_results_that_are_not_used_contribute_true_zeros() -> None:
    x, v = np.array([4.0, 1.0, 0.0, 9.0]), np.array([1.0, 2.0])
    for mode, expected in (("full", [0.75, 0.5, 0, 0]), ("valid", [0.5, 0.5, 0, 0])):
        count = 2 if mode == "full" else 1
        found = fd.grad(lambda x, m=mode, c=count: np.sum(NP.convolve(np.sqrt(x), v, m)[:c]))(x)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("f", "message"), [
    (lambda a: NP.convolve(a, a, "reflect"), "np.convolve: mode must be one of"),
    (lambda a: NP.correlate(a, a, 7), "np.correlate: mode must be one of"),
    (lambda a: np.convolve(a, a[:0]), "v cannot be empty"),
    (lambda a: np.correlate(a[:0], a), "a cannot be empty"),
    (lambda a: np.correlate(a, a[None]), "v has 2 axes, but must be a vector"),
    (lambda a: NP.correlate(a, 2.0), "v has 0 axes, but must be a vector"),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(f: Function, message: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        f(A)
    with pytest.raises(ValueError, match=rf"{message}(?s:.*)test_products"):
        fd.vjp(f, A)
