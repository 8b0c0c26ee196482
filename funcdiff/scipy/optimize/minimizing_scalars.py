"""`minimize_scalar`: minima of functions of one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.arguments import name_of
from funcdiff.core.types import FLOAT
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.constraints import bound_arrays
from funcdiff.scipy.optimize.minimum import Problem, minimum_at, without_bounds
from funcdiff.scipy.optimize.programs import Closed, close, curry, depends, scalar, value_or_zeros
from funcdiff.scipy.optimize.solvers import Report, call_solver, scipys

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
    x, numbers = call_solver(_minimize, [closed], arrays, settings, [((1,), FLOAT), *report.shapes])
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


def _minimize(
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
