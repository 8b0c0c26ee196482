"""Derives the tangents and cotangents of single operations, as functions of values.

By the rules and the transforms that whole programs go through: an operation is a program of one
equation.  What is derived is kept with the operation, so that a loop of ten thousand equations of
ten kinds asks for ten derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

import funcdiff.passes as passes
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import HOISTING, SHARED
from funcdiff.core.primitive import Operation, Params, Primitive, operation
from funcdiff.core.program import Program, equation
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.dataflow import functions, last_uses
from funcdiff.core.running.evaluate import Executable, as_run, is_repeatable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.ops.linalg.degeneracy import Choice, Directed, Settling
from funcdiff.space import Maybe, instantiate
from funcdiff.transforms.jvp import Mask, push_operation, spread
from funcdiff.transforms.transpose import transpose

# ---- Makes Python functions of programs of a few equations: one call after the other, no loop ----
#
# All programs of one form, which differ in functions and literals alone, share the code of one
# function: to make the next one of them is to make a closure.


_MOST: Final = 12
"""Equations of a program that holds on to its values until it returns."""


def closure(program: Program, shape: tuple[int, ...] | None = None) -> Callable[..., Sequence[Any]]:
    """Return a function that computes what the interpreter does; a long program stays there.

    With a `shape`, the program is elementwise, and the function is for arrays of that shape.
    """
    program = as_run(program)
    if len(program.equations) > _MOST:
        return Executable(program if shape is None else with_shape(program, shape)).interpret
    constants: list[Any] = []
    fits_all = _fits_all_shapes(program)

    def name(atom: Atom) -> str:
        if isinstance(atom, Var):
            return f"x{atom.number}"
        filled = atom if shape is None else Literal(atom.value, atom.type.with_shape(shape))
        constants.append(np.asarray(atom.value) if fits_all else filled.array)
        return f"c{len(constants) - 1}"

    lines = [
        f"{', '.join(map(name, eq.results))} = f{k}({', '.join(map(name, eq.operands))})"
        for k, eq in enumerate(program.equations)
    ]
    lines.append(f"return [{', '.join(map(name, program.outputs))}]")
    called = [
        eq.operation.run if function is eq.operation.function else function
        for eq, function in zip(
            program.equations, functions(program, last_uses(program)), strict=True
        )
    ]
    make = _maker(len(program.inputs), len(called), len(constants), tuple(lines))
    run: Callable[..., Sequence[Any]] = make(*called, *constants)
    return run


def _fits_all_shapes(program: Program) -> bool:
    """Whether no array has to be filled with a number: ufuncs, called by a closure, broadcast."""
    is_short = len(program.equations) <= _MOST
    filling = [
        eq.operands for eq in program.equations
        if not (is_short and isinstance(eq.operation.function, np.ufunc))
        or all(isinstance(x, Literal) for x in eq.operands)
    ]  # fmt: skip
    return not any(isinstance(x, Literal) for xs in (*filling, program.outputs) for x in xs)


@lru_cache(maxsize=1024)
def _maker(inputs: int, called: int, constants: int, lines: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of the functions and constants of programs that are written like this."""
    given = [*[f"f{k}" for k in range(called)], *[f"c{k}" for k in range(constants)]]
    operands = ", ".join([f"x{k}" for k in range(inputs)])
    body = "\n        ".join(lines)
    scope: dict[str, Any] = {}
    run = f"def run({operands}):\n        {body}"
    text = f"def make({', '.join(given)}):\n    {run}\n    return run"
    exec(compile(text, "<funcdiff tape>", "exec"), scope)
    make: Callable[..., Any] = scope["make"]
    return make


class NeedsProgramError(Exception):
    """A derivative is not that of one operation after the other: the program has to be derived."""


class Step(NamedTuple):
    """The derivative of an operation."""

    # From operands, results, and tangents or cotangents, to the cotangents or tangents; that of
    # an elementwise operation is for arrays of another shape (see `with_shape`).
    program: Program
    run: Callable[..., Sequence[Any]]  # computes it
    places: tuple[int, ...]  # indices of operands or results with tangents or cotangents
    # A primitive with its parameters that adds the program's results to a cotangent.
    adds: tuple[Primitive[Any], Params] | None = None
    # ``add(total, *values)`` does so in place: writing elements of an array one by one takes one
    # array.
    add: Callable[..., Any] | None = None


