"""Parameters of special functions that have no closed derivative: they are held fixed.

Some are whole numbers, and of others SciPy drops the fraction: so do the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.ops.families import Elementwise, Partial, elementwise
from funcdiff.ops.special.family import special
from funcdiff.ops.structure.structural import convert


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


def _refuse_order(*_operands: Any) -> Any:
    raise NotDifferentiableError(
        "a derivative of a function of scipy.special was differentiated in a parameter that is a "
        f"whole number, at {user_location()}. Keep it out of the differentiated arguments, or "
        "write fd.stop_gradient of it; if it has to vary, take differences in it."
    )


whole_part: Final = elementwise("whole_part", lambda n: np.trunc(n), _refuse_order)
"""What SciPy takes for a whole number n; there is no derivative in it, not even 0."""


def numbered_by(name: str, parameters: Sequence[str], slope: Callable[..., Any]) -> Elementwise:
    """Declare a function of whole numbers and of a last operand, in which it is differentiable.

    Parameters
    ----------
    name
        Name in ``scipy.special``, which drops the fraction of a number that is not whole.
    parameters
        Names of the whole numbers in SciPy's signature.
    slope
        The derivative, ``slope(*numbers, x, y)`` of whole numbers in the dtype of `x`.
    """

    def partial(*operands: Any) -> Any:
        *numbers, x, y = operands
        return slope(*(whole_part(convert(n, x.dtype)) for n in numbers), x, y)

    return special(name, *(undefined(name, parameter) for parameter in parameters), partial)
