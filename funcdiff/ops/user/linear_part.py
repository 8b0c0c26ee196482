"""Linearity analysis: programs that are linear in some inputs, as far as their equations tell.

A program is if its derivative does not depend on the inputs, every value on the way has one, and
it is zero where the inputs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from funcdiff.core.primitive import Params, Tracers
from funcdiff.core.program import Program
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, live_equations, nested
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control import scan
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While, input_flags
from funcdiff.ops.control.vanishing import zero_flags
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.space import zeros
from funcdiff.transforms.jvp import Mask, jvp
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose


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
    elif isinstance(p, Scan):
        yield p.body, scan.linear_inputs(p, flags)
    elif isinstance(p, While):
        marked = input_flags(p, flags, dependent)
        yield p.test, marked[0][: len(p.test.inputs)]
        yield from zip(p.sweeps, marked, strict=True)
    else:
        for inner in nested(p):
            every = tuple(t.differentiable for t in inner.input_types)
            yield inner, flags if len(flags) == len(every) else every
