"""Derives the tangents and cotangents of single operations, as functions of values.

By the rules and the transforms that whole programs go through: an operation is a program of one
equation.  What is derived is kept with the operation, so that a loop of ten thousand equations of
ten kinds asks for ten derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import funcdiff.passes as passes
from funcdiff.backend.tape.closures import closure
from funcdiff.core.atoms import Literal
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import NONE, Operation, Params, Primitive, operation
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import maker, operands_of, walk
from funcdiff.ops.linalg.degeneracy import eigen_differential_p
from funcdiff.transforms.jvp import Mask
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose


class NeedsProgramError(Exception):
    """A derivative is not that of one operation after the other: the program has to be derived."""


class Step(NamedTuple):
    """The derivative of an operation."""

    # From operands, results, and tangents or cotangents, to the cotangents or tangents.
    program: Program
    run: Callable[..., Sequence[Any]]  # computes it
    places: tuple[int, ...]  # indices of operands or results with tangents or cotangents
    # A primitive with its parameters that adds the program's results to a cotangent.
    adds: tuple[Primitive[Any], Params] | None = None
    # ``add(total, *values)`` does so in place: writing elements of an array one by one takes one
    # array.
    add: Callable[..., Any] | None = None


Steps: TypeAlias = "dict[tuple[Mask, Mask | None], Step]"
"""The derivatives of an operation, by which operands are active and which results have cotangents;
None for tangents."""


def pull_step(op: Operation, active: Mask, present: Mask) -> Step:
    """Return the cotangents of an operation's active operands, given those of its results."""
    steps: Steps | None = op.steps
    return (steps and steps.get((active, present))) or _keep(op, active, present)


def push_step(op: Operation, active: Mask) -> Step:
    """Return the tangents of an operation's results, given those of its active operands."""
    steps: Steps | None = op.steps
    return (steps and steps.get((active, None))) or _keep(op, active, None)


def _steps(op: Operation) -> Steps:
    if op.steps is None:
        op.steps = {}
    steps: Steps = op.steps
    return steps


def _keep(op: Operation, active: Mask, present: Mask | None) -> Step:
    facts, shape = op.primitive.facts, op.operands[0].shape
    found = None
    if op.primitive.pointwise and op.params is NONE and shape:
        numbers = tuple([t.with_shape(()) for t in op.operands])
        model = operation(op.primitive, NONE, numbers)
        found = _spread(_step_of(model, active, present), shape)
    elif facts.model is not None:
        model = operation(op.primitive, facts.model(op.params), op.operands)
        if model is not op:
            found = _move(_step_of(model, active, present), model.params, op.params)
    if found is None:
        found = _push(op, active) if present is None else _pull(op, active, present)
    _steps(op)[active, present] = found
    return found


def _step_of(op: Operation, active: Mask, present: Mask | None) -> Step:
    return _steps(op).get((active, present)) or _keep(op, active, present)


def _spread(step: Step, shape: tuple[int, ...]) -> Step:
    """Return the derivative of an elementwise operation for arrays, given that for numbers."""

    def fill(x: Tracer) -> Tracer:
        if not isinstance(x.atom, Literal):
            return x
        return constant(x.atom.value, x.type.with_shape(shape))

    program = step.program
    with Builder("spread", SHARED) as builder:
        xs = [builder.input(t.with_shape(shape)) for t in program.input_types]
        ys = walk(program, xs, lambda eq, zs: bind(eq.primitive, eq.params, *map(fill, zs)))
        spread = builder.program(list(map(fill, ys)))
    return Step(spread, closure(spread), step.places)


