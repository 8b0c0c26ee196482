"""Forward mode: push tangents through a program beside its values.

``y = f(x)`` becomes ``(y, t_y) = (f(x), f'(x)·t_x)``, equation by equation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from funcdiff.core.origins import Origin
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation, Pushed
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import copy_equation, hand_on, walk
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.space import Maybe, instantiate

Mask: TypeAlias = tuple[bool, ...]


def present(values: Sequence[Maybe]) -> list[Tracer]:
    """Return the values that are not structural zeros."""
    return [v for v in values if v is not None]


def spread(values: Iterable[Any], mask: Sequence[bool]) -> list[Any]:
    """Return one entry per flag: the next value where it is set, None elsewhere."""
    rest = iter(values)
    return [next(rest) if flag else None for flag in mask]


@memoised
def jvp(program: Program, active: Mask, wanted: Mask = ()) -> tuple[Program, Mask]:
    """Return the program of values and tangents.

    Parameters
    ----------
    program
        Of inputs ``x`` and outputs ``y``.
    active
        Which inputs have a tangent.
    wanted
        Which outputs must have one even if it is zero; by default none.

    Returns
    -------
    program
        Of inputs ``(*x, *t_x)`` for active ``x`` and outputs ``(*y, *t_y)``.
    mask
        Which outputs have a tangent.
    """
    with Builder("jvp", SHARED) as builder:
        xs = [builder.input(v.type) for v in program.inputs]
        ts = [builder.input(x.type) if on else None for x, on in zip(xs, active, strict=True)]
        ys, tangents = push(program, xs, ts)
        for k, want in enumerate(wanted):
            if want:
                tangents[k] = instantiate(tangents[k], ys[k].type)
        return builder.program([*ys, *present(tangents)]), tuple(t is not None for t in tangents)


def push(
    program: Program, xs: Sequence[Tracer], ts: Sequence[Maybe], *, split: bool = False
) -> tuple[list[Tracer], list[Maybe]]:
    """Emit values and tangents of a program; `split` keeps the two in equations of their own."""
    tangents: dict[int, Maybe] = dict(enumerate(ts))

    def rule(eq: Equation, operands: list[Tracer]) -> Sequence[Tracer]:
        incoming = [tangents.get(getattr(atom, "number", -1)) for atom in eq.operands]
        if all(t is None for t in incoming):
            return copy_equation(eq, operands)
        ys, outgoing = push_operation(eq.operation, operands, incoming, split=split)
        hand_on(program, eq.results, outgoing, Origin.tangent)
        tangents.update(zip((v.number for v in eq.results), outgoing, strict=True))
        return ys

    hand_on(program, program.inputs, ts, Origin.tangent)
    ys = walk(program, xs, rule, derives=True)
    return ys, [tangents.get(getattr(atom, "number", -1)) for atom in program.outputs]


def push_operation(
    op: Operation, xs: Sequence[Tracer], ts: Sequence[Maybe], *, split: bool = False
) -> Pushed:
    """Emit values and tangents of one operation, of whose operands some have a tangent."""
    primitive = op.primitive
    emit = (primitive.linearize if split else None) or primitive.jvp
    if emit is None:
        raise NotDifferentiableError(f"{primitive.name} has no derivative rule")
    return emit(op.params, xs, ts)
