"""Distances of vectors and of the rows of matrices: every smooth metric, and kinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance as plain

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import spatial
from funcdiff.scipy.spatial import distance
from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(4)
A = _rng.normal(size=(4, 3))
B = _rng.normal(size=(5, 3))
W = _rng.uniform(0.5, 2, size=3)
S = _rng.normal(size=(3, 3))
S = S @ S.T
P = _rng.uniform(0.5, 2, size=(4, 3))

KEYWORDS: dict[str, list[dict[str, Any]]] = {
    "braycurtis": [{}, {"w": W}],
    "canberra": [{}, {"w": W}],
    "chebyshev": [{}, {"w": W}],
    "cityblock": [{}, {"w": W}],
    "correlation": [{}, {"w": W}],
    "cosine": [{}, {"w": W}],
    "euclidean": [{}, {"w": W}],
    "jensenshannon": [{}, {"base": 2.0}],
    "mahalanobis": [{"VI": S}],
    "minkowski": [{"p": 3}, {"p": 1.5, "w": W}, {"p": 0.5}],
    "seuclidean": [{"V": W}],
    "sqeuclidean": [{}, {"w": W}],
}
CASES = [(name, k) for name, options in KEYWORDS.items() for k in range(len(options))]


def _points(name: str) -> tuple[Any, Any]:
    return (P, P[::-1] ** 2) if name == "jensenshannon" else (A, B)


@pytest.mark.thinned(13)
@pytest.mark.parametrize(("name", "k"), CASES)
def test_metrics_agree(name: str, k: int) -> None:
    keywords = KEYWORDS[name][k]
    module = "scipy.spatial.distance"
    x, y = _points(name)
    parameters = list(keywords.values())

    def given(*values: Any) -> dict[str, Any]:
        return dict(zip(keywords, values, strict=True))

    assert_agrees(module, lambda s, u, v, *p: getattr(s, name)(u, v, **given(*p)), x[0], y[1],
                  *(float(p) if np.ndim(p) == 0 else p for p in parameters))  # fmt: skip
    if name == "jensenshannon":
        keywords = {}
    assert_agrees(
        module,
        lambda s, x, y: [s.cdist(x, y, name, **keywords), s.pdist(x, name, **keywords)],
        x,
        y,
    )


@pytest.mark.slow
def test_defaults_are_those_of_the_rows() -> None:
    module = "scipy.spatial.distance"
    for name in ("seuclidean", "mahalanobis"):
        assert_agrees(module, lambda s, x, y, name=name: s.cdist(x, y, name), A, B, order=1)
        assert_agrees(module, lambda s, x, name=name: s.pdist(x, name), B, order=1)
    assert_agrees(module, lambda s, x: s.jensenshannon(x, x[::-1] ** 2, axis=1, keepdims=True), P)


@pytest.mark.slow
def test_forms_of_tables() -> None:
    module = "scipy.spatial.distance"
    assert_agrees(module, lambda s, x: s.squareform(s.pdist(x)), B)
    assert_agrees(module, lambda s, x: s.squareform(s.squareform(s.pdist(x)) ** 2), B)
    assert_agrees(module, lambda s, x, y: s.directed_hausdorff(x, y)[0], A, B)
    assert_agrees(module, lambda s, x, y: s.cdist(x, y, lambda u, v: np.sum((u - v) ** 4)), A, B)
    assert distance.squareform(np.zeros(0)).shape == (1, 1)
    with pytest.raises(ValueError, match="symmetric"):
        fd.vjp(distance.squareform, A[:3])
    with pytest.raises(ValueError, match="binomial"):
        fd.vjp(distance.squareform, A[0][:2])


def test_a_distance_of_nothing_has_no_derivative() -> None:
    for name, options in KEYWORDS.items():
        for keywords in options:
            if keywords.get("p") == 0.5:
                continue
            metric = partial(getattr(distance, name), **keywords)
            slope = fd.grad(metric)(P[0], P[0])
            np.testing.assert_allclose(slope, np.zeros(3), atol=1e-12)
    slope = fd.grad(lambda x: np.sum(distance.cdist(x, x)))(np.zeros((3, 2)))
    np.testing.assert_array_equal(slope, np.zeros((3, 2)))
    np.testing.assert_array_equal(fd.grad(distance.canberra)(np.zeros(2), np.zeros(2)), [0, 0])
    for p in (1.5, 2, 3):
        for f in (spatial.distance_matrix, spatial.minkowski_distance):
            nothing = fd.grad(lambda x, f=f, p=p: np.sum(f(x, x, p)))(np.zeros((3, 2)))
            np.testing.assert_array_equal(nothing, np.zeros((3, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_a_distance_has_a_derivative_by_its_order(p: float) -> None:
    def numbers(p: Any) -> Any:
        return np.stack([
            distance.minkowski(A[0], A[1], p), distance.minkowski(A[0], A[1], p, W),
            distance.cdist(A, B, "minkowski", p=p)[0, 0], distance.pdist(A, "minkowski", p=p)[0],
        ])  # fmt: skip

    for order in (1, 2):
        found = fd.derivative(numbers) if order == 1 else fd.jacfwd(fd.derivative(numbers))
        f = numbers if order == 1 else fd.derivative(numbers)
        difference = (f(p + 1e-5) - f(p - 1e-5)) / 2e-5
        np.testing.assert_allclose(found(p), difference, rtol=1e-6)
    np.testing.assert_allclose(fd.jacrev(numbers)(p), fd.derivative(numbers)(p))
    batched = fd.vmap(fd.jacrev(numbers))(np.array([p, 2.5]))[0]
    np.testing.assert_allclose(batched, fd.jit(fd.jacrev(numbers))(p))
    slopes = fd.vmap(fd.grad(lambda p: distance.minkowski(A[0], A[1], p)))(np.array([p, np.inf]))
    np.testing.assert_array_equal(slopes, [batched[0], 0])


def test_what_counts_truth_values_is_refused() -> None:
    with pytest.raises(UnsupportedNumPyError, match="compares truth values"):
        fd.grad(lambda x: np.sum(distance.cdist(x, x, "jaccard")))(A)
    with pytest.raises(UnsupportedNumPyError, match="counts truth values"):
        fd.grad(lambda x: distance.hamming(x, x))(A[0])
    with pytest.raises(UnsupportedNumPyError, match="out="):
        fd.grad(lambda x: np.sum(distance.pdist(x, out=np.zeros(6))))(A)
    with pytest.raises(ValueError, match="same number of columns"):
        fd.grad(lambda x: np.sum(distance.cdist(x, A[:, :2])))(A)


def test_weights_below_zero_are_refused_as_scipy_does() -> None:
    w = np.array([1.0, -1.0])
    for metric in ("euclidean", "chebyshev", "braycurtis", "cosine"):
        for f in (
            lambda x, m=metric: distance.pdist(x, m, w=w),
            lambda x, m=metric: getattr(distance, m)(x[0], x[1], w),
        ):
            with pytest.raises(ValueError, match="non-negative"):
                fd.vjp(f, np.array([[0.1, 0.2], [0.3, 0.5]]))


def test_weights_may_be_a_list() -> None:
    w = [0.5, 1.0]
    for metric in ("euclidean", "minkowski", "chebyshev", "braycurtis", "cosine"):
        f: Callable[[Any], Any] = partial(distance.pdist, metric=metric, w=w)
        of_pairs = fd.vjp(f, A[:, :2])[0]
        np.testing.assert_allclose(of_pairs, plain.pdist(A[:, :2], metric, w=w), rtol=1e-12)


def test_the_covariance_for_mahalanobis_is_estimated_as_scipy_does() -> None:
    x = np.array([[0.1, 0.7], [0.3, 0.5], [0.2, 0.9], [0.4, 0.1]])
    found = fd.vjp(lambda x: distance.pdist(x, "mahalanobis"), x[:, :1])[0]
    np.testing.assert_allclose(found, plain.pdist(x[:, :1], "mahalanobis"), rtol=1e-12)
    with pytest.raises(ValueError, match="observations"):
        fd.vjp(lambda x: distance.pdist(x, "mahalanobis"), x[:2])
