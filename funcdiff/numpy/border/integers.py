"""Rounding of traced numbers to Python integers: `round`, `math.floor`, `ceil`, `trunc`.

The result is a traced Python integer.  It is constant almost everywhere, so no derivative is lost
on the way; where the trace has values, it may be an index or the length of a ``range``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from funcdiff.core.decisions import decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import as_number
from funcdiff.numpy.border.swallowing import remember
from funcdiff.numpy.border.values import (
    concrete_value,
    constant_value,
    has_value,
    is_constant,
)
from funcdiff.ops.elementwise.logic import isfinite, isnan
from funcdiff.ops.structure.structural import convert

_LIMIT: Final = 2.0**63
"""The first float that is no integer of 64 bits."""


def integer(x: Tracer, rounded: Callable[[Any], Any], name: str) -> Any:
    """Return a traced number of shape ``()``, rounded as NumPy does, as an integer of 64 bits.

    Raises `TypeError` if it is no real scalar, `ValueError` and `OverflowError` if its value is
    known, and NaN or an infinity; messages call the function `name`.
    """
    _refuse_others(x, rounded, name)
    y = x
    if x.type.dtype.kind == "f":
        y = rounded(x)
        with suppress(ConcreteValueError):
            int(concrete_value(y))  # Python's own error for NaN and infinities
    y = convert(y, np.dtype(np.int64))
    return as_number(y)


def to_int(x: Tracer) -> int:
    """Return what ``int(x)`` is of a number that has no derivative to lose, such as a floor.

    Where there is no value, it is decided by the integer, as by an index.
    """
    if x.type.dtype.kind == "f" and not x.type.shape and is_constant(x) and not has_value(x):
        fits = decided(x, _fits)
        found = decided(x, lambda x: convert(x, INT)) if fits else None
        if found is not None:
            return found
        if fits == 0:
            raise _unfit(x)
    return int(constant_value(x, "int(x)", int))


def _fits(x: Any) -> Any:
    """Record whether a number is an integer of 64 bits once it is rounded; NaN is none."""
    y: Any = convert(x, FLOAT)
    return abs(y) < _LIMIT


def _unfit(x: Tracer) -> Exception:
    """Return Python's error for NaN and infinities, and else ours, which nobody is to catch."""
    if decided(x, isnan):
        return ValueError(f"cannot convert float NaN to integer, at {user_location()}")
    error = OverflowError(
        f"cannot convert a float of {_LIMIT:.0e} or more, or an infinity, to an integer of 64 "
        f"bits, at {user_location()}. Compute with the float."
    )
    if decided(x, isfinite):
        remember(x, error)
    return error


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