def _move(step: Step, model: Params, params: Params) -> Step | None:
    """Return the derivative at other places, with `params` where that of a model has its own.

    None if it has others, which might follow from those of the model.
    """
    program, run, head = step.program, step.run, step.adds
    found = [eq.params for eq in program.equations] + ([] if head is None else [head[1]])
    if any(type(p) is type(model) and p != model for p in found):
        return None
    if any(eq.params == model for eq in program.equations):
        moved = [
            equation(eq.primitive, params, eq.operands, eq.results) if eq.params == model else eq
            for eq in program.equations
        ]
        program = Program(program.inputs, tuple(moved), program.outputs)
        run = closure(program)
    if head is None:
        return Step(program, run, step.places)
    if head[1] == model:
        head = head[0], params
    return Step(program, run, step.places, head, _in_place(*head))


def _pull(op: Operation, active: Mask, present: Mask) -> Step:
    split = _linearize(op, active)
    known = (False,) * split.residuals
    turned = transpose.__wrapped__(split.linear, (True,) * sum(active) + known, present)
    with Builder("pull", SHARED) as builder:
        residuals = _residuals(split, op, builder)
        cts = [builder.input(t) for t, flag in zip(op.results, present, strict=True) if flag]
        linear = (*known, *(True for _ in cts))
        outputs = passes.simplify.inline_simplified_linear(turned, [*residuals, *cts], linear)
        return _step(builder, outputs, [k for k, flag in enumerate(active) if flag], adds_up=True)


def _push(op: Operation, active: Mask) -> Step:
    split = _linearize(op, active)
    with Builder("push", SHARED) as builder:
        residuals = _residuals(split, op, builder)
        ts = [builder.input(t) for t, flag in zip(op.operands, active, strict=True) if flag]
        linear = (*(True for _ in ts), *(False for _ in residuals))
        outputs = passes.simplify.inline_simplified_linear(split.linear, [*ts, *residuals], linear)
        return _step(builder, outputs, range(len(op.results)))


def _linearize(op: Operation, active: Mask) -> Linearized:
    if op.calls_user or op.primitive.facts.spectral:
        raise NeedsProgramError
    with Builder("operation", CLOSED) as builder:
        xs = [builder.input(t) for t in op.operands]
        program = builder.program(bind(op.primitive, op.params, *xs))
    split = linearize.__wrapped__(program, active, (True,) * len(program.outputs))
    if any(eq.primitive is eigen_differential_p for eq in split.linear.equations):
        raise NeedsProgramError
    return split


def _residuals(split: Linearized, op: Operation, builder: Builder) -> list[Tracer]:
    """Add operands and results as inputs, and record what the derivative needs beside them."""
    xs = [builder.input(t) for t in op.operands]
    ys = [builder.input(t) for t in op.results]
    atoms = [x.atom for x in xs]

    def rule(eq: Equation, operands: list[Tracer]) -> Sequence[Tracer]:
        is_given = [x.atom for x in operands] == atoms
        if is_given and eq.primitive is op.primitive and eq.params == op.params:
            return ys
        return bind(eq.primitive, eq.params, *operands)

    primal: Program = split.primal
    return walk(primal, xs, rule)[len(ys) :]


def _step(
    builder: Builder, outputs: Sequence[Tracer], places: Sequence[int], *, adds_up: bool = False
) -> Step:
    """Return the derivative without its structural zeros; cotangents are added up."""
    kept = [
        (place, y) for place, y in zip(places, outputs, strict=True)
        if not (isinstance(y.atom, Literal) and y.atom.value == 0)
    ]  # fmt: skip
    ys, adds = [y for _, y in kept], None
    head = maker(ys[0]) if adds_up and len(ys) == 1 else None
    if head is not None and head.primitive.facts.elements == "added":
        base, *values = operands_of(ys[0], head)
        if isinstance(base.atom, Literal) and base.atom.value == 0:
            ys, adds = values, (head.primitive, head.params)
    program = builder.program(ys)
    places = tuple([place for place, _ in kept])
    add = None if adds is None else _in_place(*adds)
    return Step(program, closure(program), places, adds, add)


def _in_place(primitive: Primitive[Any], params: Params) -> Callable[..., Any]:
    variant = primitive.implementation.in_place
    assert variant is not None
    function: Callable[..., Any] = variant(params)
    return function
