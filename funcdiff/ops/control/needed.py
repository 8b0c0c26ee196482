"""Unused equations that may raise: `needed`, which lets a program compute them all the same.

A check such as ``np.linalg.cholesky(K)`` raises in the plain call, though nobody uses its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from funcdiff.core.primitive import NONE, Facts, Operation, Params, Tracers
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.recording.entries import live_variables
from funcdiff.core.running.walk import nested
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.families import constant_op
from funcdiff.space import align


def _impl(_p: Params) -> Callable[..., Any]:
    return lambda *_xs: BOOL.type(True)


def _batch(_p: Params, size: int, xs: Tracers, _batched: Sequence[bool]) -> Tracers:
    return align(size, bind(needed_p, NONE, *xs), [False])


needed_p: Final = constant_op(
    "needed",
    Params,
    abstract=lambda _p, *_xs: (ArrayType((), BOOL),),
    impl=_impl,
    batch=_batch,
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
    return isinstance(op, Operation) and (
        op.primitive.facts.raises
        or any(_raises(eq.operation) for program in nested(op.params) for eq in program.equations)
    )
