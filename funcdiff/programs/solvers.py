"""A nonlinear program as its solvers take it: SciPy's keyword arguments, cyipopt's callbacks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.core.late import scipy_function
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, user_location
from funcdiff.programs.functions import LARGE, At, Functions

# ---- scipy.optimize.minimize ---------------------------------------------------------------------

_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "SLSQP": {"ftol": 1e-12, "maxiter": 300},
    "trust-constr": {"gtol": 0.0, "xtol": 1e-8, "barrier_tol": 1e-9, "maxiter": 3000},
    "COBYQA": {},
}
"""Options of each method where SciPy's own stop at six digits or less."""


def default_options(program: Functions, method: str) -> dict[str, Any]:
    """Return the options from which `solve` starts.

    With a barrier, "trust-constr" compares ``gtol`` with a gradient that is small before that is.
    """
    low, high = (np.concatenate(ends) for ends in zip(program.bounds, program.cbounds, strict=True))
    barrier = np.any((low != high) & (np.isfinite(low) | np.isfinite(high)))
    return _OPTIONS[method] | ({} if barrier or method != "trust-constr" else {"gtol": 1e-9})


def minimize_arguments(program: Functions, method: str) -> dict[str, Any]:
    """Return keyword arguments for a method."""
    makers = {"SLSQP": _slsqp, "trust-constr": _trust_constr, "COBYQA": _cobyqa}
    if method not in makers:
        raise InputError(
            f"nlp: method={method!r} is not known, at {user_location()}. Write one of "
            f"{', '.join(map(repr, makers))}; Ipopt takes what `problem()` returns."
        )
    low, high = program.bounds
    return {
        "x0": program.start,
        "method": method,
        "bounds": scipy_function("Bounds", "scipy.optimize")(low, high),
        **makers[method](program),
    }


def _slsqp(program: Functions) -> dict[str, Any]:
    at, (low, high) = program.at, program.cbounds
    equal = low == high
    above, below = np.isfinite(low) & ~equal, np.isfinite(high) & ~equal

    def part(kind: str, rows: Any, sign: float, bound: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "fun": lambda z: sign * (at(z).constraints[rows] - bound[rows]),
            "jac": lambda z: sign * at(z).jacobian.dense()[rows],
        }

    parts = ("eq", equal, 1.0, low), ("ineq", above, 1.0, low), ("ineq", below, -1.0, high)
    found = [part(*given) for given in parts if np.any(given[1])]
    return {
        "fun": lambda z: float(at(z).value), "jac": lambda z: at(z).gradient, "constraints": found
    }  # fmt: skip


def _trust_constr(program: Functions) -> dict[str, Any]:
    """Return its arguments: from infinite values it takes a shorter step, to NaN the same again."""
    none = np.zeros(program.m)

    def value_or_inf(z: Any) -> Any:
        here = program.at(z)
        exists = np.isfinite(here.value) and np.all(np.isfinite(here.constraints))
        return float(here.value) if exists else np.inf

    as_matrix = Entries.sparse if program.n >= LARGE else Entries.dense
    found: dict[str, Any] = {
        "fun": value_or_inf,
        "jac": lambda z: program.at(z).gradient,
        "hess": lambda z: as_matrix(program.hessian(z, 1.0, none)),
        "constraints": [],
    }
    linear, (low, high) = program.linear, program.cbounds
    if np.any(linear):
        here = program.at(program.start)
        linear = linear & np.isfinite(here.constraints)
        A = as_matrix(here.jacobian)
        offset = here.constraints - A @ program.start
        make = scipy_function("LinearConstraint", "scipy.optimize")
        sides = (low - offset)[linear], (high - offset)[linear]
        found["constraints"].append(make(A[linear], *sides))
    if np.any(rest := ~linear):

        def curvature(z: Any, v: Any) -> Any:
            weights = np.zeros(len(rest))
            weights[rest] = v
            return as_matrix(program.hessian(z, 0.0, weights))

        make = scipy_function("NonlinearConstraint", "scipy.optimize")
        nonlinear = make(
            lambda z: np.nan_to_num(program.at(z).constraints[rest]), low[rest], high[rest],
            jac=lambda z: as_matrix(program.at(z).jacobian)[rest], hess=curvature,
        )  # fmt: skip
        found["constraints"].append(nonlinear)
    return found


def _cobyqa(program: Functions) -> dict[str, Any]:
    values = program.values
    found: dict[str, Any] = {"fun": lambda z: float(values(z)[0])}
    rules = []
    if program.m:
        make = scipy_function("NonlinearConstraint", "scipy.optimize")
        rules.append(make(lambda z: values(z)[1], *program.cbounds))
    if np.any(program.bounds[0] == program.bounds[1]):  # SciPy would leave these variables out
        make = scipy_function("LinearConstraint", "scipy.optimize")
        rules.append(make(np.eye(program.n), *program.bounds))
        found["bounds"] = None
    found["constraints"] = rules
    return found


# ---- Ipopt ---------------------------------------------------------------------------------------


@public
class Callbacks:
    """What ``cyipopt.Problem(problem_obj=...)`` calls.

    Places are those at the start, and stay: entries that are zero are given as zeros. Numbers that
    do not exist (NaN, or infinite) make Ipopt take a shorter step.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._jacobian = functions.places("Jacobian")
        self._hessian, _ = functions.places("Hessian").lower
        self._failure: Exception | None = None

    def _at(self, x: Any) -> At:
        """Return the point, or raise what `hessian` has raised: cyipopt drops that."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return self._functions.at(x)

    def objective(self, x: Any) -> float:
        """Return the objective."""
        return float(self._at(x).value)

    def gradient(self, x: Any) -> Any:
        """Return the gradient of the objective, of shape ``(n,)``."""
        return np.array(self._at(x).gradient)

    def constraints(self, x: Any) -> Any:
        """Return the constraints, of shape ``(m,)``."""
        return np.array(self._at(x).constraints)

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries that `jacobian` returns."""
        return self._jacobian.rows.copy(), self._jacobian.columns.copy()

    def jacobian(self, x: Any) -> Any:
        """Return the entries of the Jacobian of the constraints."""
        here = self._at(x).jacobian
        return np.array(self._functions.at_places("Jacobian", here, self._jacobian))

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries that `hessian` returns: the lower triangle."""
        return self._hessian.rows.copy(), self._hessian.columns.copy()

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Any:
        """Return entries of the second derivatives of ``obj_factor·f + lagrange·c``."""
        try:
            whole = self._functions.hessian(x, obj_factor, lagrange)
            pattern, chosen = whole.pattern.lower
            here = Entries(whole.data[chosen], pattern)
            return self._functions.at_places("Hessian", here, self._hessian)
        except Exception as error:
            self._failure = error
            raise
