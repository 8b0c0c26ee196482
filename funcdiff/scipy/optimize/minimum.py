"""The minimum as a function of the problem: the implicit function of the first-order conditions.

With f(x), bounds and constraints c(x), the unknowns are x and the multipliers λ of the active
constraints.  They solve ``∇f - λ·∇c = 0`` but in the unknowns that stay at a bound, and ``c = its
limit``; derivatives of the solution are those of the implicit function of these equations.

Reference: A. V. Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear
Programming", Academic Press 1983, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff.api.derivatives.gradient import grad
from funcdiff.api.rules.implicit import solution_of
from funcdiff.core.types import FLOAT, INT
from funcdiff.scipy.optimize.active_set import active_set
from funcdiff.scipy.optimize.programs import Closed
from funcdiff.scipy.optimize.solvers import call_solver


class Constraint(NamedTuple):
    """Constraints ``lower <= c(x) <= upper``, of one function with a vector of values."""

    function: Closed
    lower: Any
    upper: Any


class Problem(NamedTuple):
    """What is minimized: a function of a vector, within bounds, under constraints.

    Attributes
    ----------
    name
        What messages call it.
    objective
        Of shape ().
    lower, upper
        Vectors, infinite where there is no bound.
    constraints
        Functions with their limits.
    """

    name: str
    objective: Closed
    lower: Any
    upper: Any
    constraints: tuple[Constraint, ...] = ()


class Minimum(NamedTuple):
    """A minimum, and what holds it.

    Attributes
    ----------
    x
        The minimum.
    multipliers
        Of the constraints, positive at lower limits.
    sides
        For each unknown -1 at its lower bound, 1 at its upper one, else 0.
    """

    x: Any
    multipliers: Any
    sides: Any


def without_bounds(name: str, objective: Closed) -> Problem:
    """Return the problem without bounds and constraints."""
    (size,) = objective.program.input_types[0].shape
    return Problem(name, objective, np.full(size, -np.inf), np.full(size, np.inf))


def minimum_at(problem: Problem, x: Any, start: Any) -> Minimum:
    """Return a minimum that is known already, with its derivatives.

    Parameters
    ----------
    problem
        Of what.
    x
        The minimum, a constant.
    start
        Another point, which says how large gradients are.
    """
    pairs = [(c.lower, c.upper) for c in problem.constraints]
    limits = [np.concatenate([np.zeros(0), *(pair[k] for pair in pairs)]) for k in (0, 1)]
    functions = [problem.objective, *(c.function for c in problem.constraints)]
    count = limits[0].size
    at_bounds, at_limits, multipliers = call_solver(
        active_set,
        functions,
        [x, start, problem.lower, problem.upper, *limits],
        {"name": problem.name},
        [(x.shape, INT), ((count,), INT), ((count,), FLOAT)],
    )
    bounds, targets = (
        np.where(side < 0, low, np.where(side > 0, high, 0.0))
        for side, low, high in (
            (at_bounds, problem.lower, problem.upper),
            (at_limits, *limits),
        )
    )

    def lagrangian(x: Any, multipliers: Any) -> Any:
        return problem.objective(x) - multipliers @ values(x) if count else problem.objective(x)

    def values(x: Any) -> Any:
        return np.concatenate([c.function(x) for c in problem.constraints])

    def conditions(unknowns: Sequence[Any]) -> list[Any]:
        x, *rest = unknowns
        multipliers = rest[0] if count else None
        balance = np.where(at_bounds != 0, x - bounds, grad(lagrangian)(x, multipliers))
        if multipliers is None:
            return [balance]
        return [balance, np.where(at_limits != 0, values(x) - targets, multipliers)]

    found = solution_of(problem.name, conditions, [x, multipliers] if count else [x])
    return Minimum(found[0], found[1] if count else multipliers, at_bounds)
