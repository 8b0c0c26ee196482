"""`minimize` and `minimize_scalar`: minima within bounds and under constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.transformed import name_of
from funcdiff.core.types import FLOAT
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.closed import Closed, close, curry, depends, scalar, value_or_zeros
from funcdiff.scipy.optimize.constraints import (
    bound_arrays,
    bound_sides,
    keep_feasible,
    list_constraints,
)
from funcdiff.scipy.optimize.minimum import Minimum, Problem, minimum_at, without_bounds
from funcdiff.scipy.optimize.opaque_solvers import Report, call_solver, scipys


class _Method(NamedTuple):
    """What a method takes and returns.

    Attributes
    ----------
    slope
        Under which name it returns the gradient; empty if it takes none.
    second
        Which second derivative it takes: ``"hess"``, ``"hessp"`` or none.
    bounds, constraints
        Whether it knows them.
    report
        The counts that it returns.
    """

    slope: str = "jac"
    second: str = ""
    bounds: bool = False
    constraints: bool = False
    report: str = "success status nit nfev njev"


_NEWTON: Final = "success status nit nfev njev nhev"
_METHODS: Final = {
    "nelder-mead": _Method("", bounds=True, report="success status nit nfev"),
    "powell": _Method("", bounds=True, report="success status nit nfev"),
    "cg": _Method(),
    "bfgs": _Method(),
    "newton-cg": _Method(second="hessp", report=_NEWTON),
    "l-bfgs-b": _Method(bounds=True),
    "tnc": _Method(bounds=True, report="success status nit nfev"),
    "cobyla": _Method("", bounds=True, constraints=True, report="success status nfev"),
    "cobyqa": _Method("", bounds=True, constraints=True, report="success status nit nfev"),
    "slsqp": _Method(bounds=True, constraints=True),
    "trust-constr": _Method("grad", "hessp", bounds=True, constraints=True, report=_NEWTON),
    "dogleg": _Method(second="hess", report=_NEWTON),
    "trust-ncg": _Method(second="hessp", report=_NEWTON),
    "trust-exact": _Method(second="hess", report=_NEWTON),
    "trust-krylov": _Method(second="hessp", report=_NEWTON),
}
_OWN: Final = _Method("", bounds=True, constraints=True, report="success status")
"""A method of the user's: a function."""


@covers(
    "scipy.optimize",
    closures=True,
    note="the result has x, fun, the gradient, the Hessian where a method takes one, counts and "
    "the message; derivatives are ours where they are not asked for as finite differences",
)
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Minimize a function, as SciPy does, and differentiate the minimum.

    It depends on all that `fun`, `constraints` and `bounds` contain, and on `args`.  The
    functions are traced without values; their derivatives are made here unless `jac` or `hess`
    names a finite difference or an update.  With bounds and constraints that stay active the
    derivative is that of ``∇f - λ·∇c = 0, c = 0``; without, ``dx = -H⁻¹ ∂(∇f)``.  The derivative
    by `x0` is zero.

    Returns
    -------
    OptimizeResult
        `x`, `fun` and the gradient have derivatives; ``success``, ``status`` and counts have none.
        What describes the way of a method (``hess_inv``, ``final_simplex``) is left out.

    Warns
    -----
    SolutionWarning
        If a multiplier is near zero, or the point is no minimum.

    Raises
    ------
    numpy.linalg.LinAlgError
        By the derivative, if the Hessian is singular.

    References
    ----------
    A. V. Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear Programming",
    Academic Press 1983, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import minimize
    >>> def fitted(penalty):
    ...     loss = lambda w: np.sum((w - 3.0) ** 2) + penalty * np.sum(w**2)
    ...     return minimize(loss, np.zeros(2), tol=1e-9).x[0]
    >>> print(np.round(fd.grad(fitted)(1.0), 6))  # 3 / (1 + penalty)
    -0.75
    """
    start = np.atleast_1d(array(x0)).astype(FLOAT)
    objective = curry(fun, args, pair=jac is True)
    given = list_constraints(constraints)
    limits = [(c.lower, c.upper) for c in given]
    functions = [objective, *(c.function for c in given)]
    if not (
        holds_traced([x0, limits, bound_sides(bounds)])
        or any(depends(f, value_or_zeros(start)) for f in functions)
    ):
        return scipys("minimize")(
            fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options
        )
    kind = kind_of(method, bounds, given)
    problem = Problem(
        f"minimize({name_of(fun)})",
        close(scalar(objective), start.shape),
        *bound_arrays(bounds, start.size),
        tuple(c.close(start.shape) for c in given),
    )
    settings = {
        "method": method, "jac": jac if isinstance(jac, str) else None,
        "hess": None if callable(hess) else hess, "tol": tol, "callback": callback,
        "options": options, "kind": kind, "bounded": bounds is not None,
        "keep_feasible": keep_feasible(bounds),
        "constraints": tuple(c.make for c in given),
    }  # fmt: skip
    found, values = solve_minimum(problem, start, settings)
    result = {"x": found.x, "fun": problem.objective(found.x)}
    if kind.slope:
        result[kind.slope] = problem.objective.gradient(found.x)
    if kind.second == "hess":
        result["hess"] = problem.objective.hessian(found.x)
    return scipys("OptimizeResult")(**result, **values)


def kind_of(method: Any, bounds: Any, constraints: Sequence[Any]) -> _Method:
    """Return what a method takes and returns; by default SciPy chooses by the constraints."""
    if callable(method):
        return _OWN
    name = str(method or ("SLSQP" if constraints else "BFGS" if bounds is None else "L-BFGS-B"))
    return _METHODS.get(name.lower(), _OWN)


def solve_minimum(problem: Problem, start: Any, settings: Mapping[str, Any]) -> tuple[Minimum, Any]:
    """Return the minimum that `scipy.optimize.minimize` finds, and its report."""
    kind = settings["kind"]
    report = Report(kind.report)
    limits = [limit for c in problem.constraints for limit in (c.lower, c.upper)]
    functions = [problem.objective, *(c.function for c in problem.constraints)]
    x, numbers = call_solver(
        _minimize,
        functions,
        [start, problem.lower, problem.upper, *limits],
        settings,
        [(start.shape, FLOAT), *report.shapes],
    )
    if not kind.bounds:
        free = without_bounds(problem.name, problem.objective)
        problem = free._replace(constraints=problem.constraints)
    if not kind.constraints:
        problem = problem._replace(constraints=())
    return minimum_at(problem, x, start), report.fields(numbers)


def _minimize(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    given = minimize_keywords(functions, arrays, settings)
    found = scipys("minimize")(functions[0], arrays[0], **given)
    return found.x, Report(settings["kind"].report).numbers(found)


def minimize_keywords(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return concrete keywords for `minimize`, with derivatives where the method takes them."""
    objective, *rest = functions
    _, lower, upper, *limits = arrays
    kind = settings["kind"]
    given: dict[str, Any] = {"jac": settings["jac"], "hess": settings["hess"]}
    if kind.slope and given["jac"] is None:
        given["jac"] = objective.gradient
    if kind.second and given["hess"] is None:
        derivative = objective.hessian if kind.second == "hess" else objective.hessian_product
        given[kind.second] = derivative
    if settings["bounded"]:
        given["bounds"] = scipys("Bounds")(lower, upper, settings["keep_feasible"])
    pairs = zip(limits[::2], limits[1::2], strict=True)
    given["constraints"] = [
        make(kind.slope == "grad", function, *pair)
        for make, function, pair in zip(settings["constraints"], rest, pairs, strict=True)
    ]
    names = ("method", "tol", "callback", "options")
    return {**given, **{name: settings[name] for name in names}}


