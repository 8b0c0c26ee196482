"""Kernels fuse products into the sums of their rows, and ask for masks where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code import lower
from funcdiff.backend.kernels import Kernel
from tests.backend.test_kernels import assert_computes

ROWS = {
    "square": lambda x, y: np.sum(x * x, axis=-1),
    "product": lambda x, y: np.sum(x * y, axis=-1),
    "of a product by itself": lambda x, y: np.sum((x * y) ** 2, axis=-1),
}
OTHERS = {
    "other axes": lambda x, y: np.sum(x * y, axis=0),
    "all axes": lambda x, y: np.sum(x * y),
    "short rows": lambda x, y: np.sum(x[..., :3] * y[..., :3], axis=-1),
    "a sum": lambda x, y: np.sum(x + y, axis=-1),
    "products that are seen": lambda x, y: (x * y, np.sum(x * y, axis=-1)),
    "products that are used": lambda x, y: np.sin(x * y)[..., 0] + np.sum(x * y, axis=-1),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("shape", [(7, 16), (3, 5, 20)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("name", [*ROWS, *OTHERS])
def test_rows_are_multiplied_without_an_array_between(
    name: str, dtype: Any, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lower, "LARGE", 1)
    random = np.random.default_rng(0)
    x, y = (random.normal(size=shape).astype(dtype) for _ in range(2))
    f = (ROWS | OTHERS)[name]
    program = fd.trace(f)(x, y)
    fuses = name in ROWS and dtype is not np.complex128
    assert ("vecdot" in Kernel(program, None).source.text) is fuses
    assert_computes(program, [x, y])
    assert_computes(program, [np.asfortranarray(x), y[..., ::-1]], limits=None)


def test_a_product_with_a_mask_asks_for_it_where_a_result_is_not_finite() -> None:
    A = np.random.default_rng(0).normal(size=(4, 3))

    def f(x: Any, A: Any) -> Any:
        return np.sum(A @ np.where(x > 0.0, np.sqrt(x), 0.0))

    x, bad = np.array([1.0, -1.0, 4.0]), np.array(A)
    bad[:, 1] = np.inf
    program = fd.trace(fd.jacobian(lambda x, A: A @ np.where(x > 0.0, x * x, 0.0)))(x, A)
    with np.errstate(all="ignore"):
        for matrix in (A, bad):
            assert_computes(program, [x, matrix])
    g = fd.jit(fd.grad(f))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(g(x, A), fd.grad(f)(x, A))
