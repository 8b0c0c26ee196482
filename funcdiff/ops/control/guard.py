"""Conditions on values while a program runs: `guard`, as seen in the trace, and `demand`.

The programs of `jit` have them where Python decided by values.  They are put in when everything is
derived, each before all that it protects; until then what decides is among the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.elementwise.logic import not_equal
from funcdiff.ops.families import constant_op
from funcdiff.space import align


class Guard(Params):
    """The outcome for which the program goes on, and the number of the guard in its program."""

    outcome: int
    number: int


class Diverted(BaseException):
    """A guard met another outcome: the program ends here, and another goes on.

    Its arguments are the number of the guard, the outcome, and the values that are handed over.
    """

    def __str__(self) -> str:
        return (
            f"the arguments go another way than those that the program was recorded with: guard "
            f"{self.args[0]} met {self.args[1]}. Call the jitted function, which knows all ways."
        )


def divert(number: int, outcome: int, *values: Any) -> None:
    """Leave a program at a guard; raises Diverted."""
    raise Diverted(number, outcome, values)


def _impl(p: Guard) -> Callable[..., Any]:
    def guard(predicate: Any, *values: Any) -> Any:
        if predicate != p.outcome:
            divert(p.number, int(predicate), *values)
        return predicate

    return guard


def _abstract(_p: Guard, predicate: ArrayType, *_values: ArrayType) -> Types:
    if predicate.shape or predicate.dtype.kind not in "biu":
        raise TypeError(f"a guard needs a boolean or an integer without axes, not {predicate}")
    return (predicate,)


def _batch(p: Guard, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    """Go on where all examples have the outcome."""
    if not batched[0]:
        return align(size, [guard(xs[0], p)], [False])
    differs = reduce_any(not_equal(xs[0], constant(p.outcome, xs[0].type)), (0,))
    guard(differs, Guard(0, p.number))
    return (xs[0],)


guard_p: Final = constant_op(
    "guard", Guard, abstract=_abstract, impl=_impl, batch=_batch, facts=Facts(ends=True)
)
"""``y = guard{outcome, number} predicate, *values``: the predicate; the values are handed over."""


def guard(predicate: Tracer, p: Guard, *values: Tracer) -> Tracer:
    """Return a predicate, known to have an outcome."""
    return bind(guard_p, p, predicate, *values)[0]


# ---- Demands: `demand`, a value that a program uses only where a condition holds nowhere ---------
#
# NumPy's functions raise for some values.  Where a trace has none, the program raises when it runs.


class Demand(Params):
    """The name of an exception, and its message."""

    error: str
    message: str


def _impl_demand(p: Demand) -> Callable[..., Any]:
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
    _impl_demand,
    _forward,
    facts=Facts(raises=True),
)
"""``y = demand{error, message} x, refused``: x; its derivative is 1.  Where any of the booleans of
`refused` is true, it raises."""


def demand(x: Tracer, refused: Tracer, error: Exception) -> Tracer:
    """Return `x`, after a test that a condition holds nowhere."""
    return bind(demand_p, Demand(type(error).__name__, str(error)), x, refused)[0]
