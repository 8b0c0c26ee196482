"""What depends on the rank of a matrix: it is known, asked for by a guard, or refused in words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as plain_stats

import funcdiff as fd
import funcdiff.scipy.linalg as fsl
import funcdiff.scipy.stats as fst
from funcdiff.errors import ConcreteValueError
from funcdiff.testing import check_grads
from tests.together import together

Function = Callable[[Any], Any]
matrices: Any = fsl
distributions: Any = fst

RANDOM = np.random.default_rng(7)
TALL = RANDOM.normal(size=(4, 3))
THIN = TALL @ np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [2.0, 1.0, 3.0]])  # of rank 2
OTHER = RANDOM.normal(size=(4, 2))

RANKED: dict[str, Function] = {
    "orth": lambda a: np.sum((lambda q: q @ q.T)(matrices.orth(a)) ** 2 * np.arange(4)),
    "null_space": lambda a: np.sum((lambda q: q @ q.T)(matrices.null_space(a)) ** 3),
    "subspace_angles": lambda a: np.sum(matrices.subspace_angles(a, OTHER)),
    "lstsq": lambda a: np.sum(np.linalg.lstsq(a, OTHER)[1]),
    "scipy's lstsq": lambda a: np.sum(matrices.lstsq(a, OTHER)[1]),
}


@pytest.mark.slow
@together
@pytest.mark.parametrize("a", [TALL, THIN])
@pytest.mark.parametrize("name", RANKED)
def test_what_depends_on_the_rank_is_right_or_refused(name: str, a: Any) -> None:
    f = RANKED[name]
    expected, slope = f(a), fd.grad(f)(a)
    ways: list[Callable[[], Any]] = [
        lambda: fd.jit(f)(a),
        lambda: fd.value_and_grad(fd.jit(f))(a),
        lambda: fd.jit(fd.value_and_grad(f))(a),
        lambda: fd.vmap(f)(np.stack([a, 2 * a]))[0],
        lambda: fd.vmap(f)(np.stack([a, TALL]))[0],
        lambda: fd.scan(lambda c, x: (c, f(x)), 0.0, np.stack([a, a]))[1][0],
    ]
    refused = 0
    for way in ways:
        for _ in range(3):
            try:
                found = way()
            except ConcreteValueError:
                refused += 1
                continue
            value, *others = found if isinstance(found, tuple) else (found,)
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
            for gradient in others:
                np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-10)
    assert refused <= (9 if a is THIN else 3)


def test_residuals_of_another_rank_are_refused_where_they_are_used_alone() -> None:
    def solution(a: Any) -> Any:
        return np.sum(np.linalg.lstsq(a, OTHER)[0])

    stack = np.stack([THIN, THIN])
    found = fd.scan(lambda c, a: (c, solution(a)), 0.0, stack)[1]
    np.testing.assert_allclose(found, [solution(THIN)] * 2, rtol=1e-12)
    with pytest.raises(ConcreteValueError, match="lstsq"):
        fd.scan(lambda c, a: (c, np.linalg.lstsq(a, OTHER)[1]), 0.0, stack)


# ---- distributions with a covariance -------------------------------------------------------------

V = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.5]])


def _covariance(p: Any) -> Any:
    return V @ np.array([[2.0, 0.3], [0.3, 1.0]]) @ V.T * p


def _density(s: Any, name: str = "multivariate_normal") -> Any:
    x = np.array([V @ [0.3, 0.4], V @ [-1.0, 0.2]])
    if name == "multivariate_t":
        return distributions.multivariate_t(np.zeros(3), s, 3.5, allow_singular=True).logpdf(x)
    return getattr(distributions, name).logpdf(x, np.zeros(3), s, allow_singular=True)


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", ["multivariate_normal", "multivariate_t"])
def test_a_density_on_a_plane_has_scipys_value_and_a_derivative_along_it(name: str) -> None:
    def f(p: Any) -> Any:
        return _density(_covariance(p), name)

    value = f(1.5)
    assert np.all(np.isfinite(value))
    np.testing.assert_allclose(fd.vjp(f, 1.5)[0], value, rtol=1e-10)
    np.testing.assert_allclose(fd.jit(f)(1.5), value, rtol=1e-10)
    np.testing.assert_allclose(fd.jacobian(fd.jit(f))(1.5), fd.jacobian(f)(1.5), rtol=1e-10)
    check_grads(f, (1.5,))


def test_points_beside_the_plane_have_no_density() -> None:
    def f(s: Any) -> Any:
        return distributions.multivariate_normal.pdf(
            np.array([1.0, 0.0, 0.0]), np.zeros(3), s, allow_singular=True
        )

    assert fd.vjp(f, _covariance(1.0))[0] == f(_covariance(1.0)) == 0


def test_a_singular_covariance_is_refused_as_scipy_does() -> None:
    def f(s: Any) -> Any:
        return distributions.multivariate_normal.logpdf(np.zeros(3), np.zeros(3), s)

    nearly = _covariance(1.0) + 1e-15 * np.eye(3)
    for g in (f, fd.grad(f)):
        with pytest.raises(np.linalg.LinAlgError, match="allow_singular is False"):
            g(nearly)
    with pytest.raises(ValueError, match="positive semidefinite"):
        fd.grad(f)(_covariance(-1.0))


def test_a_density_of_unknown_rank_is_refused() -> None:
    with pytest.raises(ConcreteValueError, match="rank"):
        fd.scan(lambda c, p: (c, _density(_covariance(p))), 0.0, np.array([1.0, 2.0]))
    regular = plain_stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), 2 * np.eye(2))
    found = fd.scan(
        lambda c, p: (
            c,
            distributions.multivariate_normal.logpdf(np.ones(2), np.zeros(2), p * np.eye(2)),
        ),
        0.0,
        np.array([2.0, 3.0]),
    )[1]
    np.testing.assert_allclose(found[0], regular, rtol=1e-12)
