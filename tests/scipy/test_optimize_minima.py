"""Minima of functions, with bounds and constraints, as functions of the problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import optimize as scipys

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError, LostDerivativeError
from funcdiff.scipy import optimize
from funcdiff.scipy.optimize import SolutionWarning
from tests.scipy.agreement import assert_agrees

A = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, 1.0]])
Y = np.array([1.0, 2.0, 3.0])
METHODS = (
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA",
    "SLSQP", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip


def ridge(penalty: Any, **keywords: Any) -> Any:
    def loss(w: Any) -> Any:
        return np.sum((A @ w - Y) ** 2) + penalty * np.sum(w**2)

    return optimize.minimize(loss, np.zeros(2), **keywords)


def ridge_in_closed_form(penalty: Any) -> Any:
    return np.linalg.solve(A.T @ A + penalty * np.eye(2), A.T @ Y)


# ---- without constraints -------------------------------------------------------------------------


@pytest.mark.thinned(13)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_the_derivative_of_the_minimum(method: str) -> None:
    found = fd.jacobian(lambda p: ridge(p, method=method, tol=1e-8).x)(0.5)
    np.testing.assert_allclose(found, fd.jacobian(ridge_in_closed_form)(0.5), atol=1e-6)


def test_the_least_value_has_second_derivatives_too() -> None:
    def closed(penalty: Any) -> Any:
        w = ridge_in_closed_form(penalty)
        return np.sum((A @ w - Y) ** 2) + penalty * np.sum(w**2)

    def ours(penalty: Any) -> Any:
        return ridge(penalty, tol=1e-10).fun

    np.testing.assert_allclose(fd.grad(ours)(0.5), fd.grad(closed)(0.5), rtol=1e-7)
    np.testing.assert_allclose(
        fd.grad(fd.grad(ours))(0.5), fd.grad(fd.grad(closed))(0.5), rtol=1e-7
    )


@pytest.mark.slow
def test_second_derivatives_agree_with_differences_of_scipys_solutions() -> None:
    def call(s: Any, a: Any, b: Any) -> Any:
        def objective(x: Any, shift: Any) -> Any:
            return np.sum(np.cosh(x - shift)) + b * x[0] * x[1] + np.sum(x**4)

        def slope(x: Any, shift: Any) -> Any:
            return np.sinh(x - shift) + b * x[::-1] + 4 * x**3

        found = s.minimize(objective, np.zeros(2), (a,), jac=slope, tol=1e-13, method="BFGS")
        return found.x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert_agrees("scipy.optimize", call, np.array([0.4, -0.7]), np.array(0.3), rtol=1e-8)


def test_the_start_has_derivative_zero() -> None:
    def found(start: Any) -> Any:
        return optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), start).x

    np.testing.assert_array_equal(fd.jacobian(found)(np.zeros(2)), np.zeros((2, 2)))


def test_arguments_come_in_containers() -> None:
    def found(p: Any) -> Any:
        def objective(x: Any, params: Any, weight: float) -> Any:
            return np.sum(weight * (x - params["shift"]) ** 2)

        return optimize.minimize(objective, np.zeros(2), args=(p, 2.0)).x

    slope = fd.jacobian(found)({"shift": np.array([1.0, 2.0])})["shift"]
    np.testing.assert_allclose(slope, np.eye(2), atol=1e-9)


def test_derivatives_of_the_users_are_not_asked() -> None:
    def found(a: Any) -> Any:
        def value_and_slope(x: Any) -> Any:
            return np.sum((x - a) ** 2), 2 * (x - a)

        return optimize.minimize(value_and_slope, np.zeros(1), jac=True).x[0]

    np.testing.assert_allclose(fd.grad(found)(2.0), 1.0, rtol=1e-9)


def test_the_result_is_scipys_kind_and_may_be_returned() -> None:
    def found(penalty: Any) -> Any:
        return ridge(penalty, method="trust-exact")

    result, pull = fd.vjp(found, 0.5)
    assert isinstance(result, scipys.OptimizeResult)
    assert result.success
    assert "terminated" in result.message
    assert result.nit > 0
    np.testing.assert_allclose(result.jac, 0, atol=1e-6)
    np.testing.assert_allclose(result.hess, 2 * (A.T @ A + 0.5 * np.eye(2)), rtol=1e-9)
    assert fd.jit(found)(0.5).x.shape == (2,)
    del pull


def test_success_decides_where_values_are_known() -> None:
    def f(a: Any) -> Any:
        found = optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(1))
        return found.x[0] if found.success else np.nan * a

    np.testing.assert_allclose(fd.grad(f)(2.0), 1.0, rtol=1e-9)


def test_plain_arguments_are_scipys_own_call() -> None:
    ours = optimize.minimize(scipys.rosen, np.zeros(3), method="BFGS")
    theirs = scipys.minimize(scipys.rosen, np.zeros(3), method="BFGS")
    assert ours.nfev == theirs.nfev
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9)
    np.testing.assert_allclose(ours.hess_inv, theirs.hess_inv, rtol=1e-6)


def test_inside_a_trace_a_problem_without_traced_arrays_is_scipys_own_call() -> None:
    def f(a: Any) -> Any:
        found = optimize.minimize(lambda x: float(np.sum(x)) ** 2, np.ones(1), method="BFGS")
        assert found.hess_inv.shape == (1, 1)
        return a * found.fun

    assert abs(fd.grad(f)(2.0)) < 1e-9


# ---- bounds and constraints ----------------------------------------------------------------------


@pytest.mark.thinned(5)
@pytest.mark.parametrize(
    "method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Powell", "Nelder-Mead"]
)
def test_projection_onto_a_box_has_derivative_one_inside(method: str) -> None:
    def projection(point: Any, top: Any) -> Any:
        bounds = [(0.0, top), (None, top), (0.0, top)]
        options = {"gtol": 1e-10} if method == "trust-constr" else None
        return optimize.minimize(
            lambda x: np.sum((x - point) ** 2), np.full(3, 0.4), bounds=bounds, method=method,
            tol=1e-9, options=options,
        ).x  # fmt: skip

    by_point, by_top = fd.jacobian(projection, argnums=(0, 1))(np.array([-0.5, 0.3, 2.0]), 1.0)
    np.testing.assert_allclose(by_point, np.diag([0.0, 1.0, 0.0]), atol=1e-7)
    np.testing.assert_allclose(by_top, [0.0, 0.0, 1.0], atol=1e-7)


def test_projection_onto_the_simplex() -> None:
    point = np.array([-0.5, 0.3, 0.7, 0.4])

    def projection(point: Any, total: Any) -> Any:
        return optimize.minimize(
            lambda x: np.sum((x - point) ** 2), np.ones(4) / 4, bounds=[(0, None)] * 4,
            constraints={"type": "eq", "fun": lambda x: np.sum(x) - total}, tol=1e-12,
        ).x  # fmt: skip

    by_point, by_total = fd.jacobian(projection, argnums=(0, 1))(point, 1.0)
    inside = np.array([0.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(by_point, np.diag(inside) - np.outer(inside, inside) / 3, atol=1e-9)
    np.testing.assert_allclose(by_total, inside / 3, atol=1e-9)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA", "COBYQA"])
def test_a_curved_constraint_moves_the_minimum(method: str) -> None:
    def lowest(radius: Any) -> Any:
        disc = scipys.NonlinearConstraint(lambda x: x @ x, -np.inf, radius**2)
        box = scipys.LinearConstraint(np.eye(2), -5 * radius, 5.0)
        return optimize.minimize(
            lambda x: x[0] + 2 * x[1], np.array([-0.5, -0.3]), method=method, tol=1e-9,
            constraints=[disc, box],
        ).x  # fmt: skip

    slope = fd.jacobian(lowest)(2.0)
    np.testing.assert_allclose(slope, [-1 / np.sqrt(5), -2 / np.sqrt(5)], atol=2e-4)


@pytest.mark.slow
def test_constraints_have_second_derivatives() -> None:
    """The nearest point of an ellipse of given half-axes, which are in the constraint alone."""

    def call(s: Any, axes: Any) -> Any:
        constraint = {
            "type": "eq",
            "fun": lambda x: np.sum((x / axes) ** 2) - 1,
            "jac": lambda x: 2 * x / axes**2,
        }
        found = s.minimize(
            lambda x: np.sum((x - 2.0) ** 2), np.ones(2), jac=lambda x: 2 * (x - 2.0),
            constraints=[constraint], method="SLSQP", options={"ftol": 1e-14},
        )  # fmt: skip
        return found.x, found.fun

    assert_agrees("scipy.optimize", call, np.array([1.5, 1.0]), rtol=1e-7)


def test_a_bound_and_a_constraint_may_be_traced() -> None:
    def highest(a: Any) -> Any:
        return optimize.minimize(
            lambda x: -np.sum(x), np.zeros(2), bounds=scipys.Bounds(-1.0, np.stack([a, 5.0 + a])),
            constraints=scipys.LinearConstraint(np.stack([a, 2 * a]), -np.inf, 4.0),
            method="SLSQP", tol=1e-12,
        ).x  # fmt: skip

    # x0 = a, a x0 + 2 a x1 = 4
    np.testing.assert_allclose(highest(1.0), [1.0, 1.5], atol=1e-7)
    np.testing.assert_allclose(fd.jacobian(highest)(1.0), [1.0, -2.5], atol=1e-6)


def test_a_constraint_that_is_met_but_not_needed_warns() -> None:
    def found(a: Any) -> Any:
        return optimize.minimize(
            lambda x: np.sum((x - a) ** 2), np.array([0.5]), bounds=[(0.0, 1.0)], tol=1e-12
        ).x[0]

    with pytest.warns(SolutionWarning, match="1 multipliers .* are near zero"):
        fd.grad(found)(0.0)


def test_what_is_no_minimum_warns() -> None:
    def found(a: Any) -> Any:
        return optimize.minimize(
            lambda x: np.sum((x - a) ** 4) + np.sum(x**2), np.array([9.0]), method="CG",
            options={"maxiter": 1},
        ).x[0]  # fmt: skip

    with pytest.warns(SolutionWarning, match="the gradient there is not balanced"):
        fd.grad(found)(1.0)


def test_what_is_not_a_number_warns() -> None:
    def found(a: Any) -> Any:
        return optimize.minimize(lambda x: np.nan * np.sum(x - a), [0.0], method="BFGS").x[0]

    with np.errstate(all="ignore"), pytest.warns(SolutionWarning, match="is not finite"):
        fd.vjp(found, 1.0)


def test_a_singular_hessian_is_an_error_with_a_cure() -> None:
    def found(a: Any) -> Any:
        return optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x

    with pytest.raises(np.linalg.LinAlgError) as caught:
        fd.jacobian(found)(1.0)
    assert "add a small penalty" in "".join(caught.value.__notes__)


# ---- one number ----------------------------------------------------------------------------------


@pytest.mark.thinned(6)
@pytest.mark.parametrize("keywords", [
    {},
    {"bracket": (0.0, 1.0)},
    {"bracket": (0.0, 1.0, 3.0), "method": "golden", "tol": 1e-9},
    {"bounds": (0.0, 5.0), "options": {"xatol": 1e-10}},
])  # fmt: skip
def test_a_minimum_of_one_number(keywords: dict[str, Any]) -> None:
    def found(a: Any) -> Any:
        return optimize.minimize_scalar(lambda x, a: x**4 + (x - a) ** 2, args=(a,), **keywords)

    x = found(2.0).x
    np.testing.assert_allclose(4 * x**3 + 2 * (x - 2), 0, atol=1e-5)
    slope = 2 / (12 * x**2 + 2)
    np.testing.assert_allclose(fd.grad(lambda a: found(a).x)(2.0), slope, rtol=1e-6)
    np.testing.assert_allclose(fd.grad(lambda a: found(a).fun)(2.0), -2 * (x - 2), rtol=1e-6)
    curvature = fd.grad(fd.grad(lambda a: found(a).fun))(2.0)
    np.testing.assert_allclose(curvature, 2 - 2 * slope, rtol=1e-6)


def test_a_minimum_at_a_bound_moves_with_it() -> None:
    def found(top: Any) -> Any:
        return optimize.minimize_scalar(
            lambda x: (x - 4) ** 2, bounds=(0.0, top), options={"xatol": 1e-9}
        ).x

    np.testing.assert_allclose(fd.grad(found)(2.0), 1.0, rtol=1e-12)


# ---- searches ------------------------------------------------------------------------------------

BOX = [(-2.0, 2.0)] * 2
SEARCHES: dict[str, Any] = {
    "differential_evolution": lambda f: optimize.differential_evolution(f, BOX, rng=1, popsize=5),
    "dual_annealing": lambda f: optimize.dual_annealing(f, bounds=BOX, rng=1, maxiter=5),
    "shgo": lambda f: optimize.shgo(f, BOX),
    "basinhopping": lambda f: optimize.basinhopping(f, np.zeros(2), niter=2, rng=1),
    "bounded hops": lambda f: optimize.basinhopping(
        f, np.zeros(2), 2, rng=1, minimizer_kwargs={"method": "L-BFGS-B", "bounds": BOX}
    ),
    "constrained": lambda f: optimize.shgo(
        f, BOX, constraints={"type": "ineq", "fun": lambda x: x[0] + 1.9}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_the_minimum_that_a_search_finds_has_derivatives(name: str) -> None:
    def found(a: Any) -> Any:
        return SEARCHES[name](lambda x: np.sum((x - a) ** 2) + np.sum(1 - np.cos(3 * x)))

    a = np.array([0.7, -0.4])
    x = found(a).x
    slope = np.diag(2 / (2 + 9 * np.cos(3 * x)))
    np.testing.assert_allclose(fd.jacobian(lambda a: found(a).x)(a), slope, atol=1e-4)
    np.testing.assert_allclose(fd.grad(lambda a: found(a).fun)(a), 2 * (a - x), atol=1e-5)


@pytest.mark.slow
def test_directed_searches_and_grids_have_derivatives_where_they_end() -> None:
    a = np.array([0.7, -0.4])

    def near(x: Any, a: Any) -> Any:
        return np.sum((x - a) ** 2)

    direct = fd.jacobian(lambda a: optimize.direct(near, BOX, args=(a,), maxfun=4000).x)(a)
    np.testing.assert_allclose(direct, np.eye(2), atol=1e-9)
    grid = fd.jacobian(lambda a: optimize.brute(near, BOX, args=(a,), Ns=5))(a)
    np.testing.assert_allclose(grid, np.eye(2), atol=1e-9)
    constrained = fd.jacobian(
        lambda a: optimize.differential_evolution(
            near, BOX, args=(a,), rng=1, popsize=5,
            constraints=optimize.LinearConstraint([[1.0, 1.0]], -10.0, 0.0),
        ).x
    )(a)  # fmt: skip
    np.testing.assert_allclose(constrained, [[0.5, -0.5], [-0.5, 0.5]], atol=1e-6)


# ---- old names -----------------------------------------------------------------------------------

OLD: dict[str, dict[str, Any]] = {
    "fmin": {"xtol": 1e-9, "full_output": True},
    "fmin_powell": {},
    "fmin_cg": {"full_output": True},
    "fmin_bfgs": {"gtol": 1e-9},
    "fmin_ncg": {"fprime": lambda x, a: 4 * (x - a) ** 3 + 2 * (x - a), "full_output": True},
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", OLD)
def test_old_functions_for_one_method_each(name: str) -> None:
    def objective(x: Any, a: Any) -> Any:
        return np.sum((x - a) ** 4 + (x - a) ** 2)

    def found(s: Any, a: Any) -> Any:
        return getattr(s, name)(objective, [1.0, 2.0], args=(a,), disp=0, **OLD[name])

    a = np.array([0.3, 0.4])
    ours, theirs = fd.vjp(lambda a: found(optimize, a), a)[0], found(scipys, a)
    full = OLD[name].get("full_output")
    assert len(ours) == len(theirs)
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    slope = fd.jacobian(lambda a: found(optimize, a)[0] if full else found(optimize, a))(a)
    np.testing.assert_allclose(slope, np.eye(2), atol=1e-9)


@pytest.mark.slow
def test_old_functions_of_one_number_and_of_bounds() -> None:
    def quartic(x: Any, a: Any) -> Any:
        return x**4 + (x - a) ** 2

    for name, ends in (("brent", ()), ("golden", ()), ("fminbound", (0.0, 3.0))):

        def found(a: Any, name: str = name, ends: Any = ends) -> Any:
            return getattr(optimize, name)(quartic, *ends, args=(a,), full_output=True)

        # Steps are compared up to what the search leaves open: NumPy's and Python's powers may
        # differ in the last bit, and where the slope is zero that moves x by its root.
        ours, theirs = (
            fd.vjp(found, 2.0)[0],
            getattr(scipys, name)(quartic, *ends, args=(2.0,), full_output=True),
        )
        np.testing.assert_allclose(ours[0], theirs[0], rtol=2e-8)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-15)
        np.testing.assert_allclose(ours[2:], theirs[2:], atol=1)
        x = found(2.0)[0]
        slope = 2 / (12 * x**2 + 2)
        np.testing.assert_allclose(fd.grad(lambda a: found(a)[0])(2.0), slope, rtol=1e-6)

    def bounded(a: Any) -> Any:
        return optimize.fmin_l_bfgs_b(
            lambda x: np.sum((x - a) ** 2), [1.0, 2.0], approx_grad=True, bounds=[(0.35, None)] * 2
        )

    x, least, info = fd.vjp(bounded, np.array([0.3, 0.4]))[0]
    np.testing.assert_allclose([*x, least], [0.35, 0.4, 0.0025], atol=1e-9)
    assert info["warnflag"] == 0
    slope = fd.jacobian(lambda a: bounded(a)[0])(np.array([0.3, 0.4]))
    np.testing.assert_allclose(slope, [[0, 0], [0, 1]], atol=1e-9)


def test_what_old_functions_cannot_say_is_refused() -> None:
    with pytest.raises(InputError, match="Write minimize"):
        fd.grad(lambda a: optimize.fmin_bfgs(lambda x: np.sum((x - a) ** 2), 0.0, retall=1)[0])(1.0)
    with pytest.raises(LostDerivativeError, match="Write minimize"):
        fd.grad(lambda a: optimize.fmin_tnc(lambda x: (x - a)[0] ** 2, 0.0, approx_grad=1)[0])(1.0)


# ---- together with other transforms, and wrong calls ---------------------------------------------


def test_a_minimum_within_a_root() -> None:
    def root(a: Any) -> Any:
        def equation(x: Any) -> Any:
            return x - optimize.minimize_scalar(lambda y: (y - a * x) ** 2 + y**2).x - 1

        return optimize.brentq(equation, -10.0, 10.0)

    np.testing.assert_allclose(fd.grad(root)(1.0), 2.0, rtol=1e-6)  # x = 1 / (1 - a/2)


@pytest.mark.slow
def test_a_minimum_within_a_minimum() -> None:
    def outer(a: Any) -> Any:
        def objective(x: Any) -> Any:
            def inner(y: Any) -> Any:
                return np.sum((y - x) ** 2) + a * np.sum(y**2)

            return optimize.minimize(inner, [0.0]).fun + np.sum((x - 1) ** 2)

        return optimize.minimize(objective, [0.0]).x[0]

    np.testing.assert_allclose(outer(1.0), 2 / 3, rtol=1e-6)  # (1 + a) / (1 + 2a)
    np.testing.assert_allclose(fd.grad(outer)(1.0), -1 / 9, rtol=1e-6)


@pytest.mark.slow
def test_starts_bounds_and_brackets_are_batched() -> None:
    def bounded(top: Any) -> Any:
        found = optimize.minimize(
            lambda x: np.sum((x - 3.0) ** 2), np.stack([top, 0.0 * top]), bounds=[(0.0, top)] * 2
        )
        return found.x

    tops = np.array([1.0, 2.0])
    np.testing.assert_allclose(fd.vmap(bounded)(tops), tops[:, None] + np.zeros(2), rtol=1e-9)
    slopes = fd.vmap(fd.jacobian(bounded))(tops)
    np.testing.assert_allclose(slopes, np.ones((2, 2)), rtol=1e-9)
    roots = fd.vmap(lambda top: optimize.brentq(lambda x: x**2 - 0.5, 0.0, top))(tops)
    np.testing.assert_allclose(roots, np.sqrt(0.5), rtol=1e-9)


def test_what_is_active_is_found_anew_in_every_run() -> None:
    def projection(point: Any) -> Any:
        bounds = [(0.0, 1.0)] * 3
        return optimize.minimize(
            lambda x: np.sum((x - point) ** 2), 0.5 + np.zeros(3), bounds=bounds
        ).x

    points = np.array([[0.5, 2.0, -1.0], [2.0, 0.3, 0.4], [-1.0, -1.0, 0.2]])
    inside = (points > 0) & (points < 1)
    jitted = fd.jit(fd.jacobian(projection))
    for point, expected in zip(points, inside, strict=True):
        np.testing.assert_allclose(jitted(point), np.diag(expected), atol=1e-9)
    batched = fd.vmap(fd.jacobian(projection))(points)
    np.testing.assert_allclose(batched[1], np.diag(inside[1]), atol=1e-9)


def test_a_batch_of_results() -> None:
    found = fd.vmap(lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), [0.0]))(
        np.array([1.0, 2.0])
    )
    np.testing.assert_allclose(found.x, [[1.0], [2.0]], rtol=1e-9)
    np.testing.assert_array_equal(found.success, [True, True])
    assert "not known" in found.message


def test_branches_of_an_objective_have_no_values() -> None:
    def branching(x: Any, a: Any) -> Any:
        return np.sum((x - a) ** 2) if x[0] > 0 else np.sum(x)

    with pytest.raises(ConcreteValueError, match=r"branching .*np\.where"):
        fd.grad(lambda a: optimize.minimize(branching, [0.5], args=(a,)).x[0])(1.0)


def test_wrong_calls_have_scipys_errors() -> None:
    def f(**keywords: Any) -> Any:
        def found(a: Any) -> Any:
            return optimize.minimize(lambda x: np.sum((x - a) ** 2), [0.0, 1.0], **keywords).x[0]

        return fd.grad(found)

    with pytest.raises(ValueError, match="Unknown solver none"):
        f(method="none")(1.0)
    with pytest.raises(ValueError, match="number of bounds is not compatible"):
        f(bounds=[(0, 1)])(1.0)
    with pytest.raises(ValueError, match="Unknown constraint type 'less'"):
        f(constraints={"type": "less", "fun": np.sum})(1.0)
    with pytest.raises(InputError, match="Give a dict with 'type' and 'fun'"):
        f(constraints=[np.sum])(1.0)
    with pytest.raises(ValueError, match="must return a scalar"):
        fd.grad(lambda a: optimize.minimize(lambda x: x - a, [0.0, 1.0]).x[0])(1.0)


# ---- borrowed ------------------------------------------------------------------------------------


def test_rosenbrocks_function_and_finite_differences_are_scipys_code() -> None:
    x = np.array([1.1, 0.9, 1.3])
    np.testing.assert_allclose(fd.grad(optimize.rosen)(x), scipys.rosen_der(x), rtol=1e-12)
    np.testing.assert_allclose(fd.hessian(optimize.rosen)(x), scipys.rosen_hess(x), rtol=1e-12)
    slopes = fd.jacobian(optimize.rosen_der)(x)
    np.testing.assert_allclose(slopes, scipys.rosen_hess(x), rtol=1e-12)
    quotient = fd.grad(lambda a: np.sum(optimize.approx_fprime(x, lambda y: a * np.sum(y**2))))
    np.testing.assert_allclose(quotient(2.0), np.sum(2 * x), rtol=1e-6)
