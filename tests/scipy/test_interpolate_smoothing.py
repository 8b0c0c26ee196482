"""Smoothing splines: values are FITPACK's, derivatives those of the splines that reach as much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline, UnivariateSpline, make_smoothing_spline, make_splrep, splrep
from scipy.optimize import brentq, minimize_scalar

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import interpolate

GENERATOR = np.random.default_rng(3)
X = np.cumsum(GENERATOR.uniform(0.5, 1.5, size=15))
Y = np.sin(0.7 * X) + GENERATOR.normal(scale=0.2, size=15)
W = GENERATOR.uniform(0.5, 1.5, size=15)
P = X[[0, 1, 4, 9]] + [-0.2, 0.1, 0.2, 0.3]


def _reference(x: Any, y: Any, w: Any, s: Any, k: int, places: Any) -> Any:
    """Return the values at P of the spline with knots at some data whose squares are `s`."""
    candidates = np.concatenate([x, (x[1:] + x[:-1]) / 2])
    t = np.concatenate([x[:1].repeat(k + 1), candidates[places], x[-1:].repeat(k + 1)])
    rows = BSpline.design_matrix(x, t, k).toarray() * w[:, None]
    derivatives = [
        BSpline(t, np.eye(len(t) - k - 1), k).derivative(k)(t[k + 1 : -k - 1] + step)
        for step in (1e-9, -1e-9)
    ]
    jumps = derivatives[0] - derivatives[1]

    def coefficients(log_weight: float) -> Any:
        system = np.concatenate([rows, np.exp(log_weight) * jumps])
        right = np.concatenate([w * y, np.zeros(len(jumps))])
        return np.linalg.lstsq(system, right, rcond=None)[0]

    root = brentq(lambda q: np.sum((w * y - rows @ coefficients(q)) ** 2) - s, -40, 40, xtol=1e-13)
    return BSpline(t, coefficients(root), k)(P)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, pytest.param(2, marks=pytest.mark.slow)])
def test_smoothing_splines_are_differentiated_on_their_knots(k: int) -> None:
    smoothness = 0.2
    (t, _, _), reached, _, _ = splrep(X, Y, W, k=k, s=smoothness, full_output=1)
    candidates = np.concatenate([X, (X[1:] + X[:-1]) / 2])
    places = np.argmin(np.abs(t[k + 1 : -k - 1, None] - candidates), axis=1)
    arrays = X, Y, W, np.array(smoothness)
    tangents = [0.1 * GENERATOR.normal(size=np.shape(a)) for a in arrays]

    def reference(h: float) -> Any:
        x, y, w, s = (a + h * t for a, t in zip(arrays, tangents, strict=True))
        return _reference(x, y, w, s + (reached - smoothness), k, places)

    def spline(*data: Any) -> Any:
        x, y, w, s = data
        return interpolate.UnivariateSpline(x, y, w, k=k, s=s)(P)

    value, tangent = fd.jvp(spline, arrays, tuple(tangents))
    np.testing.assert_allclose(value, UnivariateSpline(X, Y, W, k=k, s=smoothness)(P), rtol=1e-9)
    difference = (reference(1e-4) - reference(-1e-4)) / 2e-4
    np.testing.assert_allclose(tangent, difference, rtol=1e-5, atol=1e-6)
    pulled = fd.vjp(spline, *arrays)[1](np.ones(4))
    total = sum(np.sum(g * t) for g, t in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(total, tangent.sum(), rtol=1e-8)


def test_extreme_smoothing_is_a_polynomial_or_goes_through_the_data() -> None:
    for s, same in ((1e3, np.polynomial.Polynomial.fit(X, Y, 3)), (0, None)):
        spline = interpolate.UnivariateSpline(X, Y, s=s)
        expected = interpolate.InterpolatedUnivariateSpline(X, Y) if same is None else same
        np.testing.assert_allclose(spline(P), expected(P), rtol=1e-9)
        jacobian = fd.jacobian(lambda y, s=s: interpolate.UnivariateSpline(X, y, s=s)(P))(Y)
        np.testing.assert_allclose(jacobian @ Y, spline(P), rtol=1e-9)  # linear in the data


def test_smoothing_by_the_old_names_is_the_same() -> None:
    new = fd.jacobian(lambda y: interpolate.UnivariateSpline(X, y, s=0.3)(P))(Y)
    old = fd.jacobian(lambda y: interpolate.splev(P, interpolate.splrep(X, y, s=0.3)))(Y)
    np.testing.assert_allclose(old, new, rtol=1e-12)


@pytest.mark.slow
def test_without_values_a_spline_is_the_same_on_more_knots() -> None:
    pair = np.stack([Y, Y[::-1] ** 3])

    def values(y: Any, x: Any = X) -> Any:
        spline = interpolate.UnivariateSpline(x, y, W, s=0.3)
        old = interpolate.splev(P, interpolate.splder(interpolate.splrep(x, y, s=0.3)))
        area = np.reshape(spline.integral(*P[:2]), 1)
        return np.concatenate([spline(P), spline.derivative()(P), area, old])

    wanted = np.stack([values(y) for y in pair])
    np.testing.assert_allclose(fd.vmap(values)(pair), wanted, rtol=1e-9)
    slopes = [fd.jacobian(values)(y) for y in pair]
    np.testing.assert_allclose(fd.jit(fd.jacobian(values))(pair[1]), slopes[1], atol=1e-9)
    _, scanned = fd.scan(lambda c, y: (c, values(y)), 0.0, pair)
    np.testing.assert_allclose(scanned, wanted, rtol=1e-9)
    by_place = fd.jacobian(values, argnums=1)(Y, X)
    places = fd.vmap(fd.jacobian(values, argnums=1))(pair, np.stack([X, X]))
    np.testing.assert_allclose(places[0], by_place, atol=1e-9)


def test_warnings_of_fitpack_reach_the_user_without_values() -> None:
    y = np.where(np.arange(15) == 7, 1.0, 0.0)
    with pytest.warns(UserWarning, match="s too small"):
        fd.jit(lambda y: interpolate.UnivariateSpline(X, y, s=1e-300)(P))(y)
    with pytest.raises(ValueError, match="x must be increasing"):
        fd.vmap(lambda x: interpolate.UnivariateSpline(x, Y, s=0.3)(P))(np.stack([X, X[::-1]]))


@pytest.mark.parametrize("seed", [0, 2])
def test_values_are_those_of_the_class_which_has_other_knots_than_splrep(seed: int) -> None:
    x, y = np.linspace(0, 4, 24), np.random.default_rng(seed).normal(size=24)
    for s in (2.0, 8.0):

        def spline(y: Any, s: Any = s) -> Any:
            return interpolate.UnivariateSpline(x, y, s=s)(P / 5)

        wanted = UnivariateSpline(x, y, s=s)(P / 5)
        np.testing.assert_allclose(fd.vjp(spline, y)[0], wanted, rtol=1e-9)


def _best_penalty(x: Any, y: Any, w: Any) -> float:
    """Return λ of generalized cross validation, of one column, to more digits than SciPy's."""

    def criterion(lam: float) -> Any:
        smoothed = make_smoothing_spline(x, np.eye(len(x)), w, lam)(x)
        return np.sum((y - smoothed @ y) ** 2) / (len(x) - np.trace(smoothed)) ** 2

    options = {"xatol": 1e-12}
    return float(minimize_scalar(criterion, bounds=(1e-3, len(x)), options=options).x)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.3, None])
