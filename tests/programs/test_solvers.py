"""Solutions by SciPy's solvers, and the protocol of Ipopt."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from scipy.sparse import issparse

import funcdiff as fd
from funcdiff.errors import InputError, MissingDependencyError

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_variables_can_be_fixed() -> None:
    low, high = np.array([1.0, 0, 0]), np.array([1.0, 5, 5])
    p = fd.nlp(
        lambda x: np.sum((x - 2) ** 2), lambda x: np.sum(x**2), np.ones(3), (low, high), (None, 4.0)
    )
    for method, digits in (("SLSQP", 7), ("trust-constr", 7), ("COBYQA", 3)):
        np.testing.assert_allclose(p.solve(method).x, [1, *np.sqrt([1.5, 1.5])], 10.0**-digits)


@pytest.mark.slow
def test_iterations_can_be_watched() -> None:
    for method in ("SLSQP", "trust-constr", "COBYQA"):
        seen: list[Any] = []
        hs71().solve(method, callback=seen.append)
        assert len(seen) > 2
        assert seen[-1]["a"].shape == (3,)


@pytest.mark.slow
def test_progress_is_written_of_the_function_that_is_not_scaled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hs71().solve()
    assert not capsys.readouterr().err
    for method in ("SLSQP", "trust-constr", "COBYQA"):
        found = hs71().solve(method, progress=True, scaling=True)
        first, *_, last = capsys.readouterr().err.splitlines()
        assert first.startswith("nlp: iteration 1, f = ")
        words = last.split(", ")
        assert abs(float(words[1].removeprefix("f = ")) - found.value) < 1e-3
        assert float(words[2].removeprefix("constraints left by ")) < 1e-3


def steep(cost: float, unit: float) -> Any:
    """Return a valley above two constraints, in other units."""
    return fd.nlp(
        lambda x: cost * ((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2),
        lambda x: unit * np.stack([x[0] ** 2 + x[1] ** 2 - 1, x[0] * x[1]]),
        np.array([-1.2, 1.0]), cbounds=(np.array([0, -np.inf]), np.array([0, 0.4 * unit])),
    )  # fmt: skip


def test_what_is_left_of_scaled_constraints_is_judged_after_scaling() -> None:
    found = steep(1e12, 1e10).solve("SLSQP", scaling=True)
    assert found.success
    np.testing.assert_allclose(found.x, steep(1.0, 1.0).solve().x, rtol=1e-8)


@pytest.mark.slow
def test_scaling_makes_solvers_blind_to_units() -> None:
    expected = steep(1.0, 1.0).solve()
    for cost, unit in ((1.0, 1.0), (1e8, 1e8), (1e12, 1e10), (1e16, 1e12)):
        for method, most in (("SLSQP", expected.iterations), ("trust-constr", 60)):
            found = steep(cost, unit).solve(method, scaling=True)
            assert found.success
            np.testing.assert_allclose(found.x, expected.x, rtol=1e-8)
            weights = found.multipliers * unit / cost
            np.testing.assert_allclose(weights, expected.multipliers, rtol=1e-6)
            assert found.iterations <= most
    assert not steep(1e12, 1e10).solve().success  # SLSQP gives up


def test_scaled_functions_have_slopes_of_at_most_a_hundred_at_the_start() -> None:
    scaled = steep(1e6, 1e3).functions.with_factors()
    here, z = scaled.at(scaled.start), np.array([0.3, -0.2])
    of, each = scaled.factors or (0.0, 0.0)
    assert np.isclose(np.max(np.abs(here.gradient)), 100)
    assert np.isclose(np.max(np.abs(here.jacobian.dense()), axis=1), 100).all()
    H = fd.hessian(scaled.lagrangian)(z, of * 0.5, each * np.array([2.0, 3.0]))
    np.testing.assert_allclose(scaled.hessian(z, 0.5, np.array([2.0, 3.0])).dense(), H)


def test_an_unknown_method_is_refused() -> None:
    for method in ("IPOPT", "slsqp", "trust_constr"):
        for call in (hs71().solve, hs71().scipy):
            known = "one of 'SLSQP', 'trust-constr', 'COBYQA'; Ipopt takes what `problem"
            with pytest.raises(InputError, match=f"{method!r} is not known, at .*{known}"):
                call(method)


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


@pytest.mark.parametrize("n", [3, 120])
def test_branches_have_the_places_of_all_that_were_met_and_small_matrices_all(n: int) -> None:
    def c(x: Any) -> Any:
        return np.stack([x[0] * x[1] if x[2] > 0 else x[0] ** 2, x[2]])

    other = np.append([3.0, 1.0, -1.0], np.ones(n - 3))
    program = fd.nlp(lambda x: np.sum(x), c, other, cbounds=(0, 1))
    q, points = program.problem(), (np.ones(n), other)
    if n == 120:
        assert len(q.jacobianstructure()[0]) == 2
        with pytest.raises(InputError, match=r"Jacobian has entries here.*problem again.*np.where"):
            q.jacobian(points[0])
        for _ in range(2):
            with pytest.raises(InputError, match="Hessian has entries here"):
                q.hessian(points[0], np.ones(2), 1.0)
        with pytest.raises(InputError, match="Hessian has entries here"):
            q.objective(points[0])  # cyipopt goes on after an error of the Hessian
        assert q.objective(points[0]) == n
        q = program.problem()
        assert len(q.jacobianstructure()[0]) == 3
        assert np.array_equal(q.hessianstructure(), [[0, 1], [0, 0]])
    for point in points:
        J, H = np.zeros((2, n)), np.zeros((n, n))
        J[q.jacobianstructure()] = q.jacobian(point)
        H[q.hessianstructure()] = q.hessian(point, np.ones(2), 1.0)
        np.testing.assert_allclose(J, fd.jacobian(c)(point))
        np.testing.assert_allclose(H, np.tril(fd.hessian(lambda x: np.sum(c(x)))(point)))
    said = "further places" if n == 120 else "all places"
    assert [said in note for note in program.notes] == [True, True]
    assert not hs71().notes


@pytest.fixture
def grey_box(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make Pyomo's class, without methods, importable; return the program's for hs71."""
    home, ours = "pyomo.contrib.pynumero.interfaces.external_grey_box", "funcdiff.interop.pyomo"
    monkeypatch.setitem(sys.modules, home, SimpleNamespace(ExternalGreyBoxModel=object))
    yield hs71()
    sys.modules.pop(ours, None)


