"""Refuses derivatives that depend on a choice of eigenvectors, in the mode that cannot see it.

Eigenvectors of equal eigenvalues, and other vectors that are any basis of a space, have no
derivative; results that do not depend on which basis it is have one.  In reverse mode a rule sees
whether they do: along a rotation K of the basis a result changes by ⟨c, K⟩, where c is its
cotangent, so that c must vanish on all of them.  In forward mode no rule sees what becomes of its
tangents.  So a generic cotangent of each result is pulled back, once for a point: the sum of its
elements with generic weights does not depend on the choice if none of the elements does, and else
almost surely does.

Derivatives of a derivative have it the other way round.  Cotangents of equal eigenvalues have to
be equal, and have to stay so to first order: what forward mode sees of each direction, and reverse
mode of none.  So reverse mode pushes a generic tangent forward.

What one mode refuses, the other refuses, and nothing else.  Where no two values are equal the
answer is known, and neither asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import compress
from typing import Final, NamedTuple

from funcdiff.core.atoms import Atom, literal
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, map_nested, rearrange, with_nested
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, FLOAT, INT, ArrayType, real_dtype
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.control.cond import cond
from funcdiff.ops.elementwise.complex import join, real_part
from funcdiff.ops.elementwise.logic import logical_and, logical_not, logical_or
from funcdiff.ops.elementwise.mathematics import cos
from funcdiff.ops.linalg.degeneracy import (
    Averaging,
    Choice,
    Directed,
    Gauge,
    Sharing,
    Turn,
    agreement_p,
    checked,
)
from funcdiff.ops.linalg.matrices import on_diagonal
from funcdiff.ops.structure.structural import convert, iota, reshape, stop_gradient
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.space import add, reduce_sum
from funcdiff.transforms.jvp import Mask
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose

_NUMBER: Final = ArrayType((), FLOAT)


class _Question(NamedTuple):
    """A program of residuals and generic vectors that raises if results depend on a choice."""

    program: Program
    results: tuple[int, ...]  # those that it is about


@memoised
def refuse_choices(program: Program, active: Mask, results: int, *, forward: bool) -> Program:
    """Return the program with a check that its derivatives depend on no choice of vectors.

    They are those of the first `results` outputs by the active inputs, in forward or reverse mode.
    """
    moves = any(t.size for t in compress(program.input_types, active))
    if not (moves and any(map(_may_offer if forward else _offers, with_nested(program.equations)))):
        return program
    split = linearize(_with_outputs(program, program.outputs[:results]), active)
    if not has_choices(split.linear):
        return program
    asked = (_pulled if forward else _pushed)(split, sum(active))
    questions = [q for q in asked if any(map(_is_check, with_nested(q.program.equations)))]
    if not questions:
        return program
    programs = [q.program for q in questions]
    with Builder("choices", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        fixed = [stop_gradient(x) if x.type.differentiable else x for x in xs]
        ways = _check(split, programs)
        answers = cond(convert(_is_open(split, programs, xs), INT), ways, fixed)
        ys = inline(program, xs)
        for question, answer in zip(questions, answers, strict=True):
            for k in question.results:
                ys[k] = checked(ys[k], answer)
        return simplify(builder.program(ys))  # the factorization is there already


def has_choices(linear: Program) -> bool:
    """Whether a linear program may depend on a choice: its transpose sees what it does not."""
    return any(map(_offers, with_nested(linear.equations)))


def require_agreement(pulled: Program) -> Program:
    """Return a pullback in which equal values have to be used alike if vectors are used at all.

    Values alone may be used in different ways: equal ones share their cotangents.  The vectors may
    be those of another equation, as of V·diag(w)·Vᴴ with w = eigvalsh(2·A), where the rule of
    neither sees what is missing.
    """
    turns = any(isinstance(eq.params, Turn) for eq in with_nested(pulled.equations))
    return _with_agreement(pulled) if turns else pulled


def _with_agreement(program: Program) -> Program:
    found = [
        equation(agreement_p, Sharing(checked=True), eq.operands, eq.results)
        if isinstance(eq.params, Averaging)
        else equation(eq.primitive, map_nested(_with_agreement, eq.params), eq.operands, eq.results)
        for eq in program.equations
    ]
    return replace(program, equations=tuple(found))


def _may_offer(eq: Equation) -> bool:
    return eq.primitive.facts.raises


def _offers(eq: Equation) -> bool:
    return isinstance(eq.params, Choice)


def _is_check(eq: Equation) -> bool:
    return isinstance(eq.params, Choice) and eq.params.checks


def _with_outputs(program: Program, outputs: Sequence[Atom]) -> Program:
    return Program(program.inputs, program.equations, tuple(outputs), program.origins)


def _pulled(split: Linearized, count: int) -> Iterator[_Question]:
    """Yield the pullback of each result."""
    known = (False,) * split.residuals
    places = [k for k, moves in enumerate(split.mask) if moves]
    for k in places:
        present = tuple([k == j for j in places])
        pulled = require_agreement(transpose(split.linear, (True,) * count + known, present))
        yield _Question(simplify_linear(pulled, (*known, True)), (k,))


def _pushed(split: Linearized, count: int) -> Iterator[_Question]:
    """Yield the pushforward if there is something that forward mode alone can see."""
    linear = split.linear
    if any(
        isinstance(op.params, Directed) and op.params.checks for op in with_nested(linear.equations)
    ):
        order = [*range(count, count + split.residuals), *range(count)]
        pushed = rearrange(linear, order, range(len(linear.outputs)))
        yield _Question(pushed, tuple([k for k, moves in enumerate(split.mask) if moves]))


def _residuals(split: Linearized, xs: Sequence[Tracer]) -> list[Tracer]:
    return inline(split.primal, xs)[len(split.mask) :]


def _check(split: Linearized, pulled: Sequence[Program]) -> tuple[Program, Program]:
    """Return programs of a number for each result, which depends on its check, or on nothing."""
    with Builder("check", SHARED) as builder:
        residuals = _residuals(split, [builder.input(t) for t in split.primal.input_types])
        answers = []
        for program in pulled:
            cts = inline(program, [*residuals, *_generic(program, residuals)])
            sums = [reduce_sum(real_part(ct), tuple(range(ct.ndim))) for ct in cts]
            answers.append(reduce(add, [convert(x, _NUMBER.dtype) for x in sums]))
        check = simplify(builder.program(answers))
    nothing = Program(check.inputs, (), (literal(0.0, _NUMBER),) * len(pulled))
    return nothing, check


def _generic(program: Program, residuals: Sequence[Tracer]) -> list[Tracer]:
    return list(map(_weights, program.input_types[len(residuals) :]))


def _weights(type_: ArrayType) -> Tracer:
    """Return cos(k), k = 1, 2, …, with imaginary parts of their own if complex."""
    flat = ArrayType((type_.size,), real_dtype(type_.dtype))
    numbers = add(convert(iota(flat.shape, 0), flat.dtype), constant(1, flat))
    weights = cos(numbers)
    if type_.dtype.kind == "c":
        weights = join(weights, cos(add(weights, numbers)))
    return reshape(weights, type_.shape)


def _is_open(split: Linearized, pulled: Sequence[Program], xs: Sequence[Tracer]) -> Tracer:
    """Return whether there is a choice at the point; in loops, and without a mask, there may be."""
    chosen = [[eq for eq in p.equations if _is_check(eq)] for p in pulled]
    has_masks = all(len(eq.operands) > 1 for found in chosen for eq in found)
    checks = sum(_is_check(eq) for p in pulled for eq in with_nested(p.equations))
    if not has_masks or checks > sum(map(len, chosen)):
        return constant(True, ArrayType((), BOOL))
    residuals = _residuals(split, xs)
    answers: list[Tracer] = []
    for program, found in zip(pulled, chosen, strict=True):
        masks = _with_outputs(program, [eq.operands[-1] for eq in found])
        known = [*residuals, *_generic(program, residuals)]
        answers += map(_is_any, found, inline(simplify(masks), known))
    return reduce(logical_or, answers)


def _is_any(eq: Equation, mask: Tracer) -> Tracer:
    """Return whether a mask leaves something to choose.

    Each value is equal to itself: its vector has no choice but its phase, if it is complex.
    """
    t = eq.operands[0].type
    is_of_pairs = isinstance(eq.params, Gauge | Sharing) and mask.ndim >= t.ndim
    has_phases = isinstance(eq.params, Gauge) and t.dtype.kind == "c"
    if is_of_pairs and not has_phases:
        mask = logical_and(mask, logical_not(on_diagonal(mask.type)))
    return reduce_any(mask, tuple(range(mask.ndim)))
