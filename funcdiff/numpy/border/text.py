"""Text of traced values: text of the value where it goes on into the computation, or an error.

`str` and `format` give NumPy's text where the value is known and has no derivative.  What has one
is marked by a tilde, ``~2.500``, which people read and no parser takes: of ``float(f"{x}")`` the
derivative would be lost without a word.  Where there are no values, integers and booleans decide,
as an index does.  All else is its type then, and the trace is refused at its end: the message of an
error that ends it may have such a text, what it computes may not.  `repr` of what can have a
derivative describes the traced value.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, calling_frame
from funcdiff.numpy.border.swallowing import is_shown, remember
from funcdiff.numpy.border.values import (
    concrete_value,
    is_constant,
    known_value,
    value_for,
    without_value,
)

_CURE: Final = (
    "Text that the function goes on with would be that of one call: show what it returns, or "
    "print(repr(x)), which shows the type; in the message of an error that nobody catches, "
    "there may be text of x."
)


def description(x: Tracer) -> str:
    """Return what `repr` is: of integers and booleans that of the value, else value and type."""
    if x.type.differentiable:
        try:
            return f"traced({np.array2string(np.asarray(concrete_value(x)))}: {x.type})"
        except ConcreteValueError:
            return _type(x)
    if is_shown() or calling_frame() is not sys._getframe(2):  # in messages of ours
        return _type(x)
    return repr(_stood_for(x, value_for(x, "repr(x)", _CURE)))


def format_value(x: Tracer, spec: str) -> str:
    """Return the value of an array as text."""
    try:
        value = concrete_value(x) if is_shown() else known_value(x)
    except ConcreteValueError:
        what = f"the format {spec!r}" if spec else "the text of x"
        remember(x, without_value(x, what, _CURE))
        return _type(x)
    if is_constant(x):
        return format(_stood_for(x, value), spec)
    if not spec and np.ndim(value):
        return f"~{np.array2string(value, prefix='~')}"
    shown = format(value, spec)
    number = shown.lstrip(" ")
    return f"{'~':>{len(shown) - len(number)}}{number}"


def _type(x: Tracer) -> str:
    return f"traced({x.type})"


def _stood_for(x: Tracer, value: Any) -> Any:
    """Return a value as what NumPy or Python would have in its place: array, scalar or number."""
    if x.weak:
        return value.item()
    return np.asarray(value) if isinstance(x, Builder.array_handle) else value
