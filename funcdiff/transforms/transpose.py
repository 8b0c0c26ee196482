"""Transposition: turn a linear program around, from inputs to outputs into the reverse.

For ``y = A·x`` the result is ``ct_x = Aᵀ·ct_y`` (without conjugation).  Reverse mode is this,
applied to the linear half of `linearize`.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.origins import Origin
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import copy_equation, copying_from, following, hand_on
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.space import Maybe, add, instantiate
from funcdiff.transforms.jvp import Mask


@memoised
def transpose(program: Program, linear: Mask, present: Mask = ()) -> Program:
    """Return the transpose of a program that is linear in some of its inputs.

    Its inputs are ``(*known, *ct_y)``, the inputs that are not linear and the cotangents of the
    outputs that are present, by default all; its outputs are ``ct_x``, one for each linear input.
    """
    present = present or (True,) * len(program.outputs)
    with Builder("transpose", SHARED) as builder:
        xs = [
            None if flag else builder.input(v.type)
            for v, flag in zip(program.inputs, linear, strict=True)
        ]
        cts = [
            builder.input(atom.type) if flag else None
            for atom, flag in zip(program.outputs, present, strict=True)
        ]
        return builder.program(pull(program, xs, cts))


def pull(program: Program, xs: Sequence[Maybe], cts: Sequence[Maybe]) -> list[Tracer]:
    """Emit the cotangents of those inputs whose `xs` is None, in order."""
    env, given = _evaluate_known(program, xs)
    gathered: dict[int, Tracer] = {}

    def deposit(atom: Atom, ct: Maybe) -> None:
        if ct is not None and not isinstance(atom, Literal) and env[atom.number] is None:
            before = gathered.get(atom.number)
            gathered[atom.number] = ct if before is None else add(before, ct)

    hand_on(program, program.outputs, cts, Origin.cotangent)
    for atom, ct in zip(program.outputs, cts, strict=True):
        deposit(atom, ct)
    for eq, operands in zip(reversed(program.equations), reversed(given), strict=True):
        outgoing = [gathered.pop(v.number, None) for v in eq.results]
        if all(ct is None for ct in outgoing):
            continue
        if eq.primitive.transpose is None:
            raise NotDifferentiableError(f"{eq.primitive.name} has no transpose: it is not linear")
        types = eq.operation.operands
        hand_on(program, eq.results, outgoing, Origin.cotangent)
        with copying_from(program, eq):
            incoming = eq.primitive.transpose(eq.params, types, outgoing, operands)
            for atom, ct in zip(eq.operands, incoming, strict=True):
                deposit(atom, ct)
    found = [gathered.get(v.number) for v in program.inputs]
    hand_on(program, program.inputs, found, Origin.cotangent)
    return [
        instantiate(ct, v.type)
        for v, x, ct in zip(program.inputs, xs, found, strict=True)
        if x is None
    ]


def is_zero(ct: Atom) -> bool:
    """Whether a transposed program returns nothing but zeros for this cotangent."""
    return isinstance(ct, Literal) and bool(ct.value == 0)


def _evaluate_known(program: Program, xs: Sequence[Maybe]) -> tuple[list[Maybe], list[list[Maybe]]]:
    """Return the values of all variables, None for those that depend on a linear input.

    The second result is the same of the operands of each equation.
    """
    env: list[Maybe] = list(xs)
    given: list[list[Maybe]] = []
    copy = following(program, xs, copy_equation)
    for eq in program.equations:
        operands = [
            constant(atom.value, atom.type) if isinstance(atom, Literal) else env[atom.number]
            for atom in eq.operands
        ]
        given.append(operands)
        known = [x for x in operands if x is not None]
        if len(known) == len(operands):
            env.extend(copy(eq, known))
        else:
            env += [None] * len(eq.results)
    return env, given
