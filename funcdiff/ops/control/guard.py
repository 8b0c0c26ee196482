"""Checks while a program runs: `guard`, as seen in the trace, `demand`, and `needed`.

The programs of `jit` have guards where Python decided by values.  They are put in when everything
is derived, each before all that it protects; until then what decides is among the outputs.

A check such as ``np.linalg.cholesky(K)`` raises in the plain call, though nobody uses its result:
`needed` lets a program compute it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Facts, Operation, Params, Tracers, Types
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.recording.entries import live_variables
from funcdiff.core.running.walk import with_nested
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.elementwise.logic import not_equal
from funcdiff.ops.families import constant_op, stand_in
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


demand_p: Final = stand_in(
    "demand", Demand, lambda _p, x, _refused: (x,), _impl_demand, facts=Facts(raises=True)
)
"""``y = demand{error, message} x, refused``: x; its derivative is 1.  Where any of the booleans of
`refused` is true, it raises."""


def demand(x: Tracer, refused: Tracer, error: Exception) -> Tracer:
    """Return `x`, after a test that a condition holds nowhere."""
    return bind(demand_p, Demand(type(error).__name__, str(error)), x, refused)[0]


# ---- unused equations that may raise -------------------------------------------------------------


def _batch_needed(_p: Params, size: int, xs: Tracers, _batched: Sequence[bool]) -> Tracers:
    return align(size, bind(needed_p, NONE, *xs), [False])


needed_p: Final = constant_op(
    "needed",
    Params,
    abstract=lambda _p, *_xs: (ArrayType((), BOOL),),
    impl=lambda _p: lambda *_xs: BOOL.type(True),
    batch=_batch_needed,
    facts=Facts(ends=True),
)
"""``y = needed *xs``: true; the program computes the operands, whatever its outputs need."""


def need_what_raises(builder: Builder, outputs: Sequence[Tracer]) -> None:
    """Let the program compute what may raise: what no output needs, and what has no value yet."""
    refs = tuple(map(builder.ref, outputs))
    entries = tuple(builder.entries)
    is_live = live_variables(entries, refs)
    unused = [
        builder.handle(builder, number, entry[0].results[0])
        for number, entry in enumerate(entries)
        if not is_live[number] and entry and _raises(entry[0]) and not builder.values.know(number)
    ]
    if unused:
        bind(needed_p, NONE, *unused)


def _raises(op: Any) -> bool:
    """Whether an operation may raise by itself, or one of the programs among its parameters."""
    return isinstance(op, Operation) and any(x.primitive.facts.raises for x in with_nested([op]))
