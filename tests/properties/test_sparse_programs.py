"""Random programs of indices, masks, writes and sums: sparse derivatives are the dense ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd

Step = Callable[[Any, np.random.Generator], Any]


def taken(y: Any, rng: np.random.Generator) -> Any:
    return np.take(y, rng.integers(-len(y), len(y), rng.integers(0, 5)), 0) if len(y) else y


def added_at(y: Any, rng: np.random.Generator) -> Any:
    z = np.copy(y)
    if len(y):
        index = rng.integers(0, len(y), rng.integers(0, len(y) + 1))
        np.add.at(z, index, y[: len(index)])
    return z


def masked(y: Any, rng: np.random.Generator) -> Any:
    z, mask = np.copy(y), rng.random(y.shape) < 0.4
    z[mask] *= y[mask]
    return z


def written(y: Any, _rng: np.random.Generator) -> Any:
    z = np.zeros_like(y)
    z[1:] = y[:-1] * y[1:]
    z[::2] += y[::-1][::2]
    return z


def through_view(y: Any, _rng: np.random.Generator) -> Any:
    z = np.copy(y)
    v = z[:2]
    v *= 3
    z[-1:] = z[:1] * z[-1:]
    return z


def multiplied(y: Any, rng: np.random.Generator) -> Any:
    matrix = rng.normal(size=(3, len(y)))
    return np.tensordot(np.where(rng.random(matrix.shape) < 0.4, matrix, 0.0), y, 1)


def reshaped(y: Any, _rng: np.random.Generator) -> Any:
    return y.reshape(2, -1) if y.size and y.size % 2 == 0 else y.reshape(-1)


STEPS: Final[dict[str, Step]] = {
    "sine": lambda y, _: np.sin(y) * y,
    "rolled": lambda y, rng: np.roll(y, int(rng.integers(-3, 4)), -1),
    "backwards": lambda y, rng: y[:: -int(rng.integers(1, 3))],
    "taken": taken,
    "chosen": lambda y, rng: y[rng.random(y.shape) < 0.6] * 2,
    "added at": added_at,
    "masked": masked,
    "written": written,
    "through a view": through_view,
    "flat": lambda y, _: y.reshape(-1),
    "reshaped": reshaped,
    "turned": lambda y, _: y.T,
    "one of two": lambda y, rng: np.where(rng.random(y.shape) < 0.5, y, y[::-1] ** 2),
    "by value": lambda y, _: np.where(y > 0.5, y, np.cos(y)),
    "joined": lambda y, _: np.concatenate([y, y[:1] ** 2, np.ones_like(y[:1])]),
    "summed": lambda y, _: np.sum(y, -1, keepdims=True) + y,
    "multiplied": multiplied,
    "padded": lambda y, _: np.pad(y, 1),
    "cumulated": lambda y, _: np.cumsum(y, -1),
    "sorted": lambda y, _: np.sort(y, -1),
    "differences": lambda y, _: np.diff(y, axis=0) if len(y) else y,
    "outer": lambda y, _: np.multiply.outer(y.ravel()[:3], y.ravel()[-2:]),
}


@pytest.mark.slow
@pytest.mark.parametrize("compiles", [False, pytest.param(True, marks=pytest.mark.slow)])
@given(
    steps=st.lists(st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 99)), max_size=6),
    size=st.sampled_from([0, 1, 2, 5]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
@pytest.mark.filterwarnings("ignore:.*nearly everything")
def test_random_programs_have_the_entries_of_dense_derivatives(
    compiles: bool, steps: list[tuple[str, int]], size: int, dtype: Any
) -> None:
    def f(x: Any) -> Any:
        y = x
        for name, seed in steps:
            y = STEPS[name](y, np.random.default_rng(seed))
        return y[:6] * 1.5

    def g(x: Any) -> Any:
        y = f(x)
        return np.sum(np.sin(y) * np.arange(1.0, 1 + y.size).reshape(y.shape))

    x = np.random.default_rng(size).normal(size=2 * size).astype(dtype)[::-2]
    tolerance = 1e-3 if dtype is np.float32 else 1e-8
    y, dense = f(x), fd.jacobian(f)(x)
    scale = max(1.0, np.abs(dense).max(initial=0))
    derive = fd.jacobian(f, sparse=True, format="csc")
    for _ in range(2):
        found = (fd.jit(derive) if compiles else derive)(x)
        assert found.dtype == y.dtype
        flat = dense.reshape(y.size, x.size)
        np.testing.assert_allclose(found.toarray(), flat, tolerance, tolerance * scale)
    curvature = fd.hessian(g)(x)
    scale = max(1.0, np.abs(curvature).max(initial=0))
    found = fd.hessian(g, sparse=True)(x)
    np.testing.assert_allclose(found.toarray(), curvature, tolerance, tolerance * scale)
