"""Products of triangular matrices are those of `numpy.matmul`, without the zeros."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code import triangles
from funcdiff.backend.code.triangles import Lower, triangular_product
from funcdiff.backend.kernels.kernels import Kernel
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
