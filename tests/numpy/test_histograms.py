"""Histograms: the derivative passes through weights and bin edges, not through counts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays."""

RANDOM = np.random.default_rng(5)
X, Y, W = RANDOM.normal(size=30), RANDOM.normal(size=30), RANDOM.uniform(1, 2, 30)
EDGES = np.array([-2.0, -0.5, 0.1, 1.0, 3.0])
PLACES = RANDOM.integers(0, 5, 30)

HISTOGRAMS: list[Function] = [
    lambda x, w: np.histogram(x, 7, weights=w),
    lambda x, w: np.histogram(x, 7, (-1, 1.5), density=True, weights=w),
    lambda x, w: np.histogram(x.reshape(5, 6), 7, density=True, weights=w.reshape(5, 6)),
    lambda x, w: np.histogram(x, EDGES, density=True, weights=w),
    lambda x, w: np.histogram(x, 4, weights=w + 1j * x),
    lambda x, w: np.histogram(x, np.sort(w)[::5], density=True),
    lambda x, w: np.histogram(x, "auto", range=(-1, 2), density=True),
    lambda x, w: np.histogram(x, "sturges", density=True)[0] * w[0],
    lambda x, w: np.histogram(x[:1], 4, density=True, weights=w[:1]),
    lambda x, w: np.histogram(np.where(x > 1, np.nan, x), 4, range=(0, w[0]), weights=w),
    lambda x, w: np.histogram(PLACES, 4, density=True, weights=w * x),
    lambda x, w: np.histogram(PLACES.astype("u1"), 3, weights=w)[0] + x[0],
    lambda x, w: np.histogram_bin_edges(x * w, 5),
    lambda x, w: np.histogram2d(x, Y, [3, 4], density=True, weights=w),
    lambda x, w: np.histogram2d(x, Y, EDGES, weights=w),
    lambda x, w: np.histogram2d(x, w, range=[[0, 1], [-1, 1]]),
    lambda x, w: NP.histogramdd(np.stack([x, Y], 1), (3, EDGES), density=True, weights=w),
    lambda x, w: NP.histogramdd((x, w), (3, np.sort(w)[::6]), density=True),
    lambda x, w: np.bincount(PLACES, w * x, minlength=9),
    lambda x, w: np.bincount((x > 0).astype(int), w),
]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("f", HISTOGRAMS)
def test_histograms_are_those_of_numpy(f: Function) -> None:
    assert_value(f, X, W)
    assert_derivatives(f, X, W)


@pytest.mark.parametrize("bins", [6, EDGES])
def test_samples_are_added_in_blocks_as_numpy_adds_them(bins: Any) -> None:
    x, w = RANDOM.normal(size=(2, 70000))
    assert_value(lambda x, w: np.histogram(x, bins, weights=w), x, w)


def test_counts_have_no_derivative_in_the_samples() -> None:
    gradient = fd.grad(lambda x: np.sum(np.histogram(x, EDGES)[0] * 1.0))(X)
    assert np.all(gradient == 0)


def test_the_extreme_samples_get_the_derivative_of_the_outer_edges() -> None:
    x = np.array([0.0, 3.0, 1.0, 3.0])
    gradient = fd.grad(lambda x: np.histogram_bin_edges(x, 3)[-1])(x)
    np.testing.assert_array_equal(gradient, [0, 0.5, 0, 0.5])


def test_histograms_are_batched() -> None:
    xs, ws = RANDOM.normal(size=(2, 3, 9))
    for f in (
        lambda x, w: np.histogram(x, 5, weights=w)[0],
        lambda x, w: np.histogram(x, EDGES, weights=w, density=True)[0],
        lambda x, w: np.bincount(PLACES[:9], w),
    ):
        expected = [f(x, w) for x, w in zip(xs, ws, strict=True)]
        np.testing.assert_allclose(fd.vmap(f)(xs, ws), expected, rtol=1e-14)


@pytest.mark.parametrize("f", [
    lambda x: np.histogram(x, 3, range=(2, 1)),
    lambda x: np.histogram(x, 3, range=(0, np.inf)),
    lambda x: np.histogram(x, 0),
    lambda x: np.histogram(x, [3, 1, 2]),
    lambda x: np.histogram(x, 3, weights=x[:2]),
    lambda x: np.histogramdd(x, (3, 4)),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(f: Function) -> None:
    for call in (f, fd.grad(lambda x: np.sum(f(x)[0]))):
        with pytest.raises(ValueError, match=r"range|bins|weights|dimension"):
            call(X)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint64", "int8", "bool"])
def test_integers_of_every_width_are_counted_without_their_values(kind: str) -> None:
    places, weights = np.array([0, 1, 1, 1]).astype(kind), np.arange(4.0)
    np.testing.assert_array_equal(fd.jit(lambda i: np.bincount(i))(places), [1, 3])
    found = fd.jit(lambda i, w: np.bincount(i, w, minlength=3))(places, weights)
    np.testing.assert_array_equal(found, [0.0, 6.0, 0.0])
    rows = fd.vmap(lambda i, w: np.bincount(i, w, minlength=3))(places[None], weights[None])
    np.testing.assert_array_equal(rows, [[0.0, 6.0, 0.0]])
