"""Examples of a stack that a mask leaves out have no derivative, though eigenvalues are 0 there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

KEPT = np.array([True, False])[:, None, None]
A = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 5.0, 7.0])]) + 0.1
T = np.random.default_rng(0).normal(size=(2, 3, 3))
T = T + T.transpose(0, 2, 1)

ROOTS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda a: np.sqrt(np.linalg.eigh(a)[0]),
    "eigvalsh": lambda a: np.sqrt(np.linalg.eigvalsh(a)),
    "svd": lambda a: np.sqrt(np.linalg.svd(a)[1]),
    "singular values": lambda a: np.sqrt(np.linalg.svd(a, compute_uv=False)),
}


@pytest.mark.parametrize("f", ROOTS.values(), ids=list(ROOTS))
def test_a_masked_example_has_a_true_zero_at_an_infinite_slope(f: Callable[[Any], Any]) -> None:
    def masked(a: Any) -> Any:
        return f(np.where(KEPT, a, 0))[0]

    def every(a: Any) -> Any:
        return np.sum(f(np.where(KEPT, a, 0)) * np.arange(1.0, 4.0))

    alone = fd.linearize(lambda a: f(a), A[:1])[1](T[:1])
    for pushed in (
        fd.linearize(lambda a: f(np.where(KEPT, a, 0)), A)[1](T),
        fd.jvp(lambda a: f(np.where(KEPT, a, 0)), (A,), (T,))[1],
    ):
        np.testing.assert_allclose(pushed[0], alone[0], rtol=1e-12)
        np.testing.assert_array_equal(pushed[1], 0)
    gradient = fd.grad(every)(A)
    np.testing.assert_array_equal(gradient[1], 0)
    assert np.isfinite(fd.jacobian(masked, mode="reverse")(A)).all()