Steps: TypeAlias = dict[tuple[Mask, Mask | None], "Step"]
"""The derivatives of an operation, by which operands are active and which results have cotangents,
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
    model, found = _model(op), None
    if model is not op:
        step = _steps(model).get((active, present)) or _keep(model, active, present)
        found = _fit(step, model, op)
    if found is None:
        program, places, adds = _derive(op, active, present)
        found = _step(program, closure(program), places, adds)
    _steps(op)[active, present] = found
    return found


def _step(
    program: Program,
    run: Callable[..., Sequence[Any]],
    places: tuple[int, ...],
    adds: tuple[Primitive[Any], Params] | None,
) -> Step:
    if adds is None:
        return Step(program, run, places)
    in_place = adds[0].implementation.in_place
    assert in_place is not None
    return Step(program, run, places, adds, in_place(adds[1]))


def _model(op: Operation) -> Operation:
    """Return the operation from whose derivative that of this one follows: itself, or another."""
    primitive, params, types = op.primitive, op.params, op.operands
    if primitive.pointwise and types[0].shape != ():
        types = tuple([t.with_shape((3,)) for t in types])  # of one element a sum is no equation
    elif primitive.facts.model is not None:
        params = primitive.facts.model(params)
    return operation(primitive, params, types)


def _fit(step: Step, model: Operation, op: Operation) -> Step | None:
    """Return the derivative of an operation, given that of its model; None if it is another."""
    if op.operands == model.operands:
        return _move(step, model.params, op.params)
    equations = step.program.equations
    if step.adds or not all(eq.primitive.pointwise for eq in equations):
        return None
    if _fits_all_shapes(step.program):
        return step
    return step._replace(run=closure(step.program, op.operands[0].shape))


@memoised
def with_shape(program: Program, shape: tuple[int, ...]) -> Program:
    """Return the program of a step for arrays of a shape, given that for another."""
    if program.inputs[0].type.shape == shape:
        return program

    def of(atoms: Sequence[Atom]) -> tuple[Any, ...]:
        return tuple([
            Var(x.number, x.type.with_shape(shape)) if isinstance(x, Var)
            else Literal(x.value, x.type.with_shape(shape))
            for x in atoms
        ])  # fmt: skip

    equations = [
        equation(eq.primitive, eq.params, of(eq.operands), of(eq.results))
        for eq in program.equations
    ]
    return Program(of(program.inputs), tuple(equations), of(program.outputs))


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
    if head is not None and head[1] == model:
        head = head[0], params
    return _step(program, run, step.places, head)


def is_of_arrays(op: Operation) -> bool:
    """Whether an operation runs no code of the user's, whose effects must happen once, and no loop.

    Of loops and branches the bodies take most of the time, however they are derived.
    """
    return not op.calls_user or (op.primitive.linearize is None and is_repeatable([op]))


# ---- derivation ----------------------------------------------------------------------------------


class Derived(NamedTuple):
    """The derivative of an operation as a program; the fields are those of `Step`."""

    program: Program
    places: tuple[int, ...]
    adds: tuple[Primitive[Any], Params] | None


def _derive(op: Operation, active: Mask, present: Mask | None) -> Derived:
    _check(op)
    return _tangents(op, active) if present is None else _cotangents(op, active, present)


def _tangents(op: Operation, active: Mask) -> Derived:
    """Push through what the operation is linear in; else linearize it, and simplify that."""
    is_linear, is_product = _is_linear(op, active), op.primitive.facts.elements == "multiplied"
    if is_linear or is_product:
        found = _pushed(op, active)
        if is_product or len(found.program.equations) == 1:
            return found
    with Builder("step", SHARED) as builder:
        linear, residuals = linear_part(op, active, _operands(op, builder), forward=True)
        operands = [*map(builder.input, compress(op.operands, active)), *residuals]
        flags = (True,) * sum(active) + (False,) * len(residuals)
        outputs = passes.simplify.inline_simplified_linear(linear, operands, flags)
        return _drop_zeros(builder, outputs, range(len(outputs)), adds_up=False)


def _cotangents(op: Operation, active: Mask, present: Mask) -> Derived:
    """Transpose what the operation is linear in; else linearize it, and transpose that."""
    with Builder("step", SHARED) as builder:
        xs = _operands(op, builder)
        cts = [builder.input(t) for t in compress(op.results, present)]
        outputs = transposed(op, active, xs, spread(cts, present))
        if outputs is None:
            linear, residuals = linear_part(op, active, xs, forward=False)
            moving, known = (True,) * sum(active), (False,) * len(residuals)
            linear = transpose.__wrapped__(linear, moving + known, present)
            operands, flags = [*residuals, *cts], known + (True,) * len(cts)
            outputs = passes.simplify.inline_simplified_linear(linear, operands, flags)
        places = compress(range(len(active)), active)
        return _drop_zeros(builder, outputs, places, adds_up=True)


def transposed(
    op: Operation, active: Mask, xs: Sequence[Tracer], cts: Sequence[Maybe]
) -> list[Tracer] | None:
    """Emit the cotangents of the active operands by the operation's own transpose.

    None unless it is linear in them together, or in each of them alone, as a product is.
    """
    emit, types = op.primitive.transpose, op.operands
    places = tuple(compress(range(len(active)), active))
    if emit is None or isinstance(op.params, Choice):
        return None
    if _is_linear(op, active):
        groups = [places]
    elif op.primitive.facts.elements == "multiplied":
        groups = [(k,) for k in places]
    else:
        return None
    found = []
    for group in groups:
        known = [None if k in group else x for k, x in enumerate(xs)]
        incoming = emit(op.params, types, cts, known)
        found += [instantiate(incoming[k], types[k]) for k in group]
    return found


def _check(op: Operation) -> None:
    """Raise NeedsProgramError for an operation whose derivative the whole program decides."""
    if not is_of_arrays(op) or op.primitive.facts.spectral:
        raise NeedsProgramError


def _operands(op: Operation, builder: Builder) -> list[Tracer]:
    """Return inputs for the operands; those for the results are found when it is recorded."""
    xs = [builder.input(t) for t in op.operands]
    builder.know(op, [x.atom for x in xs])
    return xs


def _pushed(op: Operation, active: Mask) -> Derived:
    """Return the tangents as the operation's own rule has them."""
    with Builder("step", SHARED) as builder:
        xs = _operands(op, builder)
        ts = [builder.input(t) if on else None for t, on in zip(op.operands, active, strict=True)]
        tangents = push_operation(op, xs, ts, split=True)[1]
        program = _check_settled(
            builder.program(map(instantiate, tangents, op.results)), forward=True
        )
    return Derived(program, tuple(range(op.result_count)), None)


