"""A nonlinear program in the protocol of cyipopt: callbacks of vectors, and fixed places."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from funcdiff.programs.functions import Functions, within


class Callbacks:
    """What ``cyipopt.Problem(problem_obj=...)`` calls.

    Objective, gradient, constraints and Jacobian of one point come from one evaluation. Places are
    those found at the start, and stay: entries that are zero are given as zeros. Numbers that do
    not exist (NaN, or infinite) make Ipopt take a shorter step.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions

    @cached_property
    def _jacobian_places(self) -> tuple[Any, Any]:
        entries = self._functions.at(self._functions.start).jacobian
        return entries.rows, entries.columns

    @cached_property
    def _hessian_places(self) -> tuple[Any, Any]:
        ones = np.ones(self._functions.m)
        entries = self._functions.hessian(self._functions.start, 1.0, ones).lower()
        return entries.rows, entries.columns

    def objective(self, x: Any) -> float:
        """Return the objective."""
        return float(self._functions.at(x).value)

    def gradient(self, x: Any) -> Any:
        """Return the gradient of the objective, of shape ``(n,)``."""
        return np.array(self._functions.at(x).gradient)

    def constraints(self, x: Any) -> Any:
        """Return the constraints, of shape ``(m,)``."""
        return np.array(self._functions.at(x).constraints)

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries that `jacobian` returns."""
        rows, columns = self._jacobian_places
        return rows.copy(), columns.copy()

    def jacobian(self, x: Any) -> Any:
        """Return the entries of the Jacobian of the constraints."""
        places = self._jacobian_places
        return np.array(within(self._functions.at(x).jacobian, places, "Jacobian"))

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries that `hessian` returns: the lower triangle."""
        rows, columns = self._hessian_places
        return rows.copy(), columns.copy()

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Any:
        """Return entries of the second derivatives of ``obj_factor·f + lagrange·c``."""
        places = self._hessian_places
        return np.array(
            within(self._functions.hessian(x, obj_factor, lagrange).lower(), places, "Hessian")
        )
