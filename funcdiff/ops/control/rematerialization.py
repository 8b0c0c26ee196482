"""Rematerialization: `checkpoint`, whose derivative keeps operands and values named by `tap` only.

The derivative computes the others once more where it needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from funcdiff.core.atoms import Var
from funcdiff.core.implementation import Implementation
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Equation, Program, atoms_in_use
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.walk import inline, rearrange, walk, with_a_result
from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import OF_BODY, abstract_body, linear, run_body
from funcdiff.transforms.jvp import jvp, present, spread
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import batch_outputs

# ---- Named intermediate values: `tap`, the identity, which gives a value in a program a name -----
#
# Derivatives go through it as if it were not there, so in a derived program it names the value.


class Tap(Params):
    """The name, and which of the leaves of the container that has it."""

    name: str
    leaf: int


tap_p: Final = linear(
    "tap",
    Tap,
    abstract=lambda _p, x: (x,),
    impl=Implementation(lambda _p: lambda x: x, view=True),
    transpose=lambda _p, _types, cts, _xs: cts,
    jvp=lambda p, xs, ts: ([tap(xs[0], p)], ts),
    facts=Facts("scaled"),
)


def tap(x: Tracer, p: Tap) -> Tracer:
    """Return `x`, named."""
    return bind(tap_p, p, x)[0]


class Checkpoint(Params):
    """The program that is computed again, and the tapped values that are not."""

    body: Program
    keep: tuple[str, ...] = ()


def _checkpoint_jvp(p: Checkpoint, xs: Tracers, ts: Tangents) -> Pushed:
    pushed, mask = jvp(p.body, tuple(t is not None for t in ts))
    results = checkpoint(pushed, [*xs, *present(ts)], p.keep)
    return results[: len(mask)], spread(results[len(mask) :], mask)


def _checkpoint_linearize(p: Checkpoint, xs: Tracers, ts: Tangents) -> Pushed:
    split = linearize(p.body, tuple(t is not None for t in ts))
    recomputing, places, kept = _recompute_residuals(split, p.keep)
    # values of the rules, not of the body: what they derive may be theirs, as vectors of a basis
    count = len(split.mask)
    body = rearrange(split.primal, range(len(xs)), range(count))
    results = checkpoint(_with_taps(body, kept), xs, p.keep)
    known = [*(xs[k] for k in places), *results[count:]]
    return results[:count], spread(checkpoint(recomputing, [*known, *present(ts)]), split.mask)


def _recompute_residuals(
    split: Linearized, keep: tuple[str, ...]
) -> tuple[Program, list[int], list[Params]]:
    """Return the program of the tangents that computes its residuals itself.

    It takes ``(*xs, *kept, *t_xs)``, but of ``xs`` and ``kept`` only what it needs: it is also
    returned which operands those are, and values of which taps.
    """
    first = len(split.primal.inputs)
    with Builder("checkpoint", SHARED) as builder:
        xs = [builder.input(t) for t in split.primal.input_types]
        # what is tapped is replaced together with the result of the tap: they are equal
        replaced: dict[Any, Tracer] = {}
        taps: list[Params] = []
        for eq in _taps(split.primal, keep):
            replaced[eq.operands[0]] = replaced[eq.results[0]] = builder.input(eq.results[0].type)
            taps.append(eq.params)

        def rule(eq: Equation, operands: list[Tracer]) -> Tracers:
            silent = eq.primitive is tap_p
            ys = operands if silent else bind(eq.primitive, eq.params, *operands)
            return [replaced.get(v, y) for v, y in zip(eq.results, ys, strict=True)]

        count = len(split.linear.inputs) - split.residuals
        ts = [builder.input(t) for t in split.linear.input_types[:count]]
        residuals = walk(split.primal, xs, rule)[len(split.mask) :]
        program = builder.program(inline(split.linear, [*ts, *residuals]))
    needed = atoms_in_use(program)
    known = range(first + len(taps))
    useful = [k for k in known if program.inputs[k] in needed]
    inputs = [*useful, *range(len(known), len(program.inputs))]
    return (
        rearrange(program, inputs, range(len(program.outputs))),
        [k for k in useful if k < first],
        [taps[k - first] for k in useful if k >= first],
    )


def _taps(program: Program, keep: tuple[str, ...]) -> list[Equation]:
    """Return the taps of values to be kept; an operand of the program is kept anyway."""
    found: dict[Params, Equation] = {}
    for eq in program.equations:
        p = eq.params
        if isinstance(p, Tap) and p.name in keep:
            (x,) = eq.operands
            if isinstance(x, Var) and x not in program.inputs:
                found.setdefault(p, eq)
    return list(found.values())


def _with_taps(body: Program, taps: Sequence[Params]) -> Program:
    """Return the body with some tapped values as further outputs."""
    if not taps:
        return body
    results = {eq.params: eq.results[0] for eq in reversed(body.equations) if eq.primitive is tap_p}
    return replace(body, outputs=(*body.outputs, *(results[p] for p in taps)))


def _checkpoint_transpose(p: Checkpoint, _types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    linear = tuple(x is None for x in xs)
    pulled = transpose(p.body, linear, tuple(ct is not None for ct in cts))
    return spread(checkpoint(pulled, [*present(xs), *present(cts)]), linear)


checkpoint_p: Final = Primitive(
    "checkpoint",
    Checkpoint,
    abstract_body,
    run_body,
    _checkpoint_jvp,
    _checkpoint_transpose,
    lambda p, size, xs, batched: checkpoint(batch_outputs(p.body, size, batched), xs, p.keep),
    _checkpoint_linearize,
    OF_BODY,
)


def checkpoint(body: Program, operands: Tracers, keep: tuple[str, ...] = ()) -> Tracers:
    """Apply a program whose derivatives compute it again, but for the taps named in `keep`."""
    if body.outputs:
        return bind(checkpoint_p, Checkpoint(body, keep), *operands)
    if body.ends:
        bind(checkpoint_p, Checkpoint(with_a_result(body), keep), *operands)
    return []
