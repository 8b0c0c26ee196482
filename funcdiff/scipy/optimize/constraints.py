"""Bounds and constraints as SciPy takes them: as vectors of limits and functions of vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.optimize.closed import Closed, close, curry, value_or_zeros, vector
from funcdiff.scipy.optimize.minimum import Constraint
from funcdiff.scipy.optimize.opaque_solvers import scipys


class Given(NamedTuple):
    """A constraint of the user's.

    Attributes
    ----------
    function
        Returns a vector.
    lower, upper
        Numbers or vectors.
    make
        ``make(curved, function, lower, upper)``: SciPy's constraint of concrete functions and
        limits, with second derivatives if the method takes them.
    """

    function: Callable[[Any], Any]
    lower: Any
    upper: Any
    make: Callable[[bool, Closed, Any, Any], Any]

    def close(self, shape: tuple[int, ...]) -> Constraint:
        """Return the constraint of unknowns of a shape, with its function as a program."""
        function = close(self.function, shape)
        return Constraint(function, *(_limits(b, function.shape) for b in (self.lower, self.upper)))


def _limits(limit: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(array(limit).astype(float), shape)


def bound_sides(bounds: Any) -> tuple[Any, Any]:
    """Return lower and upper bounds: of an object, or of pairs in which None is no bound."""
    if bounds is None:
        return -np.inf, np.inf
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    if isinstance(bounds, list | tuple):
        pairs = [tuple(pair) for pair in bounds]
        return tuple(
            array([none if pair[k] is None else pair[k] for pair in pairs])
            for k, none in enumerate((-np.inf, np.inf))
        )
    pairs = array(bounds)
    return pairs[:, 0], pairs[:, 1]


def bound_arrays(bounds: Any, size: int) -> tuple[Any, Any]:
    """Return vectors of lower and upper bounds."""
    sides = bound_sides(bounds)
    if bounds is not None and not hasattr(bounds, "lb") and np.shape(sides[0]) != (size,):
        raise ValueError("The number of bounds is not compatible with the length of `x0`.")
    lower, upper = (_limits(side, (size,)) for side in sides)
    return lower, upper


def feasible(lower: Any, upper: Any) -> Any:
    """Return a point within bounds, where SciPy starts to fit curves: one, if there are none."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    low, high = np.where(below, lower, 0.0), np.where(above, upper, 0.0)
    one_sided = np.where(below, low + 1, np.where(above, high - 1, 1.0))
    return np.where(below & above, (low + high) / 2, one_sided)


def list_constraints(constraints: Any) -> list[Given]:
    """Return what was given as `constraints`: one or several, objects or dicts."""
    if isinstance(constraints, Mapping) or hasattr(constraints, "lb"):
        constraints = [constraints]
    return [_constraint(c) for c in constraints]


def keep_feasible(limited: Any) -> Any:
    """Return whether bounds or a constraint must hold on the way, which is never traced."""
    found = value_or_zeros(array(getattr(limited, "keep_feasible", False)))
    return bool(found) if found.ndim == 0 else found


def _constraint(constraint: Any) -> Given:
    kept = keep_feasible(constraint)
    if isinstance(constraint, scipys("LinearConstraint")):
        a = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        make = partial(_linear, kept)
        return Given(lambda x: np.atleast_2d(a) @ x, constraint.lb, constraint.ub, make)
    if isinstance(constraint, scipys("NonlinearConstraint")):
        function, jac = constraint.fun, constraint.jac
        make = partial(_nonlinear, kept, jac if jac in ("3-point", "cs") else None)
        return Given(vector(function), constraint.lb, constraint.ub, make)
    if not isinstance(constraint, Mapping) or "type" not in constraint or "fun" not in constraint:
        raise InputError(
            f"a constraint is {constraint!r}, at {user_location()}. Give a dict with 'type' and "
            "'fun', a LinearConstraint or a NonlinearConstraint."
        )
    kind = str(constraint["type"]).lower()
    if kind not in ("eq", "ineq"):
        raise ValueError(f"Unknown constraint type '{constraint['type']}'.")
    args = constraint.get("args", ())
    above = 0.0 if kind == "eq" else np.inf
    function = vector(curry(constraint["fun"], args, name="constraints"))
    return Given(function, 0.0, above, partial(_mapping, kind))


def _linear(kept: Any, _curved: bool, function: Closed, lower: Any, upper: Any) -> Any:
    slope = function.jacobian(np.zeros(function.program.input_types[0].shape))
    return scipys("LinearConstraint")(slope, lower, upper, keep_feasible=kept)


def _nonlinear(kept: Any, jac: Any, curved: bool, function: Closed, lower: Any, upper: Any) -> Any:
    slope, second = jac or function.jacobian, {"hess": function.curvature} if curved else {}
    return scipys("NonlinearConstraint")(
        function, lower, upper, slope, keep_feasible=kept, **second
    )


def _mapping(
    kind: str, _curved: bool, function: Closed, _lower: Any, _upper: Any
) -> dict[str, Any]:
    return {"type": kind, "fun": function, "jac": function.jacobian}