# ---- `minimize_scalar`: minima of functions of one number ----------------------------------------


_REPORTS: Final = {"bounded": "success status nit nfev"}


@covers("scipy.optimize", closures=True, note="the result has x, fun, counts and the message")
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Minimize a function of one number, as SciPy does, and differentiate the minimum.

    The derivative by what f contains is ``dx = -∂f'(x) / f''(x)``; at a bound it is that of the
    bound.  The derivative by `bracket` is zero.

    Raises
    ------
    numpy.linalg.LinAlgError
        By the derivative, if the second derivative at the minimum is zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import minimize_scalar
    >>> best = lambda a: minimize_scalar(lambda x: x**2 + np.cos(a * x) * 0 + (x - a) ** 2).x
    >>> print(np.round(fd.grad(best)(3.0), 6))
    0.5
    """
    objective = curry(fun, args)
    probe = np.float64(inside(bracket, bounds))
    if not (holds_traced([bracket, bounds]) or depends(objective, probe)):
        return scipys("minimize_scalar")(fun, bracket, bounds, args, method, tol, options)
    name = f"minimize_scalar({name_of(fun)})"
    closed = close(curry(lambda x: scalar(objective)(x[0]), ()), (1,))
    problem = without_bounds(name, closed)
    if bounds is not None and method in (None, "bounded", "Bounded"):
        problem = Problem(name, closed, *bound_arrays([bounds], 1))
    report = Report(_REPORTS.get(_method(method, bounds), "success nit nfev"))
    settings = {
        "bounded": bounds is not None, "method": method, "tol": tol, "options": options,
        "report": report.names,
    }  # fmt: skip
    ends = np.zeros(0) if bracket is None else array(bracket).astype(FLOAT)
    arrays = [ends, problem.lower, problem.upper]
    x, numbers = call_solver(
        _minimize_number, [closed], arrays, settings, [((1,), FLOAT), *report.shapes]
    )
    found = minimum_at(problem, x, probe.reshape(1)).x
    result = {"x": found[0], "fun": problem.objective(found)}
    return scipys("OptimizeResult")(**result, **report.fields(numbers))


def _method(method: Any, bounds: Any) -> str:
    return str(method or ("brent" if bounds is None else "bounded")).lower()


def inside(bracket: Any, bounds: Any) -> Any:
    """Return a number at which the function may be called."""
    given = bracket if bracket is not None else (0.0, 1.0) if bounds is None else bounds
    ends = [float(value_or_zeros(array(x))) for x in given]
    return (ends[0] + ends[1]) / 2


def _minimize_number(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    bracket, lower, upper = arrays
    given: dict[str, Any] = {name: settings[name] for name in ("method", "tol", "options")}
    if bracket.size:
        given["bracket"] = tuple(bracket)
    if settings["bounded"]:
        given["bounds"] = (lower[0], upper[0])
    found = scipys("minimize_scalar")(lambda x: functions[0](np.reshape(x, 1)), **given)
    return found.x, Report(" ".join(settings["report"])).numbers(found)
