"""Linear problems: `nnls`, `lsq_linear` and `linprog`, by the constraints that are active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.types import FLOAT, INT
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers
from funcdiff.scipy.optimize.closed import Closed, close
from funcdiff.scipy.optimize.constraints import bound_arrays
from funcdiff.scipy.optimize.minimum import Constraint, Problem, minimum_at
from funcdiff.scipy.optimize.opaque_solvers import Report, call_solver, scipys, takes_positions


def _matrix(a: Any, name: str) -> Any:
    """Return a matrix, dense if it was sparse."""
    a = a.toarray() if hasattr(a, "toarray") else a
    if hasattr(a, "matvec"):
        raise InputError(
            f"{name} of traced arrays got a LinearOperator, at {user_location()}. Give the matrix."
        )
    return array(a).astype(FLOAT)


def _residual_problem(name: str, a: Any, b: Any, lower: Any, upper: Any) -> Problem:
    """Return the problem to minimize ½|Ax - b|² within bounds."""
    cost = close(lambda x: 0.5 * np.sum((a @ x - b) ** 2), (a.shape[1],))
    return Problem(name, cost, lower, upper)


@covers("scipy.optimize")
@takes_positions
def nnls(A: Any, b: Any, **settings: Any) -> Any:
    """Minimize the norm of Ax - b over x ≥ 0, as SciPy does, and differentiate x and the norm.

    With F the elements that are not zero, ``x_F = (A_FᵀA_F)⁻¹A_Fᵀb``; the others have derivative
    zero.

    Warns
    -----
    SolutionWarning
        If an element is zero, and its multiplier nearly so: x has a kink there.

    References
    ----------
    C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", SIAM 1995, chapter 23.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import nnls
    >>> print(fd.jacobian(lambda b: nnls(np.eye(2), b)[0])(np.array([2.0, -1.0])))
    [[1. 0.]
     [0. 0.]]
    """
    a, b = _matrix(A, "nnls"), array(b).astype(FLOAT)
    size = a.shape[1]
    (x,) = call_solver(_nnls, [], [a, b], settings, [((size,), FLOAT)])
    problem = _residual_problem("nnls", a, b, np.zeros(size), np.full(size, np.inf))
    found = minimum_at(problem, x, np.zeros(size)).x
    return found, np.linalg.norm(a @ found - b)


def _nnls(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any]:
    return (scipys("nnls")(*arrays, **settings)[0],)


_BOUNDED: Final = Report("success status nit")


@covers(
    "scipy.optimize",
    note="optimality and active_mask have no derivative; unbounded_sol is left out",
)
@takes_positions
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **settings: Any) -> Any:
    """Minimize ½|Ax - b|² within bounds, as SciPy does, and differentiate the solution.

    Elements that stay at a bound move with it; the others solve the normal equations.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import lsq_linear
    >>> x = lambda top: lsq_linear(np.eye(2), np.array([3.0, 1.0]), (0.0, top)).x
    >>> print(fd.jacobian(x)(2.0))
    [1. 0.]
    """
    a, b = _matrix(A, "lsq_linear"), array(b).astype(FLOAT)
    shape = (a.shape[1],)
    sides = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    lower, upper = (np.broadcast_to(array(s).astype(FLOAT), shape) for s in sides)
    x, optimality, mask, numbers = call_solver(
        _lsq_linear, [], [a, b, lower, upper], settings,
        [(shape, FLOAT), ((), FLOAT), (shape, INT), *_BOUNDED.shapes],
    )  # fmt: skip
    problem = _residual_problem("lsq_linear", a, b, lower, upper)
    found = minimum_at(problem, x, np.zeros(shape)).x
    return scipys("OptimizeResult")(
        x=found, fun=a @ found - b, cost=problem.objective(found), optimality=optimality,
        active_mask=mask, **_BOUNDED.fields(numbers),
    )  # fmt: skip


def _lsq_linear(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any, Any, Any]:
    a, b, lower, upper = arrays
    found = scipys("lsq_linear")(a, b, (lower, upper), **settings)
    return found.x, found.optimality, found.active_mask, _BOUNDED.numbers(found)


_PROGRAM: Final = Report("success status nit")


@covers(
    "scipy.optimize",
    note="integrality is refused; a solution that is not the only one has no derivative",
)
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: Mapping[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Minimize c·x under linear constraints, as SciPy does, and differentiate the solution.

    At a vertex the active constraints are as many equations as there are unknowns; x is their
    solution, and the marginals are multipliers λ with ``c = Aᵀλ``, so that the optimum moves by
    ``dc·x + λ·(db - dA x)``.  Where x is not the only solution, there is no derivative.

    Raises
    ------
    numpy.linalg.LinAlgError
        By the derivative, if the active constraints do not determine x.

    References
    ----------
    D. Bertsimas, J. N. Tsitsiklis, "Introduction to Linear Optimization", Athena 1997, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import linprog
    >>> cost = lambda b: linprog([-1.0, -2.0], A_ub=[[1.0, 1.0], [0.0, 1.0]], b_ub=b).fun
    >>> print(fd.grad(cost)(np.array([4.0, 3.0])))
    [-1. -1.]
    """
    if integrality is not None and np.any(integrality):
        raise InputError(
            f"linprog of traced arrays got integrality, at {user_location()}: whole numbers have "
            "no derivative. Fix them by bounds at their best values, and solve for the others."
        )
    c = array(c).astype(FLOAT)
    size = c.size
    lower, upper = bound_arrays(_repeat_bounds((0, None) if bounds is None else bounds, size), size)
    parts = [
        (np.zeros((0, size)), np.zeros(0))
        if a is None
        else (_matrix(a, "linprog"), np.ravel(array(b).astype(FLOAT)))
        for a, b in ((A_ub, b_ub), (A_eq, b_eq))
    ]
    (above, top), (level, right) = parts
    settings = {"method": method, "callback": callback, "options": options}
    x, numbers = call_solver(
        _linprog, [], [c, above, top, level, right, lower, upper], settings,
        [((size,), FLOAT), *_PROGRAM.shapes],
    )  # fmt: skip
    constraints = [
        Constraint(close(lambda x, a=a: a @ x, (size,)), low, b)
        for a, low, b in ((above, np.full(top.shape, -np.inf), top), (level, right, right))
    ]
    problem = Problem("linprog", close(lambda x: c @ x, (size,)), lower, upper, tuple(constraints))
    found, multipliers, sides = minimum_at(problem, x, np.zeros(size))
    of_top, of_right = multipliers[: top.size], multipliers[top.size :]
    reduced = c - above.T @ of_top - level.T @ of_right
    at = scipys("OptimizeResult")
    slack = top - above @ found
    held = [np.where((sides != 0) & (s * reduced > 0), reduced, 0.0) for s in (1, -1)]
    return at(
        x=found, fun=c @ found, slack=slack, con=right - level @ found,
        lower=at(residual=found - lower, marginals=held[0]),
        upper=at(residual=upper - found, marginals=held[1]),
        ineqlin=at(residual=slack, marginals=of_top),
        eqlin=at(residual=right - level @ found, marginals=of_right),
        **_PROGRAM.fields(numbers),
    )  # fmt: skip


def _repeat_bounds(bounds: Any, size: int) -> Any:
    """Return bounds with a pair for each unknown, where one was given for all."""
    if hasattr(bounds, "lb") or not len(bounds):
        return bounds
    if len(bounds) == 2 and not any(isinstance(b, list | tuple) or np.ndim(b) for b in bounds):
        return [tuple(bounds)] * size
    return [tuple(bounds[0])] * size if len(bounds) == 1 else bounds


def _linprog(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    c, above, top, level, right, lower, upper = arrays
    bounds = np.stack([lower, upper], axis=1)
    found = scipys("linprog")(c, above, top, level, right, bounds, **settings)
    x = np.full(c.shape, np.nan) if found.x is None else found.x
    return x, _PROGRAM.numbers(found)
