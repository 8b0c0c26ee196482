"""Laplace's approximation: exact for normal densities, the same in all units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.errors import ConvergenceError
from tests.densities.test_unconstrained import MEAN, PRECISION


def test_laplace_is_exact_for_normal_densities() -> None:
    covariance = np.linalg.inv(PRECISION)
    d = fd.density(lambda x: -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN), np.array([40.0, 3.0]))
    fit = d.laplace()
    np.testing.assert_allclose(fit.mode, MEAN, rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-12)
    evidence = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    np.testing.assert_allclose(fit.log_evidence, evidence, rtol=1e-12)


def test_laplace_refuses_flat_and_unbounded_densities() -> None:
    with pytest.raises(ConvergenceError, match="flat"):
        fd.density(lambda x: -(x[0] ** 2), np.ones(2)).laplace()
    with pytest.raises(ConvergenceError, match="found no mode"):
        fd.density(lambda x: np.sum(x), np.ones(2)).laplace()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_laplace_climbs_from_where_there_is_no_curvature(scale: float) -> None:
    fit = fd.density(lambda x: -scale * np.sum((x - 2) ** 2), np.ones(2), (0, None)).laplace()
    mode = 1 + np.sqrt(1 + 1 / (2 * scale))  # of -s(x - 2)² + log x
    np.testing.assert_allclose(fit.mode, [mode, mode], rtol=1e-6)


def test_laplace_says_where_it_found_nothing_finite() -> None:
    with pytest.raises(ConvergenceError, match="found no mode"):
        fd.density(lambda x: np.sum(np.log(x)), -np.ones(2)).laplace()


def of_regression(x: Any) -> Any:
    """Return a density that is neither normal nor, far out, concave."""
    a = np.array([[1.0, 0.2, -0.3], [0.4, -1.0, 0.9], [0.1, 0.8, 1.0], [-1.0, 0.3, 0.5]])
    errors = a @ x - np.array([1.0, -0.5, 2.0, 0.3])
    return -np.sum(np.log1p(errors**2)) - 0.05 * np.sum(np.cosh(x))


EXPONENTS = st.lists(st.floats(-8, 8), min_size=3, max_size=3)


@given(EXPONENTS, st.sampled_from([0.0, 0.1, -2.0]))
def test_laplace_is_the_same_in_all_units(exponents: list[float], at: float) -> None:
    units, start = 10.0 ** np.array(exponents), np.full(3, at)
    plain = fd.density(of_regression, start).laplace()
    fit = fd.density(lambda x: of_regression(x / units), start * units).laplace()
    np.testing.assert_allclose(fit.mode / units, plain.mode, rtol=1e-7)
    np.testing.assert_allclose(
        fit.covariance / np.outer(units, units), plain.covariance, rtol=1e-6, atol=1e-9
    )
    expected = plain.log_evidence + np.sum(np.log(units))
    np.testing.assert_allclose(fit.log_evidence, expected, rtol=1e-9, atol=1e-9)
