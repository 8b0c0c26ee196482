"""A nonlinear program as a grey box of Pyomo: a block whose inputs are x and whose outputs c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.api.coordinates import Coordinates
from funcdiff.core.late import scipy_function
from funcdiff.core.tracebacks import public
from funcdiff.errors import not_installed
from funcdiff.programs.functions import Functions
from funcdiff.programs.solvers import Callbacks

try:
    from pyomo.contrib.pynumero.interfaces.external_grey_box import ExternalGreyBoxModel
except ImportError as error:
    raise not_installed(error, "nlp.pyomo needs Pyomo", "pyomo") from error


@public
class GreyBox(ExternalGreyBoxModel):  # type: ignore[misc]
    """What an ``ExternalGreyBoxBlock`` calls; its names and conventions are Pyomo's."""

    def __init__(self, functions: Functions, *, objective: bool) -> None:
        self._functions, self._callbacks = functions, Callbacks(functions)
        self._objective = objective
        self._x, self._weights = functions.start, np.zeros(functions.m)

    def input_names(self) -> list[str]:
        """Return the names of all elements of x: ``x['a'][0]``."""
        return _names(self._functions.containers[0], self._functions.n, "x")

    def output_names(self) -> list[str]:
        """Return the names of all constraints: ``c['a'][0]``."""
        return _names(self._functions.containers[1], self._functions.m, "c")

    def finalize_block_construction(self, pyomo_block: Any) -> None:
        """Give the block's variables their bounds, and the values at the start."""
        functions = self._functions
        for variables, values, ends in (
            (pyomo_block.inputs, functions.start, functions.bounds),
            (pyomo_block.outputs, functions.values(functions.start)[1], functions.cbounds),
        ):
            for variable, value, *bounds in zip(variables.values(), values, *ends, strict=True):
                variable.set_value(float(value), skip_validation=True)
                variable.bounds = tuple(None if np.isinf(b) else float(b) for b in bounds)

    def set_input_values(self, input_values: Any) -> None:
        """Keep the point for what is asked next."""
        self._x = np.array(input_values, dtype=float)

    def set_output_constraint_multipliers(self, output_con_multiplier_values: Any) -> None:
        """Keep multipliers for the Hessian."""
        self._weights = np.array(output_con_multiplier_values, dtype=float)

    def evaluate_outputs(self) -> Any:
        """Return the constraints."""
        return self._callbacks.constraints(self._x)

    def evaluate_jacobian_outputs(self) -> Any:
        """Return their derivatives, a sparse matrix."""
        places, shape = self._callbacks.jacobianstructure(), (len(self._weights), len(self._x))
        return _matrix((self._callbacks.jacobian(self._x), places), shape=shape)

    def evaluate_hessian_outputs(self) -> Any:
        """Return the second derivatives of constraints by their multipliers, the lower triangle."""
        return self._hessian(self._weights, 0.0)

    def evaluate_hessian_objective(self) -> Any:
        """Return those of the objective."""
        return self._hessian(np.zeros_like(self._weights), 1.0)

    def _hessian(self, weights: Any, factor: float) -> Any:
        entries = self._callbacks.hessian(self._x, weights, factor)
        places = self._callbacks.hessianstructure()
        return _matrix((entries, places), shape=(len(self._x),) * 2)

    def has_objective(self) -> bool:
        """Return whether the objective is the block's."""
        return self._objective

    def evaluate_objective(self) -> float:
        """Return the objective."""
        return self._callbacks.objective(self._x)

    def evaluate_grad_objective(self) -> Any:
        """Return the gradient in all variables of the block, of which outputs are the last."""
        return np.append(self._callbacks.gradient(self._x), np.zeros(len(self._weights)))


def _names(container: Callable[[Any], Any], size: int, name: str) -> list[str]:
    at = Coordinates.of(container(np.zeros(size)))
    return [name + at.name(k) for k in range(size)]


_matrix: Final = scipy_function("coo_matrix", "scipy.sparse")
