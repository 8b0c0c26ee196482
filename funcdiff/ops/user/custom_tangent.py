"""The tangent of a function with a VJP rule.

The tangent equation runs the transposed rule forward; its transpose is the rule itself, as the
user wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.families import several
from funcdiff.ops.user.custom_rules import Tangent, batched_rule, nonlinear
from funcdiff.ops.user.linear_part import transpose_rule
from funcdiff.space import align, instantiate
from funcdiff.transforms.jvp import push


def _cotangents(p: Tangent) -> tuple[ArrayType, ...]:
    return p.backward.input_types[p.residuals + p.captures :]


def _abstract_tangent(p: Tangent, *types: ArrayType) -> Types:
    known = p.residuals + p.captures
    wanted = (*p.backward.input_types[:known], *p.backward.output_types)
    if types[:known] + types[known + p.primals :] != wanted:
        raise TypeError(f"the tangent of {p.name} takes {wanted}, got {types}")
    return _cotangents(p)


def _tangent_impl(p: Tangent) -> Callable[..., Any]:
    # the transposed rule is made only if forward mode runs: the rule may have no transpose
    return several(lambda *xs: executable(pushed_forward(p.backward, p))(*xs))


@memoised
def pushed_forward(backward: Program, p: Tangent) -> Program:
    """Return the tangent equation as a program of the same operands."""
    known = p.residuals + p.captures
    with Builder("custom", SHARED) as builder:
        kept = [builder.input(t) for t in backward.input_types[:known]]
        types = p.jvp[0].input_types[: p.primals] if p.jvp else ()
        xs = [builder.input(t) for t in types]
        ts = [builder.input(t) for t in backward.output_types]
        if p.jvp:
            pushed = inline(p.jvp[0], [*xs, *kept[p.residuals :], *ts])
            return builder.program(pushed[len(pushed) - len(_cotangents(p)) :])
        return builder.program(_transpose_backward(p, kept, ts))


def _transpose_backward(p: Tangent, known: Tracers, ts: Tracers) -> list[Tracer]:
    """Emit the tangents of the results: the backward rule, linear in its cotangents, transposed."""
    pushed = transpose_rule(p.backward, known, ts)
    if pushed is None:
        raise NotDifferentiableError(nonlinear(p.name, "backward"))
    return pushed


def _tangent_jvp(p: Tangent, xs: Tracers, ts: Tangents, *, split: bool = False) -> Pushed:
    return push(pushed_forward(p.backward, p), xs, ts, split=split)


def _tangent_transpose(p: Tangent, _types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    known = xs[: p.residuals + p.captures]
    arrived = [instantiate(ct, t) for ct, t in zip(cts, _cotangents(p), strict=True)]
    pulled = inline(p.backward, [*(x for x in known if x is not None), *arrived])
    return [*(None for _ in xs[: len(xs) - len(pulled)]), *pulled]


def _tangent_batch(p: Tangent, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    first, second = p.residuals, p.residuals + p.captures
    captures = batched[first:second]
    rule = replace(
        p,
        jvp=tuple(batched_rule(program, size, p.primals, captures) for program in p.jvp),
        backward=batched_rule(p.backward, size, first, captures),
    )
    return bind(
        tangent_p,
        rule,
        *align(size, xs[:first], batched[:first]),
        *xs[first:second],
        *align(size, xs[second:], batched[second:]),
    )


tangent_p: Final = Primitive(
    "custom_tangent",
    Tangent,
    _abstract_tangent,
    _tangent_impl,
    _tangent_jvp,
    _tangent_transpose,
    _tangent_batch,
    partial(_tangent_jvp, split=True),
)
