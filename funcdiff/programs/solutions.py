"""Solutions of nonlinear programs, with multipliers of active constraints and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Generic

import numpy as np

from funcdiff.api.signatures.variables import X
from funcdiff.core.late import scipy_function
from funcdiff.programs.functions import LARGE, Functions

_ROUNDING: Final = 1e-9
"""What may remain of normal equations that a sparse factorization solves, beside its operands."""
_NEARLY_FLAT: Final = 1e-3
"""What the first-order conditions may leave where the solver says that it has found a solution."""
_FLAT: Final = 1e-5
"""How much of the gradient of the Lagrangian may be left, beside the objective's."""
_WITHIN: Final = 1e-6
"""By how much bounds may be left, beside their size."""
_CLOSE: Final = 1e-6
"""How close to a bound, beside its size, something is active: solvers stop that far away."""


@dataclass(frozen=True, eq=False)
class Solution(Generic[X]):
    """What a solver found.

    The multipliers are those of the Lagrangian ``f + λ·c + μ·x``: positive at an upper bound,
    negative at a lower one, and 0 where none is active.

    Attributes
    ----------
    x
        Container like `x0`.
    value
        Of the objective.
    constraints
        Container like that of `c`, or None.
    multipliers, bound_multipliers
        Containers like `constraints` and like `x`.
    stationarity
        The largest absolute value in the gradient of the Lagrangian.
    violation
        By how much bounds are left at most, beside one and their size; 0.0 if none is. With
        ``scaling=True``, those of scaled constraints.
    success
        Whether bounds hold to six digits, and the first-order conditions do, or the solver says so:
        solvers give up too where rounding ends their progress at a solution.
    status, message
        What the solver says.
    iterations
        How many the solver took.
    raw
        The solver's own result.
    vector
        Array ``(n,)``: `x` as solvers see it.
    """

    x: X
    value: float
    constraints: Any
    multipliers: Any
    bound_multipliers: X
    stationarity: float
    violation: float
    success: bool
    status: int
    message: str
    iterations: int
    raw: Any = field(repr=False)
    vector: Any = field(repr=False)


def active_sides(values: Any, limits: tuple[Any, Any]) -> Any:
    """Return -1 for values at their lower bound, 1 at the upper, 2 at equal ones, 0 between."""
    low, high = limits
    with np.errstate(invalid="ignore"):
        at_low = values <= low + _CLOSE * (1 + np.abs(low))
        at_high = values >= high - _CLOSE * (1 + np.abs(high))
    return np.where(low == high, 2, at_high.astype(int) - at_low.astype(int))


def multipliers(program: Functions, z: Any) -> tuple[Any, Any, float, bool]:
    """Return those of constraints and of bounds, what is left of the gradient, and their signs.

    They are the least squares of the gradient of the Lagrangian in the variables that are free;
    signs are right if no active bound could be left for a smaller objective.
    """
    here = program.at(z)
    sides = active_sides(z, program.bounds), active_sides(here.constraints, program.cbounds)
    free, rows = sides[0] == 0, sides[1] != 0
    J = here.jacobian.sparse() if program.n >= LARGE else here.jacobian.dense()
    found = np.zeros(len(rows))
    if np.all(np.isfinite(here.gradient)) and np.all(np.isfinite(here.jacobian.data)):
        found[rows] = _least_squares(J[rows][:, free].T, -here.gradient[free])
    slope = here.gradient + J.T @ found
    of_bounds = np.where(free, 0.0, -slope)
    least = -_FLAT * max(1.0, float(np.max(np.abs(here.gradient))))
    right = all(
        np.all((np.abs(side) != 1) | (side * weights >= least))
        for side, weights in zip(sides, (of_bounds, found), strict=True)
    )
    return found, of_bounds, float(np.max(np.abs(slope[free]), initial=0.0)), right


def _least_squares(A: Any, b: Any) -> Any:
    """Return the solution of least squares; of a sparse matrix, by that of the augmented system."""
    if not isinstance(A, np.ndarray):
        n, k = A.shape
        blocks = scipy_function("block_array", "scipy.sparse")
        eye = scipy_function("eye_array", "scipy.sparse")(n)
        K = blocks([[eye, A], [A.T, None]], format="csc")
        try:
            factors = scipy_function("splu", "scipy.sparse.linalg")(K)
            found = factors.solve(np.concatenate([b, np.zeros(k)]))[n:]
            size = np.linalg.norm(b) * np.max(np.abs(A.data), initial=0)
            if np.linalg.norm(A.T @ (b - A @ found)) <= _ROUNDING * size:
                return found
        except RuntimeError:  # it is singular: of dependent columns, any solution will do
            pass
        A = A.toarray()
    return np.linalg.lstsq(A, b, rcond=None)[0]


def violation(values: Any, limits: tuple[Any, Any]) -> float:
    """Return by how much bounds are left at most, beside one and their own size."""
    low, high = limits
    with np.errstate(invalid="ignore"):  # infinite bounds beside their size
        gaps = np.stack([(low - values) / (1 + np.abs(low)), (values - high) / (1 + np.abs(high))])
    return float(np.max(gaps, initial=0.0, where=np.isfinite(gaps) | np.isnan(values)))


def finish(program: Functions, z: Any, raw: Any, solved: Functions) -> Solution[Any]:
    """Return what belongs to a vector that a solver found; bounds hold in the units of `solved`."""
    here = program.at(z)
    weights, of_bounds, rest, right = multipliers(program, z)
    outside = violation(z, program.bounds), violation(solved.at(z).constraints, solved.cbounds)
    of_x, of_c = program.containers
    steep = max(1.0, float(np.max(np.abs(here.gradient))))
    optimal = right and rest <= _FLAT * steep
    near = rest <= _NEARLY_FLAT * steep  # beyond it the word of a solver counts for nothing
    return Solution(
        of_x(z), float(here.value), of_c(here.constraints), of_c(weights), of_x(of_bounds),
        stationarity=rest, violation=max(outside),
        success=bool(np.isfinite(here.value)) and max(outside) <= _WITHIN
        and (optimal or (near and bool(getattr(raw, "success", False)))),
        status=int(getattr(raw, "status", 0)), message=str(getattr(raw, "message", "")),
        iterations=int(getattr(raw, "nit", 0)), raw=raw, vector=z,
    )  # fmt: skip
