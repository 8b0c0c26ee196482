"""Linear programs, assignments, and isotonic regression; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize as scipys

import funcdiff as fd
from funcdiff.errors import InputError, UnsupportedNumPyError
from funcdiff.scipy import optimize
from funcdiff.scipy.optimize import SolutionWarning
from tests.scipy.agreement import assert_agrees

C = np.array([-1.0, -2.0, 0.5])
A_UB = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.3]])
B_UB = np.array([4.0, 3.0, 2.0])
EQUAL = {"A_eq": np.array([[1.0, 1.0, 1.0]]), "b_eq": np.array([3.9])}


@pytest.mark.slow
def test_a_linear_program_has_the_derivatives_of_its_vertex() -> None:
    def call(s: Any, c: Any, a: Any, b: Any) -> Any:
        found = s.linprog(c, a, b, **EQUAL)
        parts = [found.lower, found.eqlin, found.ineqlin]
        return found.x, found.fun, found.slack, found.con, [p.marginals for p in parts]

    assert_agrees("scipy.optimize", call, C, A_UB, B_UB, rtol=1e-9)


def test_marginals_are_the_derivative_of_the_optimum() -> None:
    def cost(b: Any, top: Any) -> Any:
        return optimize.linprog(C, A_UB, b, bounds=[(0, top), (0, None), (0, None)]).fun

    by_b, by_top = fd.grad(cost, argnums=(0, 1))(B_UB, 0.5)
    found = scipys.linprog(C, A_UB, B_UB, bounds=[(0, 0.5), (0, None), (0, None)])
    np.testing.assert_allclose(by_b, found.ineqlin.marginals, atol=1e-12)
    np.testing.assert_allclose(by_top, found.upper.marginals[0], atol=1e-12)


@pytest.mark.parametrize(
    "bounds", [(0, 1), None, [(0, 1)], [[0, 1], [0, 1]], [(0, None), (None, 1)]]
)
def test_bounds_come_in_all_forms(bounds: Any) -> None:
    def x(c: Any) -> Any:
        return optimize.linprog(c, A_ub=[[1.0, 1.0]], b_ub=[1.5], bounds=bounds).x

    expected = scipys.linprog([-1.0, -2.0], [[1.0, 1.0]], [1.5], bounds=bounds)
    c = np.array([-1.0, -2.0])
    np.testing.assert_allclose(fd.vjp(x, c)[0], expected.x)
    np.testing.assert_allclose(fd.jacobian(x)(c), np.zeros((2, 2)), atol=1e-12)


def test_no_single_vertex_no_derivative() -> None:
    def x(c: Any) -> Any:
        return optimize.linprog(c, A_ub=np.ones((1, 2)), b_ub=[1.0]).x

    with pytest.warns(SolutionWarning), pytest.raises(np.linalg.LinAlgError):
        fd.jacobian(x)(-np.ones(2))


def test_no_solution_is_reported() -> None:
    found = fd.vjp(lambda b: optimize.linprog([1.0], [[1.0]], b).status, np.array([-1.0]))[0]
    assert found == 2


def test_an_assignment_has_constant_indices() -> None:
    cost = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0]])
    for maximize in (False, True):
        chosen = scipys.linear_sum_assignment(cost, maximize)
        expected = np.zeros((2, 3))
        expected[chosen] = 1

        def total(c: Any, maximize: bool = maximize) -> Any:
            return np.sum(c[optimize.linear_sum_assignment(c, maximize)])

        np.testing.assert_array_equal(fd.grad(total)(cost), expected)
        np.testing.assert_array_equal(fd.jit(fd.grad(total))(cost), expected)
        several = fd.vmap(fd.grad(total))(np.stack([cost, cost]))
        np.testing.assert_array_equal(several[1], expected)


def test_a_quadratic_assignment() -> None:
    a = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    b = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
    options = {"rng": np.random.default_rng(0)}
    found = scipys.quadratic_assignment(a, b, options=options)
    slopes = fd.grad(lambda a: optimize.quadratic_assignment(a, b, options=options).fun)(a)
    np.testing.assert_array_equal(slopes, b[found.col_ind][:, found.col_ind])


@pytest.mark.slow
@pytest.mark.parametrize("increasing", [True, False])
def test_isotonic_regression(increasing: bool) -> None:
    y = np.array([1.0, 0.3, 2.0, 1.7, 1.9, 0.2])
    w = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5])

    def call(s: Any, y: Any, w: Any) -> Any:
        return s.isotonic_regression(y, weights=w, increasing=increasing).x

    assert_agrees("scipy.optimize", call, y, w)


def test_isotonic_regression_averages_blocks() -> None:
    slope = fd.jacobian(lambda y: optimize.isotonic_regression(y).x)(np.array([2.0, 1.0, 4.0]))
    np.testing.assert_allclose(slope, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])


def test_whole_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="whole numbers have no derivative"):
        fd.grad(lambda b: optimize.linprog([-1.0], [[1.0]], b, integrality=[1]).fun)(np.ones(1))
    with pytest.raises(UnsupportedNumPyError, match="Fix them by bounds"):
        fd.grad(lambda c: optimize.milp(c).fun)(np.ones(2))
