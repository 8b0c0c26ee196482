"""Functions with custom derivative rules: `custom`, whose parameters hold the rules.

The rules are programs, traced by the API where the function was called.  A function that has
either rule has every mode.  The tangent equation of one with a VJP rule runs the transposed rule
forward; its transpose is the rule itself, as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.families import OF_BODY, abstract_body, run_body, several
from funcdiff.ops.user.custom_rules import Custom, Tangent, batch_rule, nonlinear, smooth
from funcdiff.ops.user.linear_part import linear_part, transpose_rule
from funcdiff.space import Maybe, align, instantiate, zeros
from funcdiff.transforms.jvp import present, push, spread

# ---- the tangent of a function with a VJP rule ---------------------------------------------------


def _cotangents(p: Tangent) -> tuple[ArrayType, ...]:
    return p.backward.input_types[p.residuals + p.captures :]


def _abstract_tangent(p: Tangent, *types: ArrayType) -> Types:
    known = p.residuals + p.captures
    wanted = (*p.backward.input_types[:known], *p.backward.output_types)
    if types[:known] + types[known + p.primals :] != wanted:
        raise TypeError(f"the tangent of {p.name} takes {wanted}, got {types}")
    return _cotangents(p)


@memoised
def tangent_program(backward: Program, p: Tangent) -> Program:
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
    return push(tangent_program(p.backward, p), xs, ts, split=split)


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
        jvp=tuple(batch_rule(program, size, p.primals, captures) for program in p.jvp),
        backward=batch_rule(p.backward, size, first, captures),
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
    # the transposed rule is made only if forward mode runs: the rule may have no transpose
    lambda p: several(lambda *xs: executable(tangent_program(p.backward, p))(*xs)),
    _tangent_jvp,
    _tangent_transpose,
    _tangent_batch,
    partial(_tangent_jvp, split=True),
)


# ---- the function --------------------------------------------------------------------------------


def _custom_jvp(p: Custom, xs: Tracers, ts: Tangents, *, split: bool = False) -> Pushed:
    _refuse_captured_tangents(p, ts[p.primals :])
    if all(t is None for t in ts[: p.primals]):
        values = bind(custom_p, p, *xs)
        return values, [None for _ in values]
    places = smooth(p.body.output_types)
    count = len(p.body.outputs)
    types = p.body.input_types
    floating = smooth(types[: p.primals])
    ys: Tracers
    pushed: Tangents
    active = tuple(ts[k] is not None for k in floating)
    tangents = present([ts[k] for k in floating])
    jvp = tuple(_restrict(program, active) for program in p.jvp)
    if p.vjp:
        forward, backward = p.vjp
        results: Tracers = inline(forward, xs)
        captures = xs[p.primals :]
        backward, kept = _restrict_backward(backward, len(results) - count, active)
        ys, residuals = results[:count], [results[count + k] for k in kept]
        primals = xs[: p.primals] if jvp else ()
        rule = Tangent(p.name, len(residuals), len(captures), len(primals), jvp, backward)
        pushed = bind(tangent_p, rule, *residuals, *captures, *primals, *tangents)
    elif p.jvp:
        ys, pushed = _push(p, jvp[0], xs, tangents, split=split)
    else:
        raise NotDifferentiableError(
            f"{p.name} was differentiated once more than its trace had announced, or has no rule "
            f"for it. Define {p.name}.defjvp(rule) or {p.name}.defvjp(forward, backward)."
        )
    outgoing: list[Maybe] = [None] * count
    for k, t in zip(places, pushed, strict=True):
        outgoing[k] = t
    return ys, outgoing


def _push(
    p: Custom, jvp: Program, xs: Tracers, ts: Tracers, *, split: bool
) -> tuple[Tracers, Tangents]:
    """Emit the results and tangents of a JVP rule; split, the tangents are linear equations."""
    count = len(p.body.outputs)
    if not split:
        results = inline(jvp, [*xs, *ts])
        return results[:count], results[count:]
    part = linear_part(jvp, len(xs), count)
    if part is None:
        raise NotDifferentiableError(nonlinear(p.name, "JVP"))
    at_zero = inline(part.primal, [*xs, *(zeros(t.type) for t in ts)])
    moved = inline(part.linear, [*ts, *at_zero[len(jvp.outputs) :]])
    return at_zero[:count], spread(moved, part.mask[count:])


@memoised
def _restrict(jvp: Program, active: tuple[bool, ...]) -> Program:
    """Return a JVP rule in which the other tangents, the last inputs, are zero."""
    if all(active):
        return jvp
    known = len(jvp.inputs) - len(active)
    with Builder("custom", CLOSED) as builder:
        xs = [builder.input(t) for t in jvp.input_types[:known]]
        ts = [
            builder.input(t) if on else zeros(t)
            for t, on in zip(jvp.input_types[known:], active, strict=True)
        ]
        return builder.program(inline(jvp, [*xs, *ts]))


@memoised
def _restrict_backward(
    backward: Program, residuals: int, active: tuple[bool, ...]
) -> tuple[Program, tuple[int, ...]]:
    """Return a backward rule for some cotangents only, and which residuals that needs."""
    wanted = [k for k, on in enumerate(active) if on]
    inputs = range(len(backward.inputs))
    needed = atoms_in_use(rearrange(backward, inputs, wanted))
    kept = tuple(k for k in range(residuals) if backward.inputs[k] in needed)
    return rearrange(backward, [*kept, *inputs[residuals:]], wanted), kept


def _refuse_captured_tangents(p: Custom, ts: Tangents) -> None:
    needed = atoms_in_use(p.body)
    for v, t in zip(p.body.inputs[p.primals :], ts, strict=True):
        if t is not None and v in needed:
            raise NotDifferentiableError(
                f"{p.name} has derivative rules of its own and closes over a traced array of type "
                f"{v.type} that is differentiated, too: its rules say nothing of that. Pass the "
                "array as an argument, or wrap it in fd.stop_gradient."
            )


def _custom_transpose(p: Custom, _types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    """Transpose a call that is linear in some primals, as the rules of linear solvers make.

    The derivative of what is linear is the same everywhere: it is taken at zero.
    """
    types = p.body.input_types
    at = [zeros(t) if x is None else x for x, t in zip(xs, types, strict=True)]
    outputs = p.body.output_types
    arrived = [instantiate(cts[k], outputs[k]) for k in smooth(outputs)]
    places = smooth(types[: p.primals])
    if p.vjp:
        forward, backward = p.vjp
        residuals = inline(forward, at)[len(outputs) :]
        pulled = inline(backward, [*residuals, *at[p.primals :], *arrived])
    elif p.jvp:
        linear = transpose_rule(p.jvp[0], at, arrived, len(outputs))
        if linear is None:
            raise NotDifferentiableError(
                f"{p.name} was transposed, but its JVP rule is not linear in its tangents."
            )
        pulled = linear
    else:
        raise NotDifferentiableError(
            f"{p.name} was transposed, for which it needs a derivative rule. Define "
            f"{p.name}.defvjp(forward, backward), or give the rule that calls it another mode."
        )
    found: list[Maybe] = [None] * len(xs)
    for k, ct in zip(places, pulled, strict=True):
        if xs[k] is None:
            found[k] = ct
    return found


def _custom_batch(p: Custom, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    captures = batched[p.primals :]

    def for_all(program: Program, first: int = p.primals) -> Program:
        return batch_rule(program, size, first, captures)

    vjp = p.vjp
    if vjp:
        forward, backward = vjp
        kept = len(backward.inputs) - len(captures) - len(smooth(p.body.output_types))
        vjp = for_all(forward), for_all(backward, kept)
    rule = replace(p, body=for_all(p.body), jvp=tuple(map(for_all, p.jvp)), vjp=vjp)
    primals = align(size, xs[: p.primals], batched[: p.primals])
    return bind(custom_p, rule, *primals, *xs[p.primals :])


custom_p: Final = Primitive(
    "custom",
    Custom,
    abstract_body,
    run_body,
    _custom_jvp,
    _custom_transpose,
    _custom_batch,
    partial(_custom_jvp, split=True),
    OF_BODY,
)