def linear_part(
    op: Operation, active: Mask, xs: Sequence[Tracer], *, forward: bool
) -> tuple[Program, Sequence[Tracer]]:
    """Return ``(*tangents, *residuals) -> tangents``, and the residuals, computed of operands."""
    _check(op)
    with Builder("step", HOISTING) as inner:
        ts = [inner.input(x.type) if on else None for x, on in zip(xs, active, strict=True)]
        tangents = push_operation(op, xs, ts, split=True)[1]
        linear = inner.program(map(instantiate, tangents, op.results))
    return _check_settled(linear, forward=forward), inner.captures


def _check_settled(program: Program, *, forward: bool) -> Program:
    """Return a linear program if it does not ask the other mode, which takes the whole program.

    See `passes.choices`; and how equal eigenvalues are used is known of all of their uses.
    """
    for p in [eq.params for eq in program.equations if isinstance(eq.params, Choice)]:
        if forward or isinstance(p, Settling) or (isinstance(p, Directed) and p.checks):
            raise NeedsProgramError
    return program


def _is_linear(op: Operation, active: Mask) -> bool:
    """Whether an operation is linear in its active operands together."""
    linear, places = op.primitive.facts.linear, range(len(active))
    return linear is not None and tuple(compress(places, active)) == tuple(places[linear])


def _drop_zeros(
    builder: Builder, outputs: Sequence[Tracer], places: Iterable[int], *, adds_up: bool
) -> Derived:
    """Return the derivative without its structural zeros; cotangents are added up."""
    kept = [
        (place, y) for place, y in zip(places, outputs, strict=True)
        if not (isinstance(y.atom, Literal) and y.atom.value == 0)
    ]  # fmt: skip
    ys, adds = [y for _, y in kept], None
    parts = sum_parts(ys[0]) if adds_up and len(ys) == 1 else None
    if parts is not None:
        head, ys = parts
        adds = head.primitive, head.params
    return Derived(builder.program(ys), tuple([place for place, _ in kept]), adds)


def sum_parts(y: Tracer) -> tuple[Operation, list[Tracer]] | None:
    """Return the operation and the values that it adds to zeros, if that is what makes `y`."""
    head = maker(y)
    if head is None or head.primitive.facts.elements != "added":
        return None
    base, *values = operands_of(y, head)
    return (head, values) if isinstance(base.atom, Literal) and base.atom.value == 0 else None
