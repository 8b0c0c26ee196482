"""Pickles of objects of classes borrowed from SciPy, and of its distributions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.scipy import interpolate, signal, stats
from funcdiff.scipy.spatial.transform import Rotation

X = np.arange(6.0)
PLACES = np.array([[0.0, 0.0], [1.0, 0.1], [0.1, 1.0], [1.1, 1.2]])

OBJECTS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "frozen": (stats.gamma(2.0, scale=3.0), lambda d, x: d.logpdf(x)),
    "discrete": (stats.nbinom(2.5, 0.3), lambda d, x: d.logpmf(3) * x),
    "distribution": (stats.norm, lambda d, x: d.logpdf(x)),
    "normal": (
        stats.multivariate_normal(np.zeros(2), np.eye(2)), lambda d, x: d.logpdf(x * np.ones(2))
    ),
    "cubic": (interpolate.CubicSpline(X, X**2), lambda s, x: s(x)),
    "pchip": (interpolate.PchipInterpolator(X, X**2), lambda s, x: s(x)),
    "b-spline": (interpolate.make_interp_spline(X, X**2), lambda s, x: s(x)),
    **{
        name: (
            getattr(interpolate, name)(PLACES, PLACES[:, 0] ** 2),
            lambda s, x: s(x / 9 * np.ones(2))[0],
        )
        for name in ("LinearNDInterpolator", "CloughTocher2DInterpolator")
    },
    "radial": (interpolate.RBFInterpolator(X[:, None], X), lambda s, x: s(x * np.ones((1, 1)))[0]),
    "system": (
        signal.lti([1.0], [1.0, 2.0]), lambda s, x: s.output(x * np.ones(3), [0, 1, 2])[1][2]
    ),
    "rotation": (Rotation.from_rotvec([0.1, 0.2, 0.3]), lambda r, x: r.apply(x * X[:3])[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_a_pickle_is_the_same_object_with_the_same_derivatives(name: str) -> None:
    given, f = OBJECTS[name]
    for found in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given), copy.copy(given)):
        assert type(found) is type(given)
        expected = fd.value_and_grad(lambda x: f(given, x))(1.3)
        assert fd.value_and_grad(lambda x: f(found, x))(1.3) == expected  # noqa: B023


def test_a_pickle_of_a_frozen_distribution_has_its_seed() -> None:
    given = stats.norm(1.0, 2.0)
    given.random_state = 3
    found = pickle.loads(pickle.dumps(given))
    np.testing.assert_array_equal(found.rvs(3), scipy.stats.norm(1.0, 2.0).rvs(3, random_state=3))
    np.testing.assert_array_equal(found.rvs(3), [given.rvs(3), given.rvs(3)][1])
    assert pickle.loads(pickle.dumps(stats.norm)) is stats.norm
