"""Axes of length 1 stay: a derivative has the same value and shape in every call, jitted or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.properties.calling import every_call

S, B = np.sum, np.broadcast_to
W = np.array([0.3, 0.7])

BROADCAST = {
    "mean": lambda z: S(np.mean(np.cos(B(z, (1, 2))), axis=0) ** 2),
    "sum": lambda z: S(np.sum(np.cos(B(z, (1, 2))), axis=0) ** 2),
    "prod": lambda z: S(np.prod(np.cos(B(z, (1, 2))), axis=0) ** 2),
    "max": lambda z: S(np.max(np.cos(B(z, (1, 2))), axis=0) ** 2),
    "cumsum": lambda z: S(np.cumsum(np.cos(B(z, (1, 2))), axis=0) ** 2),
    "broadcast_arrays": lambda z: S(
        np.cumsum(np.cos(np.broadcast_arrays(z, np.ones((1, 1)))[0]), axis=0) ** 2
    ),
    "expand_dims": lambda z: S(np.max(np.cos(np.expand_dims(z, 0)), axis=0) ** 2),
    "leading axes": lambda z: S(np.cumsum(np.cos(B(z, (1, 1, 2))), axis=1) ** 2),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_a_reduction_over_a_broadcast_axis_keeps_its_gradient(name: str) -> None:
    found = every_call(fd.grad(BROADCAST[name]), W)
    np.testing.assert_allclose(found, -np.sin(2 * W))


def test_values_keep_leading_axes() -> None:
    x = np.ones((3, 4))
    assert every_call(fd.jit(lambda x: np.sin(B(x, (1, *x.shape)))), x).shape == (1, 3, 4)
    assert every_call(fd.jit(lambda x: np.sin(B(x, (0, *x.shape)))), x).shape == (0, 3, 4)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1), ()])
@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.abs(S(z)) ** 2,
        lambda z: np.real(np.mean(z)) ** 3,
        lambda z: np.abs(np.prod(z) - 1.0),
    ],
    ids=["modulus", "real part", "product"],
)
def test_a_complex_gradient_has_the_shape_of_one_entry(f: Any, shape: tuple[int, ...]) -> None:
    z = np.full(shape, 1 + 2j)
    found = every_call(fd.grad(f), z)
    assert (found.shape, found.dtype) == (shape, z.dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_a_jitted_result_without_axes_is_a_number_in_every_call(dtype: str) -> None:
    for f in (
        lambda x: np.where(np.real(x[0]) > 0, x[1], 2.0 * x[0]),
        lambda x: np.max(np.real(x)),
        lambda x: x[1],
        lambda x: x[:1].reshape(()),
    ):
        run = fd.jit(f)
        for _ in range(3):
            assert isinstance(run(np.ones(2, dtype)), np.generic)


def test_the_order_of_axes_in_memory_does_not_follow_a_constant() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 5))

    def norm(x: Any) -> Any:
        return np.linalg.norm(x.swapaxes(0, 1), None, axis=(0, 2), keepdims=True)

    every_call(lambda x: fd.jvp(norm, (x,), (np.cos(x),)), x)
