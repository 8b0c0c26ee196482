"""Searches for the least of many minima: the one that is found is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.transformed import name_of
from funcdiff.core.types import FLOAT
from funcdiff.errors import InputError, user_location
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.closed import Closed, close, curry, depends, scalar, value_or_zeros
from funcdiff.scipy.optimize.constraints import (
    bound_arrays,
    bound_sides,
    feasible,
    list_constraints,
)
from funcdiff.scipy.optimize.minimizing import kind_of, minimize_keywords
from funcdiff.scipy.optimize.minimum import Problem, minimum_at, without_bounds
from funcdiff.scipy.optimize.opaque_solvers import Report, call_solver, scipys
from funcdiff.scipy.optimize.roots import start_of

_REPORTS: Final = {
    "differential_evolution": "success nit nfev",
    "dual_annealing": "success status nit nfev njev nhev",
    "shgo": "success nit nfev nlfev nljev nlhev",
    "direct": "success status nit nfev",
}


def _arguments_by_name(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by their names; those of the objective are there even if empty."""
    names = list(signature(scipys(name)).parameters)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return {"args": (), **given}


def _cover_search(name: str) -> None:
    """Cover a function ``name(func, bounds, args, ...)``."""

    def search(func: Callable[..., Any], bounds: Any, *args: Any, **kwargs: Any) -> Any:
        given = _arguments_by_name(name, (func, bounds, *args), kwargs)
        objective = curry(func, given.pop("args"), name=name)
        sides = bound_sides(bounds)
        conditions = list_constraints(given.get("constraints", ()))
        size = np.shape(sides[0])[0]

        middle = feasible(*(value_or_zeros(s) if holds_traced(s) else s for s in sides))
        settings = {
            k: v for k, v in given.items() if k not in ("func", "bounds", "constraints", "x0")
        }
        functions = [objective, *(c.function for c in conditions)]
        fixed = [sides, [(c.lower, c.upper) for c in conditions], given.get("x0"), settings]
        if not (holds_traced(fixed) or any(depends(f, middle) for f in functions)):
            return scipys(name)(func, bounds, *args, **kwargs)
        if settings.get("vectorized") or settings.get("integrality") is not None:
            raise InputError(
                f"{name} of a function that contains traced arrays got vectorized or integrality, "
                f"at {user_location()}. Leave them out; fix whole numbers by bounds."
            )
        problem = Problem(
            f"{name}({name_of(func)})",
            close(scalar(objective), (size,)),
            *bound_arrays(bounds, size),
            tuple(c.close((size,)) for c in conditions),
        )
        report = Report(_REPORTS[name])
        limits = [limit for c in problem.constraints for limit in (c.lower, c.upper)]
        start = [] if given.get("x0") is None else [np.asarray(start_of(given["x0"]))]
        x, numbers = call_solver(
            _search,
            [problem.objective, *(c.function for c in problem.constraints)],
            [problem.lower, problem.upper, *limits, *start],
            {"function": name, "settings": settings, "make": tuple(c.make for c in conditions)},
            [((size,), FLOAT), *report.shapes],
        )
        found = minimum_at(problem, x, feasible(problem.lower, problem.upper)).x
        return scipys("OptimizeResult")(
            x=found, fun=problem.objective(found), **report.fields(numbers)
        )

    search.__doc__ = (
        "Find the least minimum within bounds, as SciPy does, and differentiate it: see `minimize`."
    )
    note = (
        "the result has x, fun, counts and the message; the minimum that is found has derivatives"
    )
    covers("scipy.optimize", name, closures=True, note=note)(search)


