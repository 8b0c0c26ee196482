"""Products of triangular matrices are those of `numpy.matmul`, without the zeros."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code import triangles
from funcdiff.backend.code.triangles import Lower, lower_inverse, substitution, triangular_product
from funcdiff.backend.kernels.kernels import Kernel
from funcdiff.core.types import ArrayType
from tests.backend.test_kernels import assert_computes

KINDS: tuple[Lower, ...] = (True, False, None)


def part(x: Any, lower: Lower) -> Any:
    return x if lower is None else np.tril(x) if lower else np.triu(x)


@pytest.mark.parametrize("n", [4, 7, 19])
@pytest.mark.parametrize(("left", "right"), list(itertools.product(KINDS, KINDS)))
def test_zeros_are_left_out(
    n: int, left: Lower, right: Lower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triangles, "_PANEL", 3)
    random = np.random.default_rng(n)
    x, y = (part(random.normal(size=(n, n)), kind) for kind in (left, right))
    out = np.full((n, n), np.nan)
    triangular_product(left, right)(x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("left", ["ik", "ki"])
@pytest.mark.parametrize("right", ["kj", "jk"])
@pytest.mark.parametrize("out", ["ij", "ji"])
def test_products_of_triangles_are_known_to_be_triangles(left: str, right: str, out: str) -> None:
    K = np.diag([3.0, 4.0, 5.0]) + np.arange(3.0)[:, None] * np.arange(3.0) / 9.0 + 0.1

    def f(K: Any) -> Any:
        L = np.linalg.cholesky(K)
        return np.einsum(f"{left},{right}->{out}", L, np.linalg.cholesky(2.0 * K))

    program = fd.trace(f)(K)
    found = triangles.triangles(program).get(program.equations[-1].results[0].number)
    zero = f(K) == 0.0
    lower, upper = zero[np.triu_indices(3, 1)].all(), zero[np.tril_indices(3, -1)].all()
    assert (found is True, found is False) == (lower, upper)


def test_the_derivative_of_a_cholesky_factor_multiplies_triangles() -> None:
    def likelihood(K: Any, y: Any) -> Any:
        L = np.linalg.cholesky(K)
        z = np.linalg.solve(L, y)
        return 0.5 * (z @ z) + np.sum(np.log(np.diag(L)))

    def weighted(K: Any, y: Any) -> Any:
        return np.sum(np.linalg.cholesky(K) * np.sin(K) * y)

    random = np.random.default_rng(2)
    K, y = random.normal(size=(140, 140)), random.normal(size=140)
    K = K @ K.T / 140 + np.eye(140)
    for f, products in ((likelihood, 2), (weighted, 3)):  # one of the former is of rank one
        program = fd.trace(fd.value_and_grad(f, argnums=(0, 1)))(K, y)
        assert Kernel(program, None).source.text.count("product_") == products
        assert_computes(program, [K, y])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
def test_lapack_reads_one_triangle_in_any_order(dtype: type, lower: bool) -> None:
    pytest.importorskip("scipy")
    random = np.random.default_rng(3)
    matrix: Any = (random.normal(size=(5, 5)) + 3.0 * np.eye(5)).astype(dtype)
    if matrix.dtype.kind == "c":
        matrix = matrix + matrix.dtype.type(0.5j) * random.normal(size=(5, 5)).astype(dtype)
    b: Any = random.normal(size=(5, 2)).astype(dtype)
    type_ = ArrayType(matrix.shape, matrix.dtype)
    solve, invert = substitution(type_, lower=lower), lower_inverse(type_)
    assert solve is not None
    assert invert is not None
    tolerance = 1e-5 if matrix.dtype.char in "fF" else 1e-12
    for a in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=0)[::2]):
        triangle, before = part(a, lower), a.copy()
        np.testing.assert_allclose(triangle @ solve(a, b), b, atol=tolerance)
        expected = np.linalg.inv(np.tril(a))
        np.testing.assert_allclose(invert(a), expected, atol=tolerance)
        np.testing.assert_array_equal(a, before)
    matrix[2, 2] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        solve(matrix, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        invert(matrix)


def test_without_lapack_numpy_does_it() -> None:
    half, stack = np.dtype(np.longdouble), ArrayType((2, 3, 3), np.dtype(float))
    for type_ in (ArrayType((3, 3), half), stack, ArrayType((0, 0), np.dtype(float))):
        assert substitution(type_, lower=True) is None
        assert lower_inverse(type_) is None
