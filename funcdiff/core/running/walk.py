"""Traverses programs: visits and re-records equations, finds the producers of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from funcdiff.core.atoms import Atom, Literal, Var, literal
from funcdiff.core.origins import Copying, Origin, note
from funcdiff.core.policy import CLOSED, SHARED, Policy
from funcdiff.core.primitive import Operation, P, Params, Primitive, names_of_programs
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind, constant, current_builder
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.running.memo import memoised
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.errors import InternalError

S = TypeVar("S", Equation, Operation)
"""What has a primitive and parameters."""

Rule: TypeAlias = Callable[[Equation, list[Any]], Sequence[Any]]
"""Of an equation and its operands in the making, gives its results."""


def inline(program: Program, operands: Sequence[Tracer]) -> list[Tracer]:
    """Record the equations of a program, applied to the operands; return its outputs."""
    return walk(program, operands, copy_equation)


def copy_equation(eq: Equation, operands: Sequence[Tracer]) -> Sequence[Tracer]:
    """Record an equation as it is, of other operands."""
    op = eq.operation
    return bind(op.primitive, op.params, *operands)


def walk(
    program: Program, operands: Sequence[Tracer], rule: Rule, *, derives: bool = False
) -> list[Tracer]:
    """Visit the equations in order, giving each to `rule` with its operands; return outputs.

    `derives` says that what a rule records beside the results belongs to a derivative.
    """
    rule = following(program, operands, rule, derives=derives)
    handle = Builder.handle
    env: list[Tracer] = list(operands)
    if len(env) != len(program.inputs):
        raise InternalError(f"{len(env)} operands for a program of {len(program.inputs)} inputs")

    def read(atoms: Sequence[Atom]) -> list[Tracer]:
        return [
            env[atom.number] if isinstance(atom, Var) else handle(None, atom, atom.type)
            for atom in atoms
        ]

    for eq in program.equations:
        ys = rule(eq, read(eq.operands))
        assert len(ys) == len(eq.results), f"the rule of {eq.primitive} gave {len(ys)} results"
        env.extend(ys)
    return read(program.outputs)


# ---- where equations come from ---------------------------------------------------------------


def following(
    program: Program, operands: Sequence[Any], rule: Rule, *, derives: bool = False
) -> Rule:
    """Return a rule that hands on where operands and results come from, if anybody reads it."""
    if program.origins is None:
        return rule
    hand_on(program, program.inputs, operands)
    is_copy = rule is copy_equation

    def follow(eq: Equation, xs: list[Any]) -> Sequence[Any]:
        with copying_from(program, eq, derives=derives, is_copy=is_copy):
            ys = rule(eq, xs)
        hand_on(program, eq.results, ys)
        return ys

    return follow


def hand_on(
    program: Program,
    variables: Iterable[Atom],
    values: Iterable[Any],
    kind: Callable[[Origin], Origin] = lambda origin: origin,
) -> None:
    """Note that values are variables of a program, or what `kind` makes of these."""
    origins = program.origins
    if origins is not None:
        for atom, x in zip(variables, values, strict=False):
            if isinstance(atom, Var):
                note(x, kind(origins[atom.number]))


def copying_from(
    program: Program, eq: Equation, *, derives: bool = True, is_copy: bool = False
) -> AbstractContextManager[None]:
    """Let what is recorded come from where an equation does."""
    if program.origins is None or not eq.results:
        return nullcontext()
    origin, builder = program.origins[eq.results[0].number], current_builder()
    keeps = is_copy and not derives and len(eq.results) == 1  # its name
    if not keeps and (origin.name or (derives and not origin.derived)):
        origin = Origin("", origin.place, origin.derived or derives)
    return Copying(getattr(builder, "entries", None), origin)


# ---- what made a value -----------------------------------------------------------------------


def made_by(x: Tracer, primitive: Primitive[P]) -> tuple[P, list[Tracer]] | None:
    """Return parameters and operands of the equation that made `x`, if it is of that kind."""
    head = maker(x)
    if head is None or head.primitive is not primitive:
        return None
    params: Any = head.params  # of the class that the primitive says
    return params, operands_of(x, head)


def maker(x: Tracer) -> Operation | None:
    """Return the operation that `x` is the first result of."""
    builder, atom = x.builder, x.atom
    if builder is None or isinstance(atom, Literal):
        return None
    entry = builder.entries[atom]
    head = entry[0] if entry else None
    return head if isinstance(head, Operation) else None


def operands_of(x: Tracer, head: Operation) -> list[Tracer]:
    """Return the operands of the equation that made `x`, whose operation is `head`."""
    builder, atom = x.builder, x.atom
    assert builder is not None
    assert isinstance(atom, int)
    refs = builder.entries[atom][1:]
    return [
        Builder.handle(None if isinstance(ref, Literal) else builder, ref, type_)
        for ref, type_ in zip(refs, head.operands, strict=True)
    ]


def nested(params: Params) -> Iterator[Program]:
    """Yield the programs that parameters hold, in the order in which they are printed."""
    kind: Any = type(params)
    for name in names_of_programs(kind):
        yield from _programs_in(getattr(params, name))


def with_nested(equations: Iterable[S]) -> Iterator[S | Equation]:
    """Yield equations, or operations, each before those of the programs that it holds."""
    for eq in equations:
        yield eq
        for program in nested(eq.params):
            yield from with_nested(program.equations)


def _programs_in(value: Any) -> Iterator[Program]:
    if isinstance(value, tuple):
        yield from chain.from_iterable(map(_programs_in, value))
    elif isinstance(value, Program):
        yield value


def map_nested(function: Callable[[Program], Program], params: Params) -> Params:
    """Return parameters with a function applied to the programs that they hold."""
    kind: Any = type(params)
    names = names_of_programs(kind)
    if not names:
        return params
    return replace(params, **{k: _image(function, getattr(params, k)) for k in names})


def _image(function: Callable[[Program], Program], value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_image(function, x) for x in value])
    return function(value) if isinstance(value, Program) else value


def inline_bodies(program: Program, body: Callable[[Equation], Program | None]) -> Program:
    """Return the program with what `body` gives for an equation, if anything, in its place."""

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        inner = body(eq)
        return bind(eq.primitive, eq.params, *xs) if inner is None else walk(inner, xs, rule)

    with Builder("opened", CLOSED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


@memoised
def close_over(
    recording: Recording,
    count: int,
    front: int = 0,
    captured: tuple[ArrayType, ...] | None = None,
    start: int = 0,
    vanishing: tuple[bool, ...] = (),
) -> Program:
    """Return a recorded program that takes what it closes over behind its first `front` inputs.

    These are its last `count` inputs.  If `captured` are the types of what several programs close
    over, those of this one are there from `start` on.  What is `vanishing` stands for a zero.
    """
    program = program_of(*recording)
    types, own = program.input_types, len(program.inputs) - count
    with Builder("closure", CLOSED) as builder:
        first = [builder.input(t) for t in types[:front]]
        given = [builder.input(t) for t in (types[own:] if captured is None else captured)]
        last = [builder.input(t) for t in types[front:own]]
        mine = given[start : start + count]
        kept = [
            constant(0, x.type) if vanishing and vanishing[k] else x for k, x in enumerate(mine)
        ]
        return builder.program(inline(program, [*first, *last, *kept]))


def rearrange(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """Return the program with its inputs and outputs reordered, or some of them dropped.

    `inputs` must name every input that the chosen outputs need; a check that needs others goes.
    """
    ends = [program.outputs[k] for k in outputs]
    return cut(program, [program.inputs[k] for k in inputs], ends)


def cut(
    program: Program, inputs: Sequence[Var], outputs: Sequence[Atom], policy: Policy = SHARED
) -> Program:
    """Return what makes some values of a program of others, with the checks that these allow."""
    with Builder("part", policy) as builder:
        env: dict[Var, Tracer] = {v: builder.input(v.type) for v in inputs}

        def read(atoms: Sequence[Atom]) -> list[Tracer]:
            return [
                env[x] if isinstance(x, Var) else Builder.handle(None, x, x.type) for x in atoms
            ]

        copy = following(program, [env.get(v) for v in program.inputs], copy_equation)
        for index in sorted(live_equations(program, outputs, inputs)):
            eq = program.equations[index]
            if all(isinstance(x, Literal) or x in env for x in eq.operands):
                env.update(zip(eq.results, copy(eq, read(eq.operands)), strict=True))
        return builder.program(read(outputs))


def live_equations(
    program: Program, outputs: Iterable[Atom], inputs: Iterable[Var] = ()
) -> set[int]:
    """Return the places of equations that values need if others are given, or that end it."""
    given, places = set(inputs), set()
    wanted = set(outputs) - given
    for index in range(len(program.equations) - 1, -1, -1):
        eq = program.equations[index]
        if eq.operation.ends or not wanted.isdisjoint(eq.results):
            places.add(index)
            wanted.update(x for x in eq.operands if x not in given)
    return places


def with_a_result(program: Program) -> Program:
    """Return a program without outputs with one, which is true: an equation has a result."""
    return Program(
        program.inputs, program.equations, (literal(True, ArrayType((), BOOL)),), program.origins
    )
