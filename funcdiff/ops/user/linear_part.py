"""Linearity analysis: programs that are linear in some inputs, as far as their equations tell.

A program is if its derivative does not depend on the inputs, every value on the way has one, and
it is zero where the inputs are, as ``2·t``, but not ``t + 1``.  Zeros go through its equations by
the kind of operation: a sum is zero if all its terms are, a product if a factor is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Primitive, Tracers
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, live_equations, nested
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.rematerialization import Checkpoint
from funcdiff.ops.control.sweeps import Loop, Scan, While, input_flags
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.space import zeros
from funcdiff.transforms.jvp import Mask, jvp
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose


class Flags(NamedTuple):
    """Of values: which are certainly zero, and which depend on the inputs that are varied."""

    zero: list[bool]
    varied: list[bool]


def zero_flags(program: Program, zero: Sequence[bool], varied: Sequence[bool]) -> Flags:
    """Return the flags of the outputs of a program, from those of its inputs."""
    zeros = {v for v, flag in zip(program.inputs, zero, strict=True) if flag}
    moved = {v for v, flag in zip(program.inputs, varied, strict=True) if flag}

    def read(atoms: Sequence[Atom]) -> Flags:
        return Flags(
            [bool(x.value == 0) if isinstance(x, Literal) else x in zeros for x in atoms],
            [x in moved for x in atoms],
        )

    for eq in program.equations:
        found = _results(eq, read(eq.operands))
        zeros.update(v for v, flag in zip(eq.results, found.zero, strict=True) if flag)
        moved.update(v for v, flag in zip(eq.results, found.varied, strict=True) if flag)
    return read(program.outputs)


def _results(eq: Equation, given: Flags) -> Flags:
    if isinstance(eq.params, Checkpoint):
        return zero_flags(eq.params.body, *given)
    if isinstance(eq.params, Cond):
        branches = [zero_flags(b, given.zero[1:], given.varied[1:]) for b in eq.params.branches]
        return Flags(
            [all(flags) for flags in zip(*(b.zero for b in branches), strict=True)],
            [any(flags) for flags in zip(*(b.varied for b in branches), strict=True)],
        )
    if isinstance(eq.params, Scan | While):
        return _sweep(eq.params.loop, given)
    varied = any(given.varied)
    return Flags([_is_zero(eq.primitive, given)] * len(eq.results), [varied] * len(eq.results))


def _is_zero(primitive: Primitive[Any], given: Flags) -> bool:
    if primitive.facts.linear is not None:
        return all(given.zero[primitive.facts.linear])
    if primitive.facts.elements == "multiplied":
        return any(given.zero)
    # linear in each operand that is varied, or its derivative would not be the same everywhere
    return any(z and v for z, v in zip(*given, strict=True))


def _repeat(body: Program, constants: int, carries: int, given: Flags, *, runs: bool) -> Flags:
    """Return the flags of a loop: a carry is zero if every iteration keeps it zero.

    `runs` tells whether there certainly is an iteration.
    """
    zero, varied = given
    start, end = constants, constants + carries
    while True:
        found = zero_flags(body, zero, varied)
        after = [a and b for a, b in zip(zero[start:end], found.zero, strict=False)]
        moved = [a or b for a, b in zip(varied[start:end], found.varied, strict=False)]
        if after == zero[start:end] and moved == varied[start:end]:
            break
        zero = [*zero[:start], *after, *zero[end:]]
        varied = [*varied[:start], *moved, *varied[end:]]
    return (
        found if runs else Flags([*after, *found.zero[carries:]], [*moved, *found.varied[carries:]])
    )


def _sweep(p: Loop, given: Flags) -> Flags:
    """Return the flags of the results of a loop, whose sweeps hand rows on."""
    constants, carries, rows = zip(*map(p.split, given), strict=True)
    results = Flags([], [])
    runs = isinstance(p.end, int) and p.end > 0
    for k, body in enumerate(p.sweeps):
        n = p.carries[k]
        operands = [
            [*own, *groups[k], *left]
            for own, groups, left in zip(constants, carries, rows, strict=True)
        ]
        found = _repeat(body, p.constants, n, Flags(*operands), runs=runs)
        for flags, ended, left in zip(found, results, rows, strict=True):
            ended += flags[:n]
            left += flags[n:]
    for ended, left in zip(results, rows, strict=True):
        ended += [left[j] for j in p.leaving]
    return results


# ---- linear programs -----------------------------------------------------------------------------


@memoised
def linear_part(rule: Program, known: int, values: int = 0) -> Linearized | None:
    """Return a rule as linear in its inputs behind the first ones; None if it is not linear.

    Of its outputs, the first `values` do not count.
    """
    active = (False,) * known + (True,) * (len(rule.inputs) - known)
    split = linearize(rule, active)
    if any(dependent(split.primal, active)[len(rule.outputs) :]):
        return None
    if has_hidden(rule, active, trusts_rules=True, outputs=range(values, len(rule.outputs))):
        return None
    # a constant has no derivative: it would be part of the result in one mode only
    if not all(zero_flags(rule, active, active).zero[values:]):
        return None
    return split


def transpose_rule(
    rule: Program, known: Tracers, cts: Tracers, values: int = 0
) -> list[Tracer] | None:
    """Emit the cotangents of the inputs of a rule behind those known; None if it is not linear.

    Cotangents arrive for the outputs behind the first `values`.
    """
    part = linear_part(rule, len(known), values)
    if part is None:
        return None
    moving = rule.input_types[len(known) :]
    residuals = inline(part.primal, [*known, *map(zeros, moving)])[len(rule.outputs) :]
    arrived = [ct for ct, has in zip(cts, part.mask[values:], strict=True) if has]
    flags = (True,) * len(moving) + (False,) * part.residuals
    return inline(transpose(part.linear, flags), [*residuals, *arrived])


def has_hidden(
    program: Program, active: Mask, *, trusts_rules: bool, outputs: Sequence[int] | None = None
) -> bool:
    """Whether a value that depends on active inputs has no tangent, as ``np.floor(x)``.

    `trusts_rules` takes functions with rules of their own for what their rules say; otherwise
    those that other equations hold may hide anything.  What the outputs, or some of them, do not
    need does not count, but for checks.
    """
    ends = program.outputs if outputs is None else [program.outputs[k] for k in outputs]
    equations = [program.equations[k] for k in sorted(live_equations(program, ends))]
    variables = tuple(v for eq in equations for v in eq.results)
    every = Program(program.inputs, program.equations, variables)
    depends, moves = dependent(every, active), jvp(every, active)[1]
    if any(a and not b for a, b in zip(depends, moves, strict=True)):
        return True
    reached = {v for v, flag in zip(program.inputs, active, strict=True) if flag}
    reached.update(v for v, flag in zip(variables, depends, strict=True) if flag)
    for eq in equations:
        if reached.isdisjoint(eq.results):
            continue
        if isinstance(eq.params, Custom | Tangent):
            if trusts_rules:
                continue
            return True
        flags = tuple(atom in reached for atom in eq.operands)
        for inner, marked in _within(eq.params, flags):
            if has_hidden(inner, marked, trusts_rules=trusts_rules):
                return True
    return False


def _within(p: Params, flags: Mask) -> Iterator[tuple[Program, Mask]]:
    """Yield the programs of an equation, and which inputs depend on the marked operands."""
    if isinstance(p, Cond):
        yield from ((branch, flags[1:]) for branch in p.branches)
    elif isinstance(p, Scan | While):
        loop = p.loop
        marked, _ = input_flags(loop, flags, dependent)
        if isinstance(loop.end, Program):
            yield loop.end, marked[0][: len(loop.end.inputs)]
        yield from zip(loop.sweeps, marked, strict=True)
    else:
        for inner in nested(p):
            every = tuple(t.differentiable for t in inner.input_types)
            yield inner, flags if len(flags) == len(every) else every


@memoised
def pushforward(program: Program, active: Mask, wanted: Mask = ()) -> Program:
    """Return ``(*xs, *t_xs) -> t_ys`` of a program, linear in the tangents, as in `jvp`."""
    split = linearize(program, active, wanted)
    with Builder("pushforward", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        ts = [builder.input(x.type) for x in compress(xs, active)]
        residuals = inline(split.primal, xs)[len(split.mask) :]
        return builder.program(inline(split.linear, [*ts, *residuals]))
