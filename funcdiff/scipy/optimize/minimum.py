"""The minimum as a function of the problem: the implicit function of the first-order conditions.

With f(x), bounds and constraints c(x), the unknowns are x and the multipliers λ of the active
constraints.  They solve ``∇f - λ·∇c = 0`` but in the unknowns that stay at a bound, and ``c = its
limit``; derivatives of the solution are those of the implicit function of these equations.

Reference: A. V. Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear
Programming", Academic Press 1983, section 3.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.derivatives.gradient import grad
from funcdiff.api.rules.implicit import solution_of
from funcdiff.core.types import FLOAT, INT
from funcdiff.errors import user_location
from funcdiff.scipy.optimize.closed import Closed
from funcdiff.scipy.optimize.opaque_solvers import call_solver, scipys

# ---- Which bounds and constraints hold a minimum, by their multipliers ---------------------------
#
# At a minimum the gradient is a combination of the gradients of the constraints that are met with
# equality, with multipliers that are not negative for inequalities.  Those with a positive one are
# *active*: they stay equations where the problem moves a little.
#
# Reference: J. Nocedal, S. J. Wright, "Numerical Optimization", Springer 2006, section 12.3.


_WIDTHS: Final = (1e-12, 1e-8, 1e-6, 1e-4, 1e-2)
"""How far from a bound a solver may have stopped, relative to the bound: the least that explains
the gradient is taken."""

_STATIONARY: Final = 1e-3
_NEAR_ZERO: Final = 1e-6
_ABSOLUTE: Final = 1e-4
_ROUNDING: Final = 1e-14
"""Multipliers up to this, relative to the gradient, are errors of rounding, and hold nothing."""


class SolutionWarning(UserWarning):
    """The derivative of a solution may not be what the implicit function theorem says.

    Either a bound or constraint is met with equality but its multiplier is nearly zero, so that
    the solution has a kink there: the derivative is that of one side.  Or what the solver
    returned is no solution: ask for a smaller tolerance, or start nearer.
    """


class Rows(NamedTuple):
    """Inequalities ``lower <= values <= upper`` with one row of slopes each."""

    values: Any
    slopes: Any
    lower: Any
    upper: Any


def active_set(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    """Return the sides at which bounds and constraints are active, and multipliers of these.

    Parameters
    ----------
    functions
        The objective, then the constraints.
    arrays
        The solution, where the solver started, bounds, and limits of all constraints.
    settings
        ``name``: what messages call the problem.

    Returns
    -------
    sides
        For each unknown -1 at its lower bound, 1 at its upper one, else 0.
    rows
        The same of the constraints.
    multipliers
        Of the constraints, positive at lower limits.
    """
    objective, *constraints = functions
    x, start, lower, upper, low, high = arrays
    nothing = np.zeros(x.size), np.zeros(low.size), np.zeros(low.size)
    if not np.all(np.isfinite(x)):  # there is no solution, and SciPy says so
        return nothing
    gradient, first = objective.gradient(x), objective.gradient(start)
    if not np.all(np.isfinite(gradient)):
        _warn(settings["name"], "the gradient there is not finite")
        return nothing
    scale = max(_size(gradient), _size(first[np.isfinite(first)])) or 1.0
    empty = np.zeros((0, x.size))
    bounds = Rows(x, np.eye(x.size) if constraints else empty, lower, upper)
    values = np.concatenate([np.zeros(0), *(c(x) for c in constraints)])
    rows = Rows(values, np.concatenate([empty, *(c.jacobian(x) for c in constraints)]), low, high)
    best = np.inf
    for width in _WIDTHS:
        near = _near(bounds, width), _near(rows, width)
        found = _multipliers(gradient, bounds, rows, near)
        if found[2] < best:
            best, chosen, sides = found[2], found, near
        if best <= 1e-6 * scale:
            break
    if not best <= max(_STATIONARY * scale, _ABSOLUTE):
        _warn(settings["name"], f"the gradient there is not balanced: {best:.2g} is left of it")
    of_bounds, of_rows, _ = chosen
    kinks = [
        _kinks(r, multiplier / scale, near)
        for r, multiplier, near in ((bounds, of_bounds, sides[0]), (rows, of_rows, sides[1]))
    ]
    if any(kinks):
        _warn(settings["name"], f"{sum(kinks)} multipliers of bounds or constraints are near zero")
    active = [_active(bounds, of_bounds, scale), _active(rows, of_rows, scale)]
    return active[0], active[1], np.where(active[1] != 0, of_rows, 0.0)


def _warn(name: str, problem: str) -> None:
    warnings.warn(
        f"the solution of {name} has a doubtful derivative: {problem}, at {user_location()}. "
        "See funcdiff.scipy.optimize.SolutionWarning.",
        SolutionWarning,
        stacklevel=2,
    )


def _size(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _slacks(rows: Rows) -> tuple[Any, Any]:
    """Return how far values are from both limits, relative to these."""
    pairs = ((rows.lower, rows.values - rows.lower), (rows.upper, rows.upper - rows.values))
    return tuple(
        np.where(np.isfinite(b), np.abs(gap), np.inf) / np.maximum(1.0, np.abs(_finite(b)))
        for b, gap in pairs
    )


def _finite(b: Any) -> Any:
    return np.where(np.isfinite(b), b, 0.0)


def _near(rows: Rows, width: float) -> tuple[Any, Any]:
    below, above = _slacks(rows)
    return below <= width, above <= width


def _multipliers(
    gradient: Any, bounds: Rows, rows: Rows, near: tuple[tuple[Any, Any], tuple[Any, Any]]
) -> tuple[Any, Any, float]:
    """Return the multipliers nearest to balance, positive at lower limits, and what is left."""
    (lower, upper), (low, high) = near
    if not rows.values.size:  # each bound has an element of the gradient to itself
        found = np.where(lower & (gradient > 0) | upper & (gradient < 0), gradient, 0.0)
        return found, rows.values, _size(gradient - found)
    columns = np.concatenate(
        [bounds.slopes[lower], -bounds.slopes[upper], rows.slopes[low], -rows.slopes[high]]
    )
    found = scipys("nnls")(columns.T, gradient)[0] if columns.size else np.zeros(0)
    left = _size(gradient - columns.T @ found)
    masks, parts, start = (lower, upper, low, high), [], 0
    for mask in masks:
        part = np.zeros(mask.size)
        part[mask] = found[start : start + mask.sum()]
        start += int(mask.sum())
        parts.append(part)
    return parts[0] - parts[1], parts[2] - parts[3], left


def _active(rows: Rows, multipliers: Any, scale: float) -> Any:
    """Return the sides: equations always, others where the multiplier outweighs the slack."""
    below, above = _slacks(rows)
    size = np.abs(multipliers) / scale
    size = np.where(size > _ROUNDING, size, 0.0)
    sides = np.where((multipliers > 0) & (size > below), -1, 0)
    sides = np.where((multipliers < 0) & (size > above), 1, sides)
    return np.where(rows.lower == rows.upper, -1, sides)


def _kinks(rows: Rows, multipliers: Any, near: tuple[Any, Any]) -> int:
    """Return how many inequalities are met with equality, without being needed."""
    below, above = _slacks(rows)
    met = (near[0] | near[1]) & (np.minimum(below, above) <= _NEAR_ZERO)
    idle = np.abs(multipliers) <= _NEAR_ZERO
    return int(np.sum(met & idle & (rows.lower != rows.upper)))


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
        for side, low, high in ((at_bounds, problem.lower, problem.upper), (at_limits, *limits))
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
