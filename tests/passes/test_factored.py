"""Jacobians by matrices in a product are what dense unit matrices give, and take less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.random.default_rng(0).normal(size=(5, 3))
V = np.random.default_rng(1).normal(size=(4, 2))
STACK = np.random.default_rng(2).normal(size=(5, 3, 3))
ALIKE = np.random.default_rng(3).normal(size=(5, 4))


def log_softmax(s: Any) -> Any:
    s = s - np.max(s, axis=-1, keepdims=True)
    return s - np.log(np.sum(np.exp(s), axis=-1, keepdims=True))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda w: np.tanh(X @ w),
    "cross entropy": lambda w: np.mean(log_softmax(X @ w)[:, 0]),
    "two layers": lambda w: np.tanh(np.tanh(X @ w) @ V),
    "sum over rows": lambda w: np.sum(np.sin(X @ w), axis=0),
    "sum over columns": lambda w: np.sum(np.sin(X @ w), axis=1),
    "sum over both": lambda w: np.sum(np.exp(0.1 * (X @ w))),
    "from the right": lambda w: np.cos(w.T @ X.T),
    "product behind rows": lambda w: STACK[0].T @ np.sin(X[:3] @ w),
    "product of rows with themselves": lambda w: (X @ w).T @ (X @ w),
    "two products with one matrix": lambda w: np.tanh(X @ w) * (X @ w) - (X @ w),
    "two matrices": lambda w: np.tanh(X @ w) * ((2.0 * X) @ w),
    "both axes summed": lambda w: np.tanh(np.einsum("nij,ik->njk", STACK, w)),
    "a label kept by both": lambda w: np.sin(np.einsum("ni,nk,ik->nk", X, ALIKE, w)),
    "diagonal of a stack": lambda w: np.einsum("ij,ij->j", X[:3, :1] * np.ones(4), np.sin(w)),
    "axes come and go": lambda w: np.sin(X @ w)[:, None, :, None] * np.ones((5, 2, 4, 1)),
    "transposed": lambda w: np.sin(np.swapaxes(X @ w, 0, 1)) @ X,
    "masked": lambda w: np.where(X @ w > 0.0, (X @ w) ** 2, 0.0),
    "beside a sum of elements": lambda w: np.tanh(X @ w) + np.sum(w * w),
    "reshaped": lambda w: np.sin((X @ w).reshape(10, 2)),
    "merged": lambda w: np.tanh(X @ w).reshape(-1) ** 2,
    "a slice": lambda w: np.sin(X @ w)[1:, ::2],
    "slices along both factors": lambda w: np.sin(X @ w)[::2] ** 2,
    "padded": lambda w: np.pad(np.sin(X @ w), ((0, 0), (1, 2))) ** 2,
    "padded along both factors": lambda w: np.pad(np.sin(X @ w)[:, 1:], 1) ** 2,
    "slices of columns": lambda w: np.sin(w.T @ X.T)[1:, ::2] ** 2,
    "moved axes": lambda w: np.sin(np.transpose(np.sin(STACK @ w), (1, 2, 0))),
    "of a vector": lambda w: np.tanh(X @ w.reshape(3, 4)),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jacobian_is_that_of_dense_unit_matrices(name: str, mode: Any) -> None:
    f: Any = FUNCTIONS[name]
    w = np.linspace(-0.9, 0.8, 12)
    w = w if name == "of a vector" else w.reshape(3, 4)
    expected = fd.jacobian(f, mode=mode, chunk_size=1)(w)
    for found in (fd.jacobian(f, mode=mode)(w), fd.jit(fd.jacobian(f, mode=mode))(w)):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_hessian_is_that_of_dense_unit_matrices(name: str) -> None:
    def f(w: Any) -> Any:
        return np.sum(np.sin(FUNCTIONS[name](w)))

    w = np.linspace(-0.9, 0.8, 12)
    w = w if name == "of a vector" else w.reshape(3, 4)
    expected = fd.hessian(f, chunk_size=1)(w)
    for found in (fd.hessian(f)(w), fd.jit(fd.hessian(f))(w)):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (3, 1), (1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_short_axes_and_other_dtypes(shape: tuple[int, int], dtype: type) -> None:
    x: Any = X[:, : shape[0]].astype(dtype)
    w: Any = np.linspace(-0.9, 0.8, shape[0] * shape[1]).reshape(shape).astype(dtype)
    holomorphic = dtype is np.complex128

    def f(w: Any) -> Any:
        return np.sum(np.sin(x @ w) ** 2, axis=1)

    expected = fd.jacobian(f, chunk_size=1, holomorphic=holomorphic)(w)
    found = fd.jacobian(f, holomorphic=holomorphic)(w)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_follows_a_product_works_on_as_many_arrays_as_it_has_columns() -> None:
    n, rows, columns = 40, 8, 5
    points = np.random.default_rng(0).normal(size=(n, rows))

    def loss(w: Any) -> Any:
        return -np.mean(log_softmax(points @ w)[:, 0])

    program = fd.trace(fd.hessian(loss))(np.ones((rows, columns)))
    largest = max(eq.results[0].type.size for eq in program.equations)
    assert largest == n * max(rows * rows, columns * columns)