def test_splines_of_a_penalty_are_those_of_scipy(lam: Any) -> None:
    generator = np.random.default_rng(4)  # the best λ of the second row is at its bound
    arrays = X, 0.5 * np.sin(0.4 * X) + 0.5 * generator.normal(size=(2, 15)), W
    tangents = [0.1 * generator.normal(size=a.shape) for a in arrays]

    def spline(*data: Any) -> Any:
        x, y, w = data
        return interpolate.make_smoothing_spline(x, y, w, lam, axis=1)(P)

    def reference(h: float) -> Any:
        x, y, w = (a + h * t for a, t in zip(arrays, tangents, strict=True))
        lams = [_best_penalty(x, row, w) if lam is None else lam for row in y]
        rows = zip(y, lams, strict=True)
        return np.stack([make_smoothing_spline(x, row, w, each)(P) for row, each in rows])

    value, tangent = fd.jvp(spline, arrays, tuple(tangents))
    np.testing.assert_allclose(value, make_smoothing_spline(*arrays, lam, axis=1)(P), rtol=1e-9)
    difference = (reference(1e-3) - reference(-1e-3)) / 2e-3
    np.testing.assert_allclose(tangent, difference, rtol=1e-4, atol=1e-5)
    many = [np.stack([a, 1.1 * a]) for a in arrays]
    values_of_two = [spline(*(a[i] for a in many)) for i in range(2)]
    np.testing.assert_allclose(fd.vmap(spline)(*many), values_of_two, rtol=1e-9)
    by_weights = fd.jacobian(lambda y, w: spline(X, y, w), argnums=1)
    found = fd.jit(by_weights)(*arrays[1:])
    np.testing.assert_allclose(found, by_weights(*arrays[1:]), atol=1e-9)


@pytest.mark.slow
def test_the_same_spline_by_the_new_names() -> None:
    for s in (0.1, 0.3):

        def spline(y: Any, w: Any, s: Any = s) -> Any:
            return interpolate.make_splrep(X, y, w=w, s=s)(P)

        def old(y: Any, w: Any, s: Any = s) -> Any:
            return interpolate.splev(P, interpolate.splrep(X, y, w, s=s))

        value, pull = fd.vjp(spline, Y, W)
        np.testing.assert_allclose(value, make_splrep(X, Y, w=W, s=s)(P), rtol=1e-9)
        np.testing.assert_allclose(pull(P), fd.vjp(old, Y, W)[1](P), rtol=1e-9)
        slopes = fd.jacobian(spline)(Y, W)
        np.testing.assert_allclose(
            fd.jit(fd.jacobian(lambda y: spline(y, W)))(Y), slopes, atol=1e-9
        )
    with pytest.raises(UnsupportedNumPyError, match="make_splrep with t, nest or a period"):
        fd.grad(lambda y: interpolate.make_splrep(X, y, s=0.1, nest=10)(1.0))(Y)


@pytest.mark.slow
def test_what_decides_and_what_smooths_are_compiled_together() -> None:
    def f(x: Any, y: Any, w: Any, s: Any) -> Any:
        return np.sum(interpolate.UnivariateSpline(x, y, w, s=s)(P) ** 2)

    gradient = fd.grad(f, argnums=(0, 1, 2, 3))
    compiled = fd.jit(gradient)  # without a warning that it is not
    for point in ((X, Y, W, 0.3), (1.01 * X, Y[::-1].copy(), W, 0.2)):
        for found, expected in zip(compiled(*point), gradient(*point), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(ValueError, match="x must be increasing"):
        compiled(X[::-1].copy(), Y, W, 0.3)