def _search(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    name, makers = settings["function"], settings["make"]
    lower, upper, *rest = arrays
    given = dict(settings["settings"])
    limits = zip(rest[: 2 * len(makers) : 2], rest[1 : 2 * len(makers) : 2], strict=True)
    if makers:
        given["constraints"] = [
            make(False, f, *pair)
            for make, f, pair in zip(makers, functions[1:], limits, strict=True)
        ]
    if len(rest) > 2 * len(makers):
        given["x0"] = rest[-1]
    found = scipys(name)(functions[0], list(zip(lower, upper, strict=True)), **given)
    return found.x, Report(_REPORTS[name]).numbers(found)


for name in _REPORTS:
    _cover_search(name)


# ---- from a point --------------------------------------------------------------------------------

_HOPS: Final = Report("success nit nfev minimization_failures")


@covers("scipy.optimize", closures=True, note="the result has x, fun, counts and the message")
def basinhopping(func: Callable[..., Any], x0: Any, *args: Any, **kwargs: Any) -> Any:
    """Find the least of many minima, as SciPy does, and differentiate it: see `minimize`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import basinhopping
    >>> def least(a):
    ...     return basinhopping(lambda x: np.sum((x**2 - a) ** 2), [1.0], niter=3).x[0] ** 2
    >>> print(np.round(fd.grad(least)(2.0), 4))
    1.0
    """
    given = _arguments_by_name("basinhopping", (func, x0, *args), kwargs)
    local = dict(given.get("minimizer_kwargs") or {})
    extra = local.pop("args", ())
    start = np.atleast_1d(start_of(x0))
    conditions = list_constraints(local.pop("constraints", ()))
    bounds, method, jac = (local.pop(k, None) for k in ("bounds", "method", "jac"))
    objective = curry(func, extra, pair=jac is True)
    functions = [objective, *(c.function for c in conditions)]
    fixed = [x0, bound_sides(bounds), [(c.lower, c.upper) for c in conditions]]
    if not (holds_traced(fixed) or any(depends(f, value_or_zeros(start)) for f in functions)):
        return scipys("basinhopping")(func, x0, *args, **kwargs)
    problem = Problem(
        f"basinhopping({name_of(func)})",
        close(scalar(objective), start.shape),
        *bound_arrays(bounds, start.size),
        tuple(c.close(start.shape) for c in conditions),
    )
    kind = kind_of(method, bounds, conditions)
    settings = {
        "method": method, "jac": jac if isinstance(jac, str) else None, "kind": kind,
        "hess": local.get("hess") if isinstance(local.get("hess"), str) else None,
        "tol": local.get("tol"), "callback": local.get("callback"),
        "options": local.get("options"), "bounded": bounds is not None, "keep_feasible": False,
        "constraints": tuple(c.make for c in conditions),
        "hops": {
            k: v for k, v in given.items() if k not in ("func", "x0", "args", "minimizer_kwargs")
        },
    }  # fmt: skip
    limits = [limit for c in problem.constraints for limit in (c.lower, c.upper)]
    x, numbers = call_solver(
        _hop,
        [problem.objective, *(c.function for c in problem.constraints)],
        [start, problem.lower, problem.upper, *limits],
        settings,
        [(start.shape, FLOAT), *_HOPS.shapes],
    )
    found = minimum_at(problem, x, start).x
    return scipys("OptimizeResult")(x=found, fun=problem.objective(found), **_HOPS.fields(numbers))


def _hop(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    local = minimize_keywords(functions, arrays, settings)
    found = scipys("basinhopping")(
        functions[0], arrays[0], minimizer_kwargs=local, **settings["hops"]
    )
    counts = {**found, "success": found.lowest_optimization_result.success}
    return found.x, _HOPS.numbers(counts)


@covers("scipy.optimize", closures=True, note="full_output and finish=None are refused")
def brute(
    func: Callable[..., Any],
    ranges: Any,
    args: Any = (),
    Ns: int = 20,
    full_output: bool = False,
    finish: Any = ...,
    **settings: Any,
) -> Any:
    """Search a grid and polish the least, as SciPy does, and differentiate the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import brute
    >>> least = lambda a: brute(lambda x: np.sum((x - a) ** 2), [(-2.0, 2.0)])[0]
    >>> print(np.round(fd.grad(least)(1.0), 6))
    1.0
    """
    size = len(ranges)
    start = np.array([r.start if isinstance(r, slice) else r[0] for r in ranges], FLOAT)
    objective = scalar(curry(func, args))
    if not depends(objective, start):
        finish = {} if finish is ... else {"finish": finish}
        return scipys("brute")(func, ranges, args, Ns, full_output, **finish, **settings)
    if full_output or finish is None:
        raise InputError(
            f"brute of a function that contains traced arrays got full_output=True or finish=None, "
            f"at {user_location()}: points of a grid have no derivative. Leave them out."
        )
    settings = {**settings, "ranges": tuple(ranges), "Ns": Ns}
    if finish is not ...:
        settings["finish"] = finish
    closed = close(objective, (size,))
    (x,) = call_solver(_brute, [closed], [], settings, [((size,), FLOAT)])
    name = f"brute({name_of(func)})"
    return minimum_at(without_bounds(name, closed), x, start).x


def _brute(
    functions: Sequence[Closed], _arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any]:
    size = functions[0].program.input_types[0].size
    return (scipys("brute")(lambda x: functions[0](np.reshape(x, size)), **settings),)
