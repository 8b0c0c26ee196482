"""Python's own ways from a traced number to an integer: `round`, `math.floor`, `ceil`, `trunc`.

The result is a traced Python integer.  It is constant almost everywhere, so no derivative is lost
on the way; where the trace has values, it may be an index or the length of a ``range``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import as_number
from funcdiff.numpy.border.values import concrete_value
from funcdiff.ops.structure.structural import convert


def integer(x: Tracer, rounded: Callable[[Any], Any], name: str) -> Any:
    """Return a number rounded to a traced Python integer of 64 bits.

    Parameters
    ----------
    x
        A traced array of shape ``()``.
    rounded
        NumPy's function.
    name
        How the user calls it.

    Raises
    ------
    TypeError
        If `x` is no real scalar.
    ValueError, OverflowError
        If its value is known, and NaN or an infinity.
    """
    _refuse_others(x, rounded, name)
    y = x
    if x.type.dtype.kind == "f":
        y = rounded(x)
        with suppress(ConcreteValueError):
            int(concrete_value(y))  # Python's own error for NaN and infinities
    y = convert(y, np.dtype(np.int64))
    return as_number(y)


def to_decimals(x: Tracer, decimals: int | None) -> Any:
    """Return what Python's ``round(x, decimals)`` is: an integer without decimals."""
    if decimals is None:
        return integer(x, np.round, "round")
    _refuse_others(x, np.round, "round")
    y: Any = np.round(x, decimals)  # type: ignore[call-overload]
    return as_number(y) if x.weak else y


def _refuse_others(x: Tracer, rounded: Callable[[Any], Any], name: str) -> None:
    if x.type.shape or x.type.dtype.kind == "c":
        raise TypeError(
            f"{name}(x) takes a real number, not {x.type}, at {user_location()}. Use "
            f"np.{rounded.__name__}(x)."
        )
