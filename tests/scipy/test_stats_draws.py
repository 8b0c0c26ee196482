"""Random vectors and matrices move with their parameters at the same random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, NotDifferentiableError
from funcdiff.scipy import stats
from tests.together import together

MEAN = np.array([0.3, -1.0, 2.0])
SPREAD = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.2]])
SHARES = np.array([1.3, 2.0, 0.7])
RECTANGLE = np.arange(6.0).reshape(2, 3)

DRAWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normal": (
        lambda s, r, m, c: s.multivariate_normal.rvs(m, c, size=4, random_state=r), (MEAN, SPREAD)
    ),
    "normal, equal variances": (
        lambda s, r, m, c: s.multivariate_normal(m, c).rvs((2, 2), random_state=r),
        (MEAN, np.eye(3)),
    ),
    "t": (
        lambda s, r, m, c, df: s.multivariate_t(m, c, df).rvs(size=4, random_state=r),
        (MEAN, SPREAD, np.asarray(4.0)),
    ),
    "dirichlet": (lambda s, r, a: s.dirichlet.rvs(a, 4, random_state=r), (SHARES,)),
    "matrix normal": (
        lambda s, r, m, c: s.matrix_normal.rvs(m, c[:2, :2], c, size=3, random_state=r),
        (RECTANGLE, SPREAD),
    ),
    "wishart": (lambda s, r, d, c: s.wishart.rvs(d, c, size=(2, 2), random_state=r), (4.3, SPREAD)),
    "invwishart": (lambda s, r, d, c: s.invwishart(d, c).rvs(3, random_state=r), (5.3, SPREAD)),
    "kernel density": (
        lambda s, r, x: s.gaussian_kde(x, 0.3).resample(4, seed=r), (np.arange(4.0) ** 2,)
    ),
    "matrix t": (
        lambda s, r, m, c, d: s.matrix_t.rvs(m, c[:2, :2], c, d, size=2, random_state=r),
        (RECTANGLE, SPREAD, 4.5),
    ),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("seed", [lambda: 3, lambda: np.random.default_rng(3)])
def test_random_vectors_are_scipys(name: str, seed: Callable[[], Any]) -> None:
    draw, parameters = DRAWS[name]
    expected = draw(scipy.stats, seed(), *parameters)
    found = fd.vjp(lambda *xs: draw(stats, seed(), *xs), *parameters)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(draw(stats, seed(), *parameters), expected)


def test_a_generator_goes_on_as_scipys() -> None:
    ours, plain = np.random.default_rng(1), np.random.default_rng(1)
    fd.grad(lambda m: stats.multivariate_normal.rvs(m, SPREAD, random_state=ours)[0])(MEAN)
    scipy.stats.multivariate_normal.rvs(MEAN, SPREAD, random_state=plain)
    assert ours.random() == plain.random()


@pytest.mark.slow
def test_moments_of_random_vectors_have_the_derivatives_of_the_distribution() -> None:
    def covariance(c: Any) -> Any:
        x = stats.multivariate_normal.rvs(np.zeros(3), c, size=20_000, random_state=1)
        return x.T @ x / 20_000

    change = np.diag([1.0, 0.0, 0.0]) + 0.2
    np.testing.assert_allclose(fd.jvp(covariance, (SPREAD,), (change,))[1], change, atol=0.02)

    def shares(a: Any) -> Any:
        return np.mean(stats.dirichlet.rvs(a, size=20_000, random_state=1), axis=0)

    expected = fd.jacfwd(stats.dirichlet.mean)(SHARES)
    np.testing.assert_allclose(fd.jacfwd(shares)(SHARES), expected, atol=0.01)


def test_random_vectors_move_with_cholesky_factors() -> None:
    def draw(factor: Any) -> Any:
        return stats.multivariate_normal.rvs(MEAN, factor @ factor.T, size=2, random_state=5)

    factor = np.linalg.cholesky(SPREAD)
    white = np.linalg.solve(factor, (draw(factor) - MEAN).T)
    found = fd.jvp(draw, (factor,), (np.tril(SPREAD),))[1]
    np.testing.assert_allclose(found, (np.tril(SPREAD) @ white).T, rtol=1e-10)
    found, expected = (
        fd.hessian(lambda t, f=f: np.sum(f((1 + t) * factor) ** 3))(0.0)
        for f in (draw, lambda factor: MEAN + (factor @ white).T)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [
    np.array([[1.0], [2.0], [-1.0]]), np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0]]),
    np.zeros((3, 1)),
], ids=["rank 1", "rank 2", "rank 0"])  # fmt: skip
def test_vectors_of_a_singular_covariance_move_within_its_range(factor: Any) -> None:
    def draws(s: Any, scale: Any) -> Any:
        return s.multivariate_normal.rvs(MEAN, scale * (factor @ factor.T), 4, random_state=2)

    def total(scale: Any) -> Any:
        return np.sum(draws(stats, scale) * np.arange(12.0).reshape(4, 3))

    plain = draws(scipy.stats, 1.5)
    deviation = np.sum((plain - MEAN) * np.arange(12.0).reshape(4, 3))
    for f in (draws, fd.jit(draws, static_argnames="s")):
        np.testing.assert_allclose(f(stats, 1.5), plain, atol=1e-7)
    for derive in (fd.grad, lambda f: fd.jit(fd.grad(f)), fd.derivative):
        np.testing.assert_allclose(derive(total)(1.5), deviation / 3, atol=1e-6)
    second = fd.vmap(fd.grad(fd.grad(total)))(np.array([1.5, 1.5]))
    np.testing.assert_allclose(second, -deviation / 9, atol=1e-6)


def test_what_is_drawn_by_counting_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match=r"which points are drawn jumps"):
        fd.jacfwd(lambda w: stats.gaussian_kde(MEAN, weights=w).resample(2, seed=1))(SHARES)
    with pytest.raises(NotDifferentiableError, match=r"rvs .* are counts"):
        fd.jacfwd(lambda p: stats.multinomial.rvs(5, p, random_state=1))(np.array([0.4, 0.6]))


def test_random_matrices_move_with_both_parameters() -> None:
    scale = SPREAD[:2, :2]
    slope = fd.jvp(lambda d: stats.wishart.rvs(d, 2.0, random_state=5), (4.3,), (1.0,))[1]
    of_square = fd.jvp(lambda d: stats.chi2.rvs(d, random_state=5), (4.3,), (1.0,))[1]
    np.testing.assert_allclose(slope, 2 * of_square, rtol=1e-12)
    moved = fd.jacobian(lambda c: stats.wishart.rvs(4.3, c, random_state=5))(scale)
    step = 1e-6 * np.eye(2)
    low, high = (scipy.stats.wishart.rvs(4.3, scale + h, random_state=5) for h in (-step, step))
    np.testing.assert_allclose(np.einsum("ijkk", moved), (high - low) / 2e-6, rtol=1e-7)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["t", "dirichlet", "invwishart", "matrix t"])
def test_from_a_seed_the_same_is_drawn_where_values_are_not_known(name: str) -> None:
    draw, parameters = DRAWS[name]
    pairs = [np.stack([x, 1.2 * x]) for x in map(np.asarray, parameters)]

    def ours(*xs: Any) -> Any:
        return draw(stats, 3, *xs)

    expected = [draw(scipy.stats, 3, *(pair[i] for pair in pairs)) for i in range(2)]
    np.testing.assert_allclose(fd.vmap(ours)(*pairs), expected, rtol=1e-12)
    by_last = fd.jacobian(ours, argnums=len(parameters) - 1)
    slopes = [by_last(*(pair[i] for pair in pairs)) for i in range(2)]
    np.testing.assert_allclose(fd.vmap(fd.jit(by_last))(*pairs), slopes, atol=1e-14)


def test_a_generator_is_refused_where_it_is_not_known_how_often_it_is_asked() -> None:
    generator = np.random.default_rng(1)
    for name in ("normal", "wishart"):
        draw, parameters = DRAWS[name]
        with pytest.raises(ConcreteValueError, match="Give a number, as random_state=0"):
            fd.jit(lambda *xs, draw=draw: draw(stats, generator, *xs))(*parameters)
