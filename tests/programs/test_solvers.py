"""Solutions by SciPy's solvers, and the protocol of Ipopt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from scipy.sparse import issparse

import funcdiff as fd
from funcdiff.errors import InputError

ENDS = {"equal": 0.0, "above": 0.0, "below": 2.0}


def hs71() -> Any:
    """Return problem 71 of Hock and Schittkowski on a container, with a bound that is not met."""
    return fd.nlp(
        lambda x: x["a"][0] * x["b"] * np.sum(x["a"]) + x["a"][2],
        lambda x: {
            "equal": np.sum(x["a"] ** 2) + x["b"] ** 2 - 40,
            "above": np.prod(x["a"]) * x["b"] - 25,
            "below": x["a"][2] - x["b"],
        },
        {"a": np.array([1.0, 5.0, 5.0]), "b": 1.0}, bounds=(1.0, 5.0),
        cbounds=({"equal": 0, "above": 0, "below": None}, {"equal": 0, "above": None, "below": 9}),
    )  # fmt: skip


@pytest.mark.parametrize("method", [None, "SLSQP", "trust-constr"])
def test_solutions_are_containers_with_multipliers(method: str | None) -> None:
    p = hs71()
    found = p.solve(method)
    assert found.success
    np.testing.assert_allclose(found.value, 17.01401729, rtol=1e-9)
    np.testing.assert_allclose(found.x["a"], [1, 4.7429996, 3.8211500], atol=1e-6)
    assert found.violation < 1e-7
    assert found.stationarity < 1e-6
    # positive at upper bounds, negative at lower ones, as Ipopt has them
    np.testing.assert_allclose(found.multipliers["above"], -0.55229366, atol=1e-5)
    np.testing.assert_allclose(found.multipliers["equal"], 0.16146857, atol=1e-5)
    assert found.multipliers["below"] == 0
    np.testing.assert_allclose(found.bound_multipliers["a"], [-1.08787121, 0, 0], atol=1e-4)
    assert found.constraints["below"] == found.x["a"][2] - found.x["b"]
    assert found.iterations > 2


def test_a_solver_without_derivatives_takes_constraints_too() -> None:
    found = hs71().solve("COBYQA")
    np.testing.assert_allclose(found.value, 17.01401729, rtol=1e-4)
    free = fd.nlp(lambda x: np.sum((x - 1) ** 2), None, np.zeros(2)).solve("COBYQA")
    np.testing.assert_allclose(free.x, 1.0, atol=1e-4)


def test_arguments_are_those_of_minimize() -> None:
    p = hs71()
    arguments = p.scipy("trust-constr")
    linear, rest = arguments["constraints"]
    assert isinstance(linear, LinearConstraint)
    assert isinstance(rest, NonlinearConstraint)
    assert linear.A.tolist() == [[0, 0, 1, -1]]
    weights, z = np.array([2.0, 3.0]), p.start + 0.1
    both = np.zeros(3)
    both[~p.linear] = weights
    L = p.functions.hessian(z, 1.0, both).dense()
    np.testing.assert_allclose(arguments["hess"](z) + rest.hess(z, weights), L)
    assert [c["type"] for c in p.scipy("SLSQP")["constraints"]] == ["eq", "ineq", "ineq"]
    np.testing.assert_allclose(minimize(**p.scipy("SLSQP")).fun, 17.01401729, rtol=1e-6)


def test_an_offset_of_a_linear_constraint_moves_its_bounds() -> None:
    p = fd.nlp(lambda x: np.sum(x**2), lambda x: np.sum(x) + 3.0, np.ones(2), cbounds=(5.0, None))
    assert p.linear.tolist() == [True]
    for method in ("trust-constr", "SLSQP"):
        np.testing.assert_allclose(p.solve(method).x, [1.0, 1.0], atol=1e-7)


def test_matrices_of_many_variables_are_sparse() -> None:
    def f(x: Any) -> Any:
        return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(x)

    def c(x: Any) -> Any:
        return {"products": x[2:] * x[:-2], "sums": x[1:] + x[:-1]}

    p = fd.nlp(f, c, np.full(120, 0.8), bounds=(0.1, 2.0), cbounds=(0.5, None))
    arguments = p.scipy()
    linear, rest = arguments["constraints"]
    assert issparse(linear.A)
    assert linear.A.shape == (119, 120)
    assert rest.jac(p.start).nnz == 2 * 118
    assert issparse(arguments["hess"](p.start))
    found = p.solve()
    assert found.success
    assert found.iterations > 5
    exact = p.solve("SLSQP")
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-7)


def test_multipliers_of_many_variables_are_those_of_few() -> None:
    def program(n: int, copies: int) -> Any:
        return fd.nlp(
            lambda x: np.sum((x[:6] - 1) ** 2) + np.sum(x[6:] ** 2),
            lambda x: np.stack([np.sum(x[:3] ** 2), *[np.sum(x[2:6])] * copies]),
            np.zeros(n), cbounds=(None, 2.0),
        )  # fmt: skip

    few, many = program(6, 1), program(200, 1)
    z = few.solve().vector
    expected = few.solution(z)
    wide = np.append(z, np.zeros(194))
    found = many.solution(wide)
    assert expected.success
    assert found.success
    np.testing.assert_allclose(found.multipliers, expected.multipliers, atol=1e-9)
    dependent = program(200, 2).solution(wide)
    assert dependent.success
    np.testing.assert_allclose(np.sum(dependent.multipliers), np.sum(found.multipliers), atol=1e-9)


def test_a_solver_that_gives_up_says_so() -> None:
    p = fd.nlp(
        lambda x: np.sum(x**2), lambda x: np.stack([x[0], -x[0]]), np.ones(2), cbounds=(1, None)
    )
    found = p.solve(maxiter=20)
    assert not found.success
    assert found.message
    assert found.violation > 0.5
    assert not fd.nlp(lambda x: np.log(x), None, 1.0).solution(np.array([-1.0])).success


def test_variables_can_be_fixed() -> None:
    low, high = np.array([1.0, 0, 0]), np.array([1.0, 5, 5])
    p = fd.nlp(
        lambda x: np.sum((x - 2) ** 2), lambda x: np.sum(x**2), np.ones(3), (low, high), (None, 4.0)
    )
    for method, digits in (("SLSQP", 7), ("trust-constr", 7), ("COBYQA", 3)):
        np.testing.assert_allclose(p.solve(method).x, [1, *np.sqrt([1.5, 1.5])], 10.0**-digits)


def test_iterations_can_be_watched() -> None:
    for method in ("SLSQP", "trust-constr", "COBYQA"):
        seen: list[Any] = []
        hs71().solve(method, callback=seen.append)
        assert len(seen) > 2
        assert seen[-1]["a"].shape == (3,)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match=r"'IPOPT' is not known, at .*known are 'SLSQP'"):
        hs71().solve("IPOPT")
    with pytest.raises(InputError, match=r"Write 'SLSQP'"):
        hs71().solve("slsqp")
    with pytest.raises(InputError, match="Write 'trust-constr'"):
        hs71().scipy("trust_constr")


# ---- the protocol of Ipopt -----------------------------------------------------------------------


def test_callbacks_return_entries_of_derivatives_at_fixed_places() -> None:
    p = hs71()
    q, z = p.problem(), p.start + 0.3
    here, weights = p.functions.at(z), np.array([0.5, -1.0, 2.0])
    assert q.objective(z) == here.value
    assert np.array_equal(q.gradient(z), here.gradient)
    assert np.array_equal(q.constraints(z), here.constraints)
    J, H = np.zeros((3, 4)), np.zeros((4, 4))
    J[q.jacobianstructure()] = q.jacobian(z)
    np.testing.assert_allclose(J, here.jacobian.dense())
    rows, columns = q.hessianstructure()
    assert np.all(rows >= columns)
    H[rows, columns] = q.hessian(z, weights, 0.25)
    full = fd.hessian(p.functions.lagrangian)(z, 0.25, weights)
    np.testing.assert_allclose(H, np.tril(full))
    q.gradient(z)[:] = 0  # what a caller writes into is its own
    assert np.array_equal(q.gradient(z), here.gradient)


def test_branches_have_entries_at_the_places_of_the_start_only() -> None:
    def c(x: Any) -> Any:
        return np.stack([x[0] * x[1] if x[2] > 0 else x[0] ** 2, x[2]])

    q = fd.nlp(np.sum, c, np.ones(3), cbounds=(0, 1)).problem()
    rows, columns = q.jacobianstructure()
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 2)]
    assert q.jacobian(np.array([3.0, 1.0, -1.0])).tolist() == [6, 0, 1]
    other = fd.nlp(np.sum, c, np.array([3.0, 1.0, -1.0]), cbounds=(0, 1)).problem()
    other.jacobianstructure()
    with pytest.raises(InputError, match=r"Jacobian has entries here.*Write np.where"):
        other.jacobian(np.ones(3))


def test_a_solution_of_another_solver_has_its_multipliers() -> None:
    p = hs71()
    z = p.solve().vector
    found = p.solution(z, SimpleNamespace(success=True, status=3, message="acceptable"))
    assert (found.success, found.status, found.message) == (True, 3, "acceptable")
    np.testing.assert_allclose(found.multipliers["above"], -0.55229366, atol=1e-5)
    outside = p.solution(p.start, SimpleNamespace(success=True))
    assert outside.violation > 0.1
    assert not outside.success


def test_where_f_has_no_minimum_there_is_no_success() -> None:
    program = fd.nlp(lambda x: np.sum(np.log(x)), None, np.array([-1.0]))
    assert not program.solve().success


def test_arguments_that_are_no_tuple_are_refused() -> None:
    with pytest.raises(InputError, match="with the comma"):
        fd.nlp(lambda x, a: x * a, None, 1.0, args=2.0)  # type: ignore[arg-type]
