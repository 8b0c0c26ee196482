"""Neighbours, hulls, shapes and arcs of traced points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import spatial as plain

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError
from funcdiff.scipy import spatial
from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(5)
D = _rng.normal(size=(9, 3))
X = _rng.normal(size=(4, 3))
H = _rng.normal(size=(12, 3))


def _unit(x: Any) -> Any:
    return x / np.linalg.norm(x)


CASES: dict[str, tuple[Any, ...]] = {
    "of plain points": (lambda s, x: s.KDTree(D).query(x)[0], X),
    "of one point": (lambda s, x: s.KDTree(D).query(x[0])[0], X),
    "several": (lambda s, d, x: s.KDTree(d, leafsize=2).query(x, 3, p=1)[0], D, X),
    "by rank": (lambda s, d, x: s.cKDTree(d).query(x[0], [2, 4])[0], D, X),
    "in a box": (lambda s, d, x: s.KDTree(d % 2, boxsize=[2.0, 2.0, 0.0]).query(x % 2, 2)[0], D, X),
    "tables": (
        lambda s, x, y: [
            s.distance_matrix(x, y), s.distance_matrix(x, y, p=3),
            s.minkowski_distance(x[0], y[0], 1), s.minkowski_distance_p(x[0], y[0], 3),
            s.minkowski_distance_p(x[0], y[0], np.inf),
        ],
        X,
        D,
    ),
    "arc": (lambda s, a, b, t: s.geometric_slerp(_unit(a), _unit(b), t), X[0], X[1], X[2]),
    "shapes": (lambda s, a, b: list(s.procrustes(a, b)), H, H[::-1] ** 2 + H),
}  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", CASES)
def test_points_agree(name: str) -> None:
    call, *arrays = CASES[name]
    assert_agrees("scipy.spatial", call, *arrays)


def test_neighbours_are_constants_and_missing_ones_infinitely_far() -> None:
    def near(x: Any) -> Any:
        distances, numbers = spatial.KDTree(D).query(x, 2, distance_upper_bound=1.0)
        assert numbers.dtype == np.intp
        return np.where(numbers == len(D), 0, distances)

    found = fd.vjp(near, X)[0]
    expected = plain.KDTree(D).query(X, 2, distance_upper_bound=1.0)[0]
    np.testing.assert_allclose(found, np.where(np.isinf(expected), 0, expected), rtol=1e-14)
    assert np.all(np.isfinite(fd.jacobian(near)(X)))
    at_a_point = fd.grad(lambda x: spatial.KDTree(D).query(x)[0])(D[2])
    np.testing.assert_array_equal(at_a_point, np.zeros(3))
    with pytest.raises(UnsupportedNumPyError, match=r"KDTree\.query_pairs"):
        fd.grad(lambda d: len(spatial.KDTree(d).query_pairs(1.0)) * d[0, 0])(D)
    with pytest.raises(UnsupportedNumPyError, match=r"KDTree\.count_neighbors"):
        fd.grad(lambda d: spatial.KDTree(D).count_neighbors(spatial.KDTree(d), 1.0) * d[0, 0])(D)
    assert spatial.KDTree(D).count_neighbors(spatial.KDTree(X), 1.0) == plain.KDTree(
        D
    ).count_neighbors(plain.KDTree(X), 1.0)


def test_a_hull_has_the_derivatives_of_its_facets() -> None:
    def sizes(s: Any, points: Any) -> Any:
        hull = s.ConvexHull(points)
        return [hull.volume, hull.area]

    for points in (H, H[:, :2]):
        assert_agrees("scipy.spatial", sizes, points, compiled=False, batched=False)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.4]])
    slope = fd.grad(lambda p: spatial.ConvexHull(p).volume)(square)
    np.testing.assert_allclose(slope[:4], square[:4] - 0.5, atol=1e-15)
    np.testing.assert_array_equal(slope[4], [0, 0])
    with pytest.raises(UnsupportedNumPyError, match=r"ConvexHull\.equations"):
        fd.grad(lambda p: spatial.ConvexHull(p).equations[0, 0])(square)
    with pytest.raises(ConcreteValueError, match="leave out jit and vmap"):
        fd.jit(lambda p: spatial.ConvexHull(p).area)(square)
    with pytest.raises(ValueError, match="same shape"):
        fd.grad(lambda p: spatial.procrustes(p, p[:3])[2])(square)


def test_points_outside_of_a_periodic_box_are_refused_as_scipy_does() -> None:
    for points in (np.array([[0.2, 1.0]]), np.array([[-0.2, 0.5]])):
        for kind in (plain.KDTree, lambda x, **options: fd.vjp(lambda x: _nearest(x, options), x)):
            with pytest.raises(ValueError, match="periodic box"):
                kind(points, boxsize=1.0)


def test_points_that_make_no_tree_are_refused_as_scipy_does() -> None:
    for points, error in ((X * 1j, TypeError), (np.full((1, 3), np.inf), ValueError)):
        for kind in (plain.KDTree, lambda x: fd.vjp(lambda x: _nearest(x, {}), x)):
            with pytest.raises(error, match=r"complex data|must be finite"):
                kind(points)


def test_neighbours_among_no_points_are_infinitely_far() -> None:
    distances, pullback = fd.vjp(lambda d: spatial.KDTree(d).query(X, 2)[0], np.zeros((0, 3)))
    np.testing.assert_array_equal(distances, np.full((len(X), 2), np.inf))
    assert pullback(distances)[0].shape == (0, 3)


def _nearest(x: Any, options: dict[str, Any]) -> Any:
    return spatial.KDTree(x, **options).query(x)[0]
