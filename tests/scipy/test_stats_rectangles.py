"""Probabilities of normal and t vectors have derivatives by limits, parameters and freedom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import funcdiff as fd
from funcdiff.scipy import stats
from funcdiff.testing import check_grads

LOW, HIGH, MEAN = np.array([-1.0, -0.5]), np.array([0.7, 1.2]), np.array([0.1, -0.2])
COV = np.array([[2.0, 0.3], [0.3, 1.5]])


@pytest.mark.slow
def test_probabilities_of_normal_vectors_have_derivatives() -> None:
    cov, x = np.array([[1.0, 0.4], [0.4, 2.0]]), np.array([0.3, -0.2])

    def below(x: Any, m: Any, c: Any) -> Any:
        return stats.multivariate_normal(m, (c + c.T) / 2).logcdf(x)

    assert fd.vjp(below, x, x / 3, cov)[0] == pytest.approx(
        scipy.stats.multivariate_normal.logcdf(x, x / 3, cov), abs=1e-7
    )
    check_grads(below, (x, x / 3, cov), order=1, rtol=1e-5)
    hessian = fd.hessian(below)(x, x / 3, cov)
    step = np.array([1e-4, 0.0])
    rise = fd.grad(below)(x + step, x / 3, cov) - fd.grad(below)(x - step, x / 3, cov)
    np.testing.assert_allclose(hessian[0], rise / 2e-4, rtol=1e-6)
    points = np.stack([x, [0.3, np.inf]])  # without a bound it is a vector of one component
    slopes = fd.vmap(fd.jit(fd.grad(lambda x: stats.multivariate_normal.cdf(x, None, cov))))(points)
    np.testing.assert_allclose(slopes[1], [scipy.stats.norm.pdf(0.3), 0.0], rtol=1e-12)


def test_the_probability_of_an_orthant_has_the_slopes_of_its_formula() -> None:
    def orthant(r: Any) -> Any:  # 1/8 + (arcsin a + arcsin b + arcsin c)/4π
        c = np.eye(3) + (1 - np.eye(3)) * r[np.array([[0, 0, 1], [0, 0, 2], [1, 2, 0]])]
        return stats.multivariate_normal.cdf(np.zeros(3), None, c)

    r = np.array([0.1, 0.3, -0.2])
    np.testing.assert_allclose(fd.grad(orthant)(r), 1 / np.sqrt(1 - r**2) / (4 * np.pi), rtol=1e-6)


def _between(low: Any, high: Any, mean: Any, cov: Any, df: Any = None) -> Any:
    cov = (cov + cov.T) / 2
    if df is None:
        return stats.multivariate_normal.cdf(high, mean, cov, lower_limit=low)
    return stats.multivariate_t(mean, cov, df).cdf(high, lower_limit=low)


def _integral(low: Any, high: Any, mean: Any, cov: Any, df: Any = None) -> Any:
    """Return the same, not by estimates."""
    law = scipy.stats.multivariate_normal if df is None else scipy.stats.multivariate_t
    more = () if df is None else (df,)
    (a, b), (c, d) = np.transpose([low, high])
    options = {"epsabs": 1e-9, "epsrel": 1e-9}
    density = law(mean, cov, *more).pdf
    return scipy.integrate.dblquad(lambda y, x: density([x, y]), a, b, c, d, **options)[0]


@pytest.mark.slow
@pytest.mark.parametrize("df", [None, 4.3, pytest.param(0.3, marks=pytest.mark.slow)])
def test_probabilities_between_limits_move_with_all_that_they_depend_on(df: float | None) -> None:
    point = (LOW, HIGH, MEAN, COV, *(() if df is None else (np.asarray(df),)))
    generator = np.random.default_rng(2)
    change = [generator.normal(size=np.shape(a)) for a in point]
    change[3] = change[3] + change[3].T
    moved = [[a + h * t for a, t in zip(point, change, strict=True)] for h in (1e-3, -1e-3)]
    expected = (_integral(*moved[0]) - _integral(*moved[1])) / 2e-3
    value, tangent = fd.jvp(_between, point, tuple(change))
    np.testing.assert_allclose(value, _integral(*point), rtol=1e-5)
    np.testing.assert_allclose(tangent, expected, rtol=1e-5)
    pulled = fd.grad(_between, argnums=tuple(range(len(point))))(*point)
    total = sum(np.sum(g * t) for g, t in zip(pulled, change, strict=True))
    np.testing.assert_allclose(total, tangent, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("df", [None, 2.5])
def test_three_components_in_all_modes(df: float | None) -> None:
    cov = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.2]])
    low, high = np.array([-1.0, -np.inf, 0.3]), np.array([0.7, 0.4, -0.5])  # the last are swapped

    def slope(high: Any) -> Any:
        return fd.grad(lambda x: _between(low, x, np.zeros(3), cov, df))(high)

    with np.errstate(invalid="ignore"):
        law = scipy.stats.multivariate_normal(np.zeros(3), cov)
        if df is not None:
            law = scipy.stats.multivariate_t(np.zeros(3), cov, df)
        step = 1e-2 * np.eye(3)
        options = {"maxpts": 100_000} if df is not None else {}
        seeds = [np.random.default_rng(1) for _ in range(6)]
        name = "rng" if df is None else "random_state"
        found = [
            law.cdf(high + h, lower_limit=low, **options, **{name: seed})
            for h, seed in zip([*step, *-step], seeds, strict=True)
        ]
    expected = (np.array(found[:3]) - found[3:]) / 2e-2
    np.testing.assert_allclose(slope(high), expected, atol=1e-4)
    both = fd.vmap(slope)(np.stack([high, high + 0.1]))
    np.testing.assert_allclose(both, [slope(high), slope(high + 0.1)], rtol=1e-12)
    np.testing.assert_allclose(fd.jit(slope)(high), both[0], rtol=1e-12)
    hessian = fd.jacobian(slope)(high)
    rise = slope(high + step[0] / 10) - slope(high - step[0] / 10)
    np.testing.assert_allclose(hessian[:, 0], rise / 2e-3, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_logarithms_of_probabilities_where_values_are_not_known() -> None:
    def below(x: Any) -> Any:
        return stats.multivariate_normal.logcdf(x, MEAN, COV)

    pair = np.stack([LOW, HIGH])
    slopes = [fd.grad(below)(x) for x in pair]
    np.testing.assert_allclose(fd.vmap(fd.jit(fd.grad(below)))(pair), slopes, rtol=1e-12)
    swapped = fd.vjp(
        lambda x: stats.multivariate_normal.logcdf(x, MEAN, COV, lower_limit=[-2.0, 2.0]), HIGH
    )[0]
    expected = scipy.stats.multivariate_normal.logcdf(HIGH, MEAN, COV, lower_limit=[-2.0, 2.0])
    np.testing.assert_allclose(swapped, expected, rtol=1e-9)
