"""The concrete value of a traced array, given only where no derivative is lost by it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.errors import LostDerivativeError, user_location
from funcdiff.ops.structural import stop_gradient_p


def concrete_value(x: Tracer) -> Any:
    """Return the value of an array of an eager trace; raises ConcreteValueError otherwise."""
    if x.builder is None:
        return x.atom.array  # type: ignore[union-attr]
    return x.builder.value(x.atom)


def known(x: Any) -> Any:
    """Return the value of an array, traced or not, as an ndarray or a NumPy scalar."""
    return concrete_value(x) if isinstance(x, Tracer) else np.asarray(x)


def is_constant(x: Tracer) -> bool:
    """Return whether an array has no derivative to lose."""
    if x.builder is None or x.builder.severed:
        return True
    return not x.type.differentiable or _is_stopped(x)


def constant_value(x: Tracer, what: str) -> Any:
    """Return the value of an array that has no derivative to lose.

    Raises
    ------
    LostDerivativeError
        If it has one; `what` was met is the beginning of the message.
    """
    if is_constant(x):
        value = concrete_value(x)
        return value if isinstance(value, np.generic) else np.array(value)
    place = user_location()
    hint = (
        " SciPy's functions that are written in Python cannot take it: use those of "
        "funcdiff.scipy.special, or fd.primitive."
        if re.search(r"[\\/]scipy[\\/]", place)
        else ""
    )
    raise LostDerivativeError(
        f"{what} was met at {place}, where x is a traced array of type {x.type}. "
        "That would drop its derivative silently. Keep computing with x and NumPy functions "
        "(np.sin(x), not math.sin(x); funcdiff.numpy.array([x, y]), not np.array([x, y])); make "
        "an array that x is stored into with np.zeros_like(x) or funcdiff.numpy.zeros(shape), or "
        "build a list and np.stack it; where no derivative is wanted, use fd.stop_gradient(x)."
        f"{hint}"
    )


def _is_stopped(x: Tracer) -> bool:
    assert x.builder is not None
    assert isinstance(x.atom, int)
    entry = x.builder.entries[x.atom]
    return bool(entry) and getattr(entry[0], "primitive", None) is stop_gradient_p
