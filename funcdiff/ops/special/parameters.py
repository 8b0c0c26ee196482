"""Parameters of special functions that have no closed derivative: they are held fixed."""

from __future__ import annotations

from typing import Any

from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.ops.families import Partial


def undefined(function: str, parameter: str) -> Partial:
    """Return the partial derivative in a parameter, which refuses and says how to go on.

    Parameters
    ----------
    function
        Name in ``scipy.special``.
    parameter
        Name of the argument in SciPy's signature.
    """

    def refuse(*_operands: Any) -> Any:
        raise NotDifferentiableError(
            f"scipy.special.{function} was differentiated in its parameter {parameter} at "
            f"{user_location()}, and there is no closed formula for that. Keep {parameter} out of "
            f"the differentiated arguments, or write fd.stop_gradient({parameter}); if it has to "
            "vary, take differences in it."
        )

    return refuse
