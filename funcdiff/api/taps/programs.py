"""Derives the programs of `tap_values` and `tap_grads`, memoised by recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.core.atoms import Var
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.memo import memoised
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import Operation, Params
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline, inline_bodies, nested, walk
from funcdiff.errors import InputError, user_location
from funcdiff.ops.control.checkpoint import Checkpoint, Tap
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.ops.user.linear_solve import LinearSolve
from funcdiff.ops.user.root import Root
from funcdiff.passes.simplify import simplify
from funcdiff.space import add

_BODIES: Final = {
    "scan": (
        "scan, map or fori_loop",
        "as part of y from scan, of the result of map, in the carry of fori_loop",
    ),
    "while_loop": ("while_loop", "in the carry"),
    "cond": ("cond or switch", "as a result of every branch"),
}
"""What users call the bodies that primitives have, and how these return one value more."""


class Named(NamedTuple):
    """A name that is asked for: its numeric leaves, and where it was given."""

    name: str
    leaves: tuple[int, ...]
    places: tuple[str, ...]

    @property
    def taps(self) -> list[Tap]:
        """The parameters of its equations."""
        return [Tap(self.name, k) for k in self.leaves]


class Gradients(NamedTuple):
    """The program of the gradients; without a scalar result there is none, and `output` it is."""

    program: Program | None
    output: ArrayType | None


@memoised
def values_program(recording: Recording, wanted: tuple[Named, ...]) -> Program:
    """Return the program of the named values, leaf by leaf."""
    program = _program_with_taps(recording, wanted)
    found: dict[Params, Tracer] = {}

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if isinstance(eq.params, Tap):
            found[eq.params] = xs[0]
            return xs
        return bind(eq.primitive, eq.params, *xs)

    with Builder("tap_values", SHARED) as builder:
        walk(program, [builder.input(t) for t in program.input_types], rule)
        return simplify(builder.program([found[p] for name in wanted for p in name.taps]))


@memoised
def gradients_program(recording: Recording, wanted: tuple[Named, ...]) -> Gradients:
    """Return the program of the gradients with respect to the named values, leaf by leaf.

    To each value something is added, -0: that keeps every bit.  It is differentiated by that.
    """
    if len(recording[1]) != 1:
        return Gradients(None, None)
    program = _program_with_taps(recording, wanted)
    _check_used(program, wanted)
    types = {eq.params: eq.results[0].type for eq in program.equations if _is_tap(eq)}
    taps = [p for name in wanted for p in name.taps]
    _check_differentiable(taps, types, wanted)
    with Builder("tap_grads", CLOSED) as builder:
        added = {p: builder.input(types[p]) for p in taps}

        def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
            if isinstance(eq.params, Tap):
                return [add(xs[0], added[eq.params])] if eq.params in added else xs
            return bind(eq.primitive, eq.params, *xs)

        result, *_ = walk(program, [builder.input(t) for t in program.input_types], rule)
        moved = builder.recording([result])
    derived = gradient_program(moved, len(taps), holomorphic=False, wants_value=False)
    if derived.program is None:
        return Gradients(None, derived.output)
    with Builder("tap_grads", SHARED) as builder:
        nothing = [constant(np.negative(types[p].dtype.type(0)), types[p]) for p in taps]
        xs = [builder.input(t) for t in program.input_types]
        return Gradients(builder.program(inline(derived.program, [*nothing, *xs])), None)


# ---- taps in programs ------------------------------------------------------------------------


def _is_tap(eq: Equation) -> bool:
    return isinstance(eq.params, Tap)


def _names(params: Params) -> set[str]:
    """Return the names given in programs that parameters hold, at any depth."""
    found = set()
    for program in nested(params):
        for eq in program.equations:
            found |= {eq.params.name} if isinstance(eq.params, Tap) else _names(eq.params)
    return found


def _program_with_taps(recording: Recording, wanted: Sequence[Named]) -> Program:
    """Return the recorded program with all its taps, and those of checkpoints, in the open."""
    entries, outputs, origins = recording
    kept = list(outputs)
    for number, (head, *_) in enumerate(entry or (None,) for entry in entries):
        if isinstance(head, Operation) and (isinstance(head.params, Tap) or _names(head.params)):
            kept += range(number, number + len(head.results))
    program = inline_bodies(
        program_of(entries, tuple(kept), origins),
        lambda eq: eq.params.body if isinstance(eq.params, Checkpoint) else None,
    )
    counts: dict[Params, int] = {}
    hidden: dict[str, Equation] = {}
    for eq in program.equations:
        if isinstance(eq.params, Tap):
            counts[eq.params] = counts.get(eq.params, 0) + 1
        else:
            hidden |= dict.fromkeys(_names(eq.params), eq)
    for name in wanted:
        _check_found(name, hidden, [counts.get(p, 0) for p in name.taps])
    return program


def _where_and_cure(eq: Equation) -> tuple[str, str]:
    """Return what messages say of a tap in a program that an equation holds."""
    p, name = eq.params, eq.primitive.name
    if isinstance(p, Custom | Tangent):
        return (
            f"in {p.name}, which has derivative rules of its own: only its results are seen",
            f"Return it from {p.name} beside the result, and tap it where {p.name} is called.",
        )
    if isinstance(p, Root | LinearSolve):
        return (
            f"in a function of {p.name}, where it has no single value",
            "Compute it from the solution, and tap that.",
        )
    loop, returned = _BODIES.get(name, (name, "among its results"))
    return (
        f"in the body of a {loop}, where it has no single value",
        f"Return it from the body, {returned}. Then tap that.",
    )


def _check_found(name: Named, hidden: dict[str, Equation], counts: Sequence[int]) -> None:
    given = f'fd.tap("{name.name}", ...) at {name.places[-1]}'
    if name.name in hidden:
        where, cure = _where_and_cure(hidden[name.name])
        raise InputError(f"{given} is {where}, at {user_location()}. {cure}")
    if any(n > 1 for n in counts):
        before = f", and before at {name.places[-2]}" if len(name.places) > 1 else ""
        raise InputError(
            f"{given} gives the name a second time{before}: it means two values, at "
            f'{user_location()}. Number them: fd.tap(f"{name.name}{{k}}", ...).'
        )
    if not all(counts):
        raise InputError(
            f"what {given} returned is used by nothing that is computed here, at "
            f'{user_location()}. Go on with it: x = fd.tap("{name.name}", x).'
        )


def _check_used(program: Program, wanted: Sequence[Named]) -> None:
    """Refuse a tap whose result is dropped where the value itself is used."""
    live = {program.outputs[0]}
    for eq in reversed(program.equations):
        if not live.isdisjoint(eq.results):
            live.update(eq.operands)
    places = {p: name.places[-1] for name in wanted for p in name.taps}
    for eq in program.equations:
        p, (x, *_) = eq.params, (*eq.operands, None)
        if p in places and eq.results[0] not in live and isinstance(x, Var) and x in live:
            assert isinstance(p, Tap)
            raise InputError(
                f'what fd.tap("{p.name}", ...) at {places[p]} returned is not used, but the value '
                f"itself is, so that the gradient would be zero, at {user_location()}. Go on with "
                f'what it returns: x = fd.tap("{p.name}", x).'
            )


def _check_differentiable(
    taps: Sequence[Tap], types: dict[Params, ArrayType], wanted: Sequence[Named]
) -> None:
    for p in taps:
        if not types[p].differentiable:
            others = ", ".join(repr(n.name) for n in wanted if n.name != p.name)
            raise InputError(
                f'the value of fd.tap("{p.name}", ...) is {types[p]}, which has no derivative, at '
                f"{user_location()}. Leave it out: names=({others})."
            )
