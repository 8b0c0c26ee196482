"""Nonlinear programs in models of Pyomo, and in cyipopt.

``python -m pytest tests/programs/in_pyomo.py`` with Pyomo, its library pynumero_ASL, and cyipopt,
which `pip install cyipopt-wheels` brings with Ipopt.
"""

from __future__ import annotations

from typing import Any

import cyipopt
import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.pynumero.interfaces.external_grey_box import ExternalGreyBoxBlock
from pyomo.contrib.pynumero.interfaces.pyomo_grey_box_nlp import PyomoNLPWithGreyBoxBlocks

import funcdiff as fd
from funcdiff.errors import InputError
from tests.programs.hock_schittkowski import PROBLEMS, Problem

LOCAL = (16,)
"""Problems of which Ipopt finds another local optimum."""


def model(program: Any, **options: Any) -> Any:
    """Return a model of one block."""
    found = pyo.ConcreteModel()
    found.box = ExternalGreyBoxBlock()
    found.box.set_external_model(program.pyomo(**options))
    return found


def solve(found: Any) -> Any:
    """Solve a model, and return its vector of inputs."""
    solver = pyo.SolverFactory("cyipopt")
    solver.config.options["tol"] = 1e-10
    solver.config.options["bound_relax_factor"] = 0.0
    done = solver.solve(found)
    assert done.solver.termination_condition == pyo.TerminationCondition.optimal
    return np.array([v.value for v in found.box.inputs.values()])


@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if p.number not in LOCAL], ids=lambda p: str(p.number)
)
def test_pyomo_finds_the_known_optimum(problem: Problem) -> None:
    program = problem.nlp()
    found = model(program)
    # Pyomo wants a variable of its own in the model
    found.other = pyo.Constraint(expr=next(iter(found.box.inputs.values())) >= -1e4)
    solution = program.solution(solve(found))
    assert abs(solution.value - problem.optimum) <= 1e-6 * max(1.0, abs(problem.optimum))
    assert solution.success


@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if p.number not in LOCAL], ids=lambda p: str(p.number)
)
def test_cyipopt_finds_the_known_optimum(problem: Problem) -> None:
    program = problem.nlp()
    (low, high), (clow, chigh) = program.bounds, program.cbounds
    solver = cyipopt.Problem(
        len(low), len(clow), problem_obj=program.problem(), lb=low, ub=high, cl=clow, cu=chigh
    )
    for name, value in (("print_level", 0), ("tol", 1e-10), ("bound_relax_factor", 0.0)):
        solver.add_option(name, value)
    z, info = solver.solve(program.start)
    assert info["status"] in (0, 1)
    found = program.solution(z)
    assert abs(found.value - problem.optimum) <= 1e-6 * max(1.0, abs(problem.optimum))
    assert found.success


def test_a_block_is_part_of_a_model_with_an_objective_and_variables_of_its_own() -> None:
    def c(x: Any) -> Any:
        return {"flow": x["u"][0] * x["u"][1] - x["v"], "heat": np.exp(x["v"]), "rest": x["u"]}

    program = fd.nlp(
        lambda x: np.sum(x["u"]), c, {"u": np.array([1.0, 2.0]), "v": 0.5}, (0.0, 3.0),
        ({"flow": 0.0, "heat": None, "rest": 0.2}, {"flow": 0.0, "heat": 5.0, "rest": None}),
    )  # fmt: skip
    found = model(program, objective=False)
    box = found.box
    assert list(box.inputs) == ["x['u'][0]", "x['u'][1]", "x['v']"]
    assert list(box.outputs) == ["c['flow']", "c['heat']", "c['rest'][0]", "c['rest'][1]"]
    assert box.inputs["x['u'][1]"].bounds == (0.0, 3.0)
    assert box.outputs["c['heat']"].bounds == (None, 5.0)
    found.y = pyo.Var(initialize=1.0)
    found.link = pyo.Constraint(expr=found.y == box.outputs["c['heat']"] - 2)
    found.cost = pyo.Objective(
        expr=(found.y - 1) ** 2 + box.inputs["x['u'][0]"] ** 2 + box.inputs["x['u'][1]"]
    )
    inside = PyomoNLPWithGreyBoxBlocks(found)
    assert inside.nnz_hessian_lag() > 0
    z = solve(found)
    u = z[:2]

    def whole(x: Any) -> Any:
        return (np.exp(x[2]) - 3) ** 2 + x[0] ** 2 + x[1]

    best = fd.nlp(
        whole, lambda x: np.stack([x[0] * x[1] - x[2], np.exp(x[2]), x[0], x[1]]),
        program.start, (0.0, 3.0),
        (np.array([0, -np.inf, 0.2, 0.2]), np.array([0, 5.0, np.inf, np.inf])),
    ).solve()  # fmt: skip
    np.testing.assert_allclose(z, best.x, atol=1e-6)
    assert u[0] * u[1] == pytest.approx(z[2])


def test_a_matrix_that_is_singular_makes_ipopt_take_a_shorter_step() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.inv(np.diag(x))) + np.sum(x**2)

    program = fd.nlp(f, lambda x: np.sum(x), np.array([3.0, 0.5]), cbounds=(None, 9.0))
    found = model(program)
    found.other = pyo.Constraint(expr=next(iter(found.box.inputs.values())) >= -1e4)
    np.testing.assert_allclose(solve(found), 0.5 ** (1 / 3), atol=1e-6)


def test_cyipopt_raises_where_a_branch_has_further_places_and_knows_of_them_then() -> None:
    def c(x: Any) -> Any:
        return np.stack([x[0] * x[1] if x[2] > 0.5 else x[0] ** 2 + 0 * x[2], np.sum(x)])

    n, bounds = 120, (np.array([2.0, -np.inf]), np.array([2.0, 1e3]))
    start = np.append([2.0, 1.0, -1.0], np.ones(n - 3))
    program = fd.nlp(lambda x: np.sum((x - 1) ** 2), c, start, (-9.0, 9.0), bounds)

    def run() -> Any:
        solver = cyipopt.Problem(
            n, 2, problem_obj=program.problem(), lb=program.bounds[0], ub=program.bounds[1],
            cl=bounds[0], cu=bounds[1],
        )  # fmt: skip
        solver.add_option("print_level", 0)
        return solver.solve(start)

    with pytest.raises(InputError, match="Hessian has entries here"):
        run()
    z, info = run()
    assert info["status"] == 0
    assert program.solution(z).success
    assert len(program.notes) == 1


@pytest.mark.parametrize("start", [np.zeros(2), np.array([1.0, 0.0])])
def test_a_start_that_is_singular_is_an_invalid_number_to_ipopt(start: Any) -> None:
    program = fd.nlp(
        lambda x: np.sum(np.linalg.inv(np.diag(x))), lambda x: x, start, cbounds=(None, 9.0)
    )
    n = len(start)
    solver = cyipopt.Problem(
        n, n, problem_obj=program.problem(), lb=[-9.0] * n, ub=[9.0] * n,
        cl=program.cbounds[0], cu=program.cbounds[1],
    )  # fmt: skip
    solver.add_option("print_level", 0)
    assert solver.solve(start)[1]["status"] == -13
