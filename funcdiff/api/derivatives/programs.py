"""Derives the programs of gradients, pullbacks and pushforwards, memoised by recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import funcdiff.passes as passes
from funcdiff.core.atoms import Entry, Ref
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.memo import Memoised, memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.user.linear_part import has_hidden
from funcdiff.space import zeros
from funcdiff.transforms.jvp import Mask
from funcdiff.transforms.jvp import jvp as push_program
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose


def linearize_inputs(program: Program, count: int, *, complete: bool = False) -> Linearized:
    """Split a program at its first `count` inputs; `complete` gives every output a tangent."""
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    return linearize(program, active, (True,) * len(program.outputs) if complete else ())


def refuse_choices(program: Program, count: int, results: int, *, forward: bool) -> Program:
    """Return a program that is differentiated by its first `count` inputs (`passes.choices`)."""
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    return passes.choices.refuse_choices(program, active, results, forward=forward)


def split_results(
    program: Program, count: int, results: int, *, complete: bool = False
) -> Linearized:
    """Split a program whose outputs after the first `results` are values only: auxiliary ones."""
    if results == len(program.outputs):
        return linearize_inputs(program, count, complete=complete)
    split = linearize_inputs(select_outputs(program, slice(results)), count, complete=complete)
    with Builder("linearize", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        values = inline(split.primal, xs)
        others = inline(select_outputs(program, slice(results, None)), xs)
        primal = builder.program([*values[:results], *others, *values[results:]])
    return split._replace(primal=primal)


def select_outputs(program: Program, outputs: slice) -> Program:
    """Return a program of some of the outputs only."""
    return passes.simplify.simplify(replace(program, outputs=program.outputs[outputs]))


def pullback(split: Linearized, count: int, present: Mask) -> Program:
    """Return the transposed linear part: of residuals and cotangents, to cotangents."""
    linear = (True,) * count + (False,) * split.residuals
    pulled = passes.choices.require_agreement(transpose(split.linear, linear, present))
    return passes.simplify.simplify_linear(
        pulled, (False,) * split.residuals + (True,) * sum(present)
    )


def _know(entries: Sequence[Entry], xs: Sequence[Tracer], builder: Builder) -> tuple[int, ...]:
    """Add inputs for the results of recorded equations; return which variables those are.

    A function of 100 numbers with two rules takes a tenth more time if they are computed again: see
    the third row of `docs.benchmarks.rules`.
    """
    inputs, known = iter(xs), []
    refs: list[Ref] = []
    for number, entry in enumerate(entries):
        if not entry:
            continue
        op, *operands = entry
        if isinstance(op, ArrayType):
            refs.append(next(inputs).atom)
            continue
        given = [refs[r] if isinstance(r, int) else r for r in operands]
        # what is handed on is an input already; calls of the user's code are replayed
        if op.result_count == 1 and not (op.calls_user or op.primitive.facts.hands_on):
            known.append(number)
            refs.append(builder.know(op, given).atom)
        else:
            refs += [y.atom for y in builder.record(op, given)]
    return tuple(known)


def _primal(split: Linearized, entries: Sequence[Entry] = ()) -> tuple[Program, tuple[int, ...]]:
    """Return the program of values and residuals, simplified, and which variables are its inputs.

    These are among the `entries` of the recording, which have values.
    """
    values = len(split.primal.outputs) - split.residuals
    exact = (True,) * values + (False,) * split.residuals
    with Builder("primal", SHARED) as builder:
        xs = [builder.input(t) for t in split.primal.input_types]
        known = _know(entries, xs, builder)
        found = passes.simplify.inline_simplified(split.primal, xs, exact)
        return builder.program(found), known


class Gradient(NamedTuple):
    """The program of gradients, then the value if wanted, then auxiliary outputs.

    If the output is not a scalar there is none, and `output` says what it is instead.  Behind the
    inputs come the values of the recorded variables that are `known`.
    """

    program: Program | None
    output: ArrayType | None
    known: tuple[int, ...] = ()


@memoised
def gradient_program(
    recording: Recording,
    count: int,
    *,
    holomorphic: bool,
    wants_value: bool,
    elementwise: bool = False,
    evaluated: int = 0,
) -> Gradient:
    """Derive the gradient in the first `count` inputs; `elementwise`, of the sum of an array.

    The first `evaluated` variables of the recording have values that need not be computed.
    """
    recorded = passes.recorded.recorded
    program = recorded.peek(recording) or recorded.__wrapped__(recording)
    if not program.outputs:
        return Gradient(None, None)
    type_ = program.output_types[0]
    if (type_.shape and not elementwise) or type_.dtype.kind != ("c" if holomorphic else "f"):
        return Gradient(None, type_)
    # what is derived on the way is not worth keeping: the gradient is
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    program = passes.choices.refuse_choices.__wrapped__(program, active, 1, forward=False)
    split = linearize.__wrapped__(program, active)
    with Builder("grad", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        known = _know(recording[0][:evaluated], xs, builder)
        exact = (wants_value, *(True for _ in program.outputs[1:]))
        primal = passes.simplify.inline_simplified(
            split.primal, xs, (*exact, *(False,) * split.residuals)
        )
        ys, residuals = primal[: len(program.outputs)], primal[len(program.outputs) :]
        cts: list[Tracer] = [zeros(t) for t in program.input_types[:count]]
        if split.mask[0]:
            fixed = (False,) * split.residuals
            present = (True,) + (False,) * (sum(split.mask) - 1)
            pulled = transpose.__wrapped__(split.linear, (True,) * count + fixed, present)
            pulled = passes.choices.require_agreement(pulled)
            cts = passes.simplify.inline_simplified_linear(
                pulled, [*residuals, constant(1, type_)], (*fixed, True)
            )
        if not holomorphic:
            cts = [conj(ct) for ct in cts]
        outputs = [*cts, *(ys if wants_value else ys[1:])]
        return Gradient(builder.program(outputs), type_, known)


def gradient_alone(recording: Recording, count: int, kind: tuple[tuple[str, bool], ...]) -> Program:
    """Return the program of a gradient that exists; `kind` has the options by name."""
    program = gradient_program(recording, count, **dict(kind)).program
    assert program is not None
    return program


@memoised
def derivative_program(recording: Recording, place: int, n: int, results: int) -> Program:
    """Derive the n-th derivatives of the first `results` outputs by one scalar input.

    The other outputs follow as they are.
    """
    program = passes.recorded.recorded(recording)
    types = program.input_types
    active = tuple(k == place for k in range(len(types)))
    derived = select_outputs(program, slice(results))
    for _ in range(n):
        derived = passes.choices.refuse_choices(derived, active, results, forward=True)
        pushed, _ = push_program(derived, active, (True,) * results)
        with Builder("derivative", SHARED) as builder:
            xs = [builder.input(t) for t in types]
            outputs = inline(pushed, [*xs, constant(1, types[place])])
            derived = passes.simplify.simplify(builder.program(outputs[results:]))
    with Builder("derivative", SHARED) as builder:
        xs = [builder.input(t) for t in types]
        others = inline(select_outputs(program, slice(results, None)), xs)
        return passes.simplify.simplify(builder.program([*inline(derived, xs), *others]))


class LinearPrograms(NamedTuple):
    """A derivative at a point, as `vjp` and `linearize` need it."""

    primal: Program  # of the inputs, and then of what is known, to outputs and residuals
    linear: Program  # of the residuals, and then of vectors, to their images
    known: tuple[int, ...] = ()  # the recorded variables whose values come behind the inputs


@memoised
def vjp_programs(
    recording: Recording, count: int, results: int, *, evaluated: int = 0
) -> LinearPrograms:
    """Derive the pullback of the first `results` outputs to the first `count` inputs.

    The first `evaluated` variables are as for `gradient_program`.
    """
    program = passes.recorded.recorded(recording)
    program = refuse_choices(program, count, results, forward=False)
    split = split_results(program, count, results)
    with Builder("vjp", SHARED) as builder:
        residuals = [builder.input(t) for t in split.linear.input_types[count:]]
        vectors = [builder.input(t) for t in program.output_types[:results]]
        cts = [conj(v) for v, flag in zip(vectors, split.mask, strict=True) if flag]
        outputs = [zeros(t) for t in program.input_types[:count]]
        if cts:
            pulled = passes.simplify.inline_simplified(
                pullback(split, count, (True,) * len(cts)), [*residuals, *cts]
            )
            outputs = [conj(ct) for ct in pulled]
        pulled_back = builder.program(outputs)
    primal, known = _primal(split, recording[0][:evaluated])
    return LinearPrograms(primal, pulled_back, known)


@memoised
def jvp_program(recording: Recording, count: int, results: int) -> Program:
    """Derive the program of all outputs, and tangents of the first `results` ones."""
    program = passes.recorded.recorded(recording)
    total = len(program.outputs)
    program = refuse_choices(program, count, results, forward=True)
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    wanted = (True,) * results + (False,) * (total - results)
    pushed, _ = push_program(program, active, wanted)
    linear = (False,) * len(program.inputs) + (True,) * count
    return passes.simplify.simplify_linear(
        replace(pushed, outputs=pushed.outputs[: total + results]), linear
    )


@memoised
def linearize_programs(recording: Recording, count: int, results: int) -> LinearPrograms:
    """Derive the values, and the first `results` as a linear function of tangents."""
    program = passes.recorded.recorded(recording)
    program = refuse_choices(program, count, results, forward=True)
    split = split_results(program, count, results, complete=True)
    flags = (True,) * count + (False,) * split.residuals
    linear = passes.simplify.simplify_linear(split.linear, flags)
    order = [*range(count, len(flags)), *range(count)]
    return LinearPrograms(_primal(split)[0], rearrange(linear, order, range(results)))


@memoised
def image_program(
    recording: Recording, count: int, results: int, programs: Memoised[..., LinearPrograms]
) -> Program:
    """Return the program of inputs and vectors whose results are the images of the vectors."""
    primal, linear, _ = programs(recording, count, results)
    with Builder("image", SHARED) as builder:
        xs = [builder.input(t) for t in primal.input_types]
        known = inline(primal, xs)[len(recording[1]) :]
        vectors = [builder.input(t) for t in linear.input_types[len(known) :]]
        outputs = inline(linear, [*known, *vectors])
        return passes.simplify.simplify(builder.program(outputs))


@memoised
def transpose_recording(recording: Recording, count: int) -> Program | None:
    """Transpose a program that is linear in its first `count` inputs.

    The result is a function of the other inputs and the cotangents.  There is none if the
    derivative depends on the point, or something has no derivative, as ``np.floor(x)``: then the
    program is not linear.
    """
    program = passes.simplify.simplify(program_of(*recording))
    split = linearize_inputs(program, count, complete=True)
    point = select_outputs(split.primal, slice(len(program.outputs), None))
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    if any(dependent(point, active)) or has_hidden(program, active, trusts_rules=True):
        return None
    types = program.input_types
    with Builder("transpose", SHARED) as builder:
        known = [builder.input(t) for t in types[count:]]
        cts = [builder.input(t) for t in program.output_types]
        residuals = inline(point, [*map(zeros, types[:count]), *known])
        pulled = pullback(split, count, (True,) * len(cts))
        transposed = builder.program(inline(pulled, [*residuals, *cts]))
    return passes.simplify.simplify_linear(transposed, (False,) * len(known) + (True,) * len(cts))
