"""Problems with known optima, to six digits."""

from __future__ import annotations

import pytest

from tests.programs.hock_schittkowski import PROBLEMS, Problem

INTERIOR = (16, 61)
"""SLSQP finds another local optimum of the first, and gives up at the start of the second."""
LOCAL = (15,)
"""Problems of which interior points find another local optimum."""


def check(problem: Problem, method: str) -> None:
    """Solve a problem, and compare with the book."""
    found = problem.nlp().solve(method)
    assert abs(found.value - problem.optimum) <= 1e-6 * max(1.0, abs(problem.optimum))
    assert found.violation <= 1e-6
    assert found.success


@pytest.mark.thinned(16)
@pytest.mark.filterwarnings("ignore:Singular Jacobian matrix")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: str(problem.number))
def test_the_known_optimum_is_found(problem: Problem) -> None:
    check(problem, "trust-constr" if problem.number in INTERIOR else "SLSQP")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Singular Jacobian matrix")
@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if p.number not in LOCAL], ids=lambda p: str(p.number)
)
def test_interior_points_find_it_too(problem: Problem) -> None:
    check(problem, "trust-constr")
