"""A nonlinear program in the protocol of cyipopt: callbacks of vectors, and fixed places."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.core.tracebacks import public
from funcdiff.programs.functions import At, Functions


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
