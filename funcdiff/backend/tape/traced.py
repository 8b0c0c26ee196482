"""Arithmetic of tapes on tracers: the trace outside records results and derivatives.

Derivatives of elementwise operations are recorded as they are kept for values; the rules of others
are run on the tracers, for their derivatives would be those of one shape.

Without it the first `hvp` of a chain of operations takes 2.7 to 3.4 times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Any, Final

from funcdiff.backend.tape.on_values import Arithmetic, Recorded
from funcdiff.backend.tape.steps import (
    Step,
    linear_part,
    pull_step,
    push_step,
    sum_parts,
    transposed,
    with_shape,
)
from funcdiff.core.atoms import Entry, Literal
from funcdiff.core.late import late_import
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.space import add
from funcdiff.transforms.jvp import Mask, spread
from funcdiff.transforms.transpose import is_zero, pull


def goes_by_tape(entries: Sequence[Entry]) -> bool:
    """Whether the derivative of a recording is that of one operation after the other.

    That functions of a radius are smooth is seen in the whole program (`passes.rewrites.radii`),
    and what may raise is not to be evaluated here.
    """
    radii: Any = late_import("funcdiff.passes.rewrites.radii")
    raising = [entry for entry in entries if entry and getattr(entry[0], "may_raise", False)]
    return not raising and not radii.may_have_radii(entries)


class _Traced(Arithmetic):
    """Records what the tape does; raises NeedsProgramError as the derivation of a step does."""

    def constant(self, number: Literal) -> Tracer:
        return Builder.handle(None, number, number.type)

    def full(self, value: float, type_: ArrayType) -> Tracer:
        return constant(value, type_)

    def run(self, op: Operation, operands: Sequence[Tracer]) -> Any:
        ys = bind(op.primitive, op.params, *operands)
        return ys[0] if op.result_count == 1 else ys

    def pull(self, op: Operation, active: Mask, present: Mask) -> Recorded:
        if op.primitive.pointwise:
            return _record(op, pull_step(op, active, present))
        places = tuple(compress(range(len(active)), active))
        return Recorded(partial(_pull, op, active, present), places)

    def push(self, op: Operation, active: Mask) -> Recorded:
        return _record(op, push_step(op, active))

    def add(self, x: Tracer, y: Tracer | None) -> Tracer:
        """Return the sum; what is added to zeros is added to the other one instead."""
        if y is None:
            return x
        parts = sum_parts(y)
        if parts is None:
            return add(x, y)
        head, values = parts
        return bind(head.primitive, head.params, x, *values)[0]


TRACED: Final = _Traced()


def _record(op: Operation, step: Step) -> Recorded:
    program = with_shape(step.program, op.operands[0].shape)
    return Recorded(lambda *operands: inline(program, operands), step.places)


def _pull(op: Operation, active: Mask, present: Mask, *values: Tracer) -> list[Tracer | None]:
    """Emit the cotangents of the active operands, of operands, results and cotangents."""
    count = len(op.operands)
    cts = spread(values[count + op.result_count :], present)
    found = transposed(op, active, values[:count], cts)
    if found is None:
        linear, residuals = linear_part(op, active, values[:count], forward=False)
        found = pull(linear, [*(None for _ in range(sum(active))), *residuals], cts)
    return [None if isinstance(ct.atom, Literal) and is_zero(ct.atom) else ct for ct in found]