def test_a_grey_box_has_outputs_and_their_derivatives(grey_box: Any) -> None:
    p, box = grey_box, grey_box.pyomo()
    assert box.input_names() == ["x['a'][0]", "x['a'][1]", "x['a'][2]", "x['b']"]
    assert box.output_names() == ["c['equal']", "c['above']", "c['below']"]
    z, weights = p.start + 0.3, np.array([0.5, -1.0, 2.0])
    box.set_input_values(z)
    box.set_output_constraint_multipliers(weights)
    here = p.functions.at(z)
    assert box.has_objective()
    assert not p.pyomo(objective=False).has_objective()
    assert box.evaluate_objective() == here.value
    assert box.evaluate_grad_objective().tolist() == [*here.gradient, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(box.evaluate_outputs(), here.constraints)
    np.testing.assert_allclose(box.evaluate_jacobian_outputs().toarray(), here.jacobian.dense())
    for factor, chosen, part in (
        (1.0, 0 * weights, box.evaluate_hessian_objective()),
        (0.0, weights, box.evaluate_hessian_outputs()),
    ):
        full = fd.hessian(p.functions.lagrangian)(z, factor, chosen)
        np.testing.assert_allclose(part.toarray(), np.tril(full))


def test_variables_of_a_grey_box_have_values_and_bounds(grey_box: Any) -> None:
    class Variable:
        bounds: Any = None
        value = 0.0

        def set_value(self, value: float, *, skip_validation: bool) -> None:
            self.value = value

    inputs, outputs = ({k: Variable() for k in range(n)} for n in (4, 3))
    grey_box.pyomo().finalize_block_construction(SimpleNamespace(inputs=inputs, outputs=outputs))
    assert [v.value for v in inputs.values()] == [1.0, 5.0, 5.0, 1.0]
    assert [v.bounds for v in outputs.values()] == [(0.0, 0.0), (0.0, None), (None, 9.0)]
    assert [v.value for v in outputs.values()] == [12.0, 0.0, 4.0]


def test_pyomo_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyomo", None)
    with pytest.raises(MissingDependencyError, match='python -m pip install "pyomo'):
        hs71().pyomo()


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


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_solvers_come_back_from_where_a_function_is_not_defined(method: str) -> None:
    def barrier(x: Any) -> Any:
        return np.sum(x - np.log(x))

    def factorized(x: Any) -> Any:
        return np.sum(x) - 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(np.diag(x)))))

    for f in (barrier, factorized):
        program = fd.nlp(f, lambda x: np.sum(x), np.array([30.0, 0.1]), cbounds=(None, 40.0))
        found = program.solve(method)
        assert found.success
        assert found.iterations < 300
        np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_an_error_of_the_solver_is_the_users_where_the_start_is_defined() -> None:
    with pytest.raises(ValueError, match="ethod"):
        hs71().solve("trust-constr", factorization_method="other")


def test_arguments_that_are_no_tuple_are_refused() -> None:
    with pytest.raises(InputError, match="with the comma"):
        fd.nlp(lambda x, a: x * a, None, 1.0, args=2.0)  # type: ignore[arg-type]
