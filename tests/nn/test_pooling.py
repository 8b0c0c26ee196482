"""Pools: PyTorch's values and gradients, ties, padding, layouts, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import nn
from funcdiff.testing import check_grads
from tests.nn.cases import POOLS
from tests.nn.oracle import assert_frozen
from tests.rules.sample import integers, real

NN: Any = nn
numbered = pytest.mark.parametrize("k", range(len(POOLS)))
both = pytest.mark.parametrize("name", ["max_pool", "avg_pool"])


@numbered
def test_values_and_gradients_are_those_of_pytorch(k: int) -> None:
    name, shape, window, options = POOLS[k]
    y, pull = fd.vjp(lambda x: getattr(nn, name)(x, window, **options), real(*shape))
    assert_frozen(f"{name}: {k}", y, *pull(real(*y.shape, start=41)))


@numbered
def test_channels_may_be_last_and_nothing_traced(k: int) -> None:
    name, shape, window, options = POOLS[k]
    x = real(*shape)
    first = getattr(nn, name)(x, window, **options)
    last = getattr(nn, name)(np.moveaxis(x, 1, -1), window, **options, layout="channels_last")
    assert type(first) is np.ndarray
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), first)


@pytest.mark.thinned(4)
@numbered
def test_all_modes_agree_with_differences_and_batches_are_loops(k: int) -> None:
    name, shape, window, options = POOLS[k]
    x = real(*shape)
    check_grads(lambda x: getattr(nn, name)(x, window, **options), (x,), order=2)
    axes = (window,) * (len(shape) - 2) if isinstance(window, int) else window
    found = fd.vmap(lambda x: getattr(nn, name)(x, axes, **options))(x)
    np.testing.assert_array_equal(found, getattr(nn, name)(x, window, **options))


def test_equal_entries_share_the_slope_of_the_largest() -> None:
    x = np.array([[[2.0, 2.0, 1.0, 2.0, 2.0, 2.0]]])
    gradient = fd.grad(lambda x: np.sum(nn.max_pool(x, 3)))(x)
    np.testing.assert_allclose(gradient, [[[0.5, 0.5, 0, 1 / 3, 1 / 3, 1 / 3]]], rtol=1e-15)


def test_padding_is_never_the_largest_and_never_counted() -> None:
    x = np.array([[[-3.0, -1.0, -2.0]]])
    np.testing.assert_array_equal(nn.max_pool(x, 2, padding="same"), [[[-1, -2]]])
    np.testing.assert_array_equal(nn.max_pool(x, 3, stride=1, padding=1), [[[-1, -1, -1]]])
    np.testing.assert_array_equal(nn.avg_pool(x, 2, padding="same"), [[[-2, -2]]])
    np.testing.assert_array_equal(nn.avg_pool(x, 2, padding=[(1, 0)]), [[[-3, -1.5]]])
    gradient = fd.grad(lambda x: np.sum(nn.max_pool(x, 2, padding="same")))(x)
    np.testing.assert_array_equal(gradient, [[[0, 1, 1]]])


@both
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
def test_the_dtype_stays_and_integers_become_float64(name: str, dtype: str) -> None:
    pool = getattr(nn, name)
    x = real(2, 1, 6).astype(dtype)
    assert pool(x, 2).dtype == dtype
    assert fd.grad(lambda x: np.sum(pool(x, 4, padding="same")))(x).dtype == dtype
    assert pool(integers(2, 1, 6), 2).dtype == np.float64


@both
def test_a_batch_may_be_empty(name: str) -> None:
    assert getattr(nn, name)(np.ones((0, 3, 6)), 2).shape == (0, 3, 3)
    assert getattr(nn, name)(np.ones((2, 3, 0)), 2, padding="same").shape == (2, 3, 0)


@both
@pytest.mark.parametrize(
    ("window", "options", "message"),
    [
        (0, {}, "window must be a positive integer"),
        ((2, 2, 2), {}, "x of shape (2, 3, 6) does not go with window=(2, 2, 2)"),
        (7, {}, "reaches over (7,) places does not fit into x of (6,)"),
        (2, {"stride": -1}, "stride must be a positive integer"),
        (2, {"padding": "full"}, "padding must be"),
        (2, {"padding": 2}, "padding=2 puts a window of (2,) wholly outside x"),
        (2, {"layout": 1}, "layout must be"),
    ],
)
def test_what_does_not_fit_is_named(name: str, window: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"nn\.{name}: .*{re.escape(message)}") as caught:
        getattr(NN, name)(np.ones((2, 3, 6)), window, **options)
    assert "test_pooling.py" in str(caught.value)


@both
def test_complex_numbers_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"nn\.{name} is a function of real numbers"):
        getattr(NN, name)(np.ones((1, 1, 4)) * 1j, 2)
