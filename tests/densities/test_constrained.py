"""Each constraint against the determinant of its own Jacobian, and there and back."""

from __future__ import annotations

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.densities.constrained import (
    Above,
    Between,
    Cholesky,
    Constraint,
    CorrelationCholesky,
    Ordered,
    Simplex,
    Unbounded,
)

CONSTRAINTS: list[Constraint] = [
    Unbounded((2, 3)),
    Above((3,), 2.0),
    Above((3,), -1.0, -1.0),
    Between((), -1.0, 3.0),
    Between((2, 2), 0.0, 1.0),
    Ordered((4,)),
    Simplex((2,)),
    Simplex((5,)),
    Cholesky((3, 3)),
    CorrelationCholesky((2, 2)),
    CorrelationCholesky((4, 4)),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_the_log_jacobian_is_the_determinant_of_the_jacobian(constraint: Constraint) -> None:
    for seed in range(3):
        z = np.random.default_rng(seed).normal(size=constraint.size)
        x, log_jacobian = constraint.constrain(z)
        matrix = fd.jacobian(lambda z: constraint.free(constraint.constrain(z)[0]))(z)
        assert np.shape(x) == constraint.shape
        np.testing.assert_allclose(log_jacobian, np.linalg.slogdet(matrix)[1], atol=1e-12)
        np.testing.assert_allclose(constraint.unconstrain(x), z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_log_jacobians_have_finite_derivatives_far_out(constraint: Constraint) -> None:
    for z in (np.full(constraint.size, -40.0), np.full(constraint.size, 40.0)):
        assert np.isfinite(constraint.constrain(z)[1])
        assert np.all(np.isfinite(fd.grad(lambda z: constraint.constrain(z)[1] + 0 * z[0])(z)))
        assert np.all(np.isfinite(fd.hessian(lambda z: constraint.constrain(z)[1] + 0 * z[0])(z)))


def test_a_correlation_has_a_unit_diagonal_and_a_simplex_the_sum_one() -> None:
    rng = np.random.default_rng(0)
    factor = CorrelationCholesky((5, 5)).constrain(rng.normal(size=10))[0]
    np.testing.assert_allclose(np.diagonal(factor @ factor.T), 1.0, rtol=1e-14)
    np.testing.assert_allclose(Simplex((6,)).constrain(rng.normal(size=5))[0].sum(), 1.0)


def test_numbers_between_bounds_and_their_derivatives_are_right_at_both_edges() -> None:
    constraint = Between((1,), 0.0, 1.0)
    z = np.array([-40.0])
    slope = fd.grad(lambda z: constraint.constrain(z)[0][0])
    np.testing.assert_allclose(slope(z), np.exp(z), rtol=1e-13)
    np.testing.assert_allclose(slope(-z), np.exp(z), rtol=1e-13)
    below_zero = Between((1,), -1.0, 0.0).constrain(-z)[0]
    np.testing.assert_allclose(below_zero, -np.exp(z), rtol=1e-13)
    curvature = fd.hessian(lambda z: constraint.constrain(z)[0][0])
    np.testing.assert_allclose(curvature(z), [np.exp(z)], rtol=1e-13)
    np.testing.assert_allclose(curvature(-z), [-np.exp(z)], rtol=1e-13)
