"""Demands: `demand`, a value that a program uses only where a condition holds nowhere.

NumPy's functions raise for some values.  Where a trace has none, the program raises when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers
from funcdiff.core.tracer import Tracer


class Demand(Params):
    """The name of an exception, and its message."""

    error: str
    message: str


def _impl(p: Demand) -> Callable[..., Any]:
    def demand(x: Any, refused: Any) -> Any:
        if refused.any():
            if p.error == "ValueError":
                raise ValueError(p.message)
            if p.error == "TypeError":
                raise TypeError(p.message)
            if p.error == "ZeroDivisionError":
                raise ZeroDivisionError(p.message)
            raise np.linalg.LinAlgError(p.message)
        return x

    return demand


def _forward(p: Demand, xs: Tracers, ts: Tangents) -> Pushed:
    return bind(demand_p, p, *xs), [ts[0]]


demand_p: Final = Primitive(
    "demand",
    Demand,
    lambda _p, x, _refused: (x,),
    _impl,
    _forward,
    facts=Facts(raises=True),
)
"""``y = demand{error, message} x, refused``: x; its derivative is 1.  Where any of the booleans of
`refused` is true, it raises."""


def demand(x: Tracer, refused: Tracer, error: Exception) -> Tracer:
    """Return `x`, after a test that a condition holds nowhere."""
    return bind(demand_p, Demand(type(error).__name__, str(error)), x, refused)[0]
