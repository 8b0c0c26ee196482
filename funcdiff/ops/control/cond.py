"""Branching: `cond`, a primitive whose parameters hold one program per branch.

Forward mode fuses values and tangents in one equation; `linearize` keeps them apart: a cond of
the values hands residuals to a cond of the tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

from funcdiff.core.implementation import Implementation
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.evaluate import Runner, executable
from funcdiff.core.running.walk import inline, with_a_result
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.indexing import gather
from funcdiff.ops.axes.reductions import argmax, reduce_any
from funcdiff.ops.elementwise.logic import logical_and, logical_not, operations
from funcdiff.ops.families import several
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import align, broadcast, zeros
from funcdiff.transforms.jvp import jvp, present, spread
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import batch_outputs


def _either(*masks: Sequence[bool]) -> list[bool]:
    return [any(flags) for flags in zip(*masks, strict=True)]


class Cond(Params):
    """The branches, programs of the same input and output types; operand 0 chooses one."""

    branches: tuple[Program, ...]


def _abstract_cond(p: Cond, index: ArrayType, *xs: ArrayType) -> Types:
    if index is not ArrayType((), INT):
        raise TypeError(f"cond chooses by an i64[], got {index}")
    first = p.branches[0]
    for branch in p.branches:
        if branch.input_types != xs or branch.output_types != first.output_types:
            raise TypeError("the branches of cond must have equal types, those of its operands")
    return first.output_types


def _cond_impl(p: Cond, runner: Runner = executable) -> Callable[..., Any]:
    branches = [runner(branch) for branch in p.branches]

    def run_branch(index: Any, *xs: Any) -> Sequence[Any]:
        return branches[min(max(int(index), 0), len(branches) - 1)](*xs)

    return several(run_branch)


def _cond_jvp(p: Cond, xs: Tracers, ts: Tangents) -> Pushed:
    active = tuple(t is not None for t in ts[1:])
    mask = tuple(_either(*(jvp(branch, active)[1] for branch in p.branches)))
    branches = tuple(jvp(branch, active, mask)[0] for branch in p.branches)
    results = cond(xs[0], branches, [*xs[1:], *present(ts[1:])])
    return results[: len(mask)], spread(results[len(mask) :], mask)


def _cond_linearize(p: Cond, xs: Tracers, ts: Tangents) -> Pushed:
    active = tuple(t is not None for t in ts[1:])
    mask = tuple(_either(*(linearize(branch, active).mask for branch in p.branches)))
    splits = [linearize(branch, active, mask) for branch in p.branches]
    slots, places = _residual_slots(splits)
    primal = tuple(
        _with_residuals(split, slots, place) for split, place in zip(splits, places, strict=True)
    )
    linear = tuple(
        _from_residuals(split, sum(active), slots, place)
        for split, place in zip(splits, places, strict=True)
    )
    results = cond(xs[0], primal, xs[1:])
    ys, residuals = results[: len(mask)], results[len(mask) :]
    if not any(mask):
        return ys, [None for _ in ys]
    return ys, spread(cond(xs[0], linear, [*present(ts[1:]), *residuals]), mask)


def _residual_slots(splits: Sequence[Linearized]) -> tuple[list[ArrayType], list[list[int]]]:
    """Share residual slots of one type between branches, of which only one runs."""
    slots: list[ArrayType] = []
    places = []
    for split in splits:
        free = list(range(len(slots)))
        place = []
        for type_ in split.primal.output_types[len(split.mask) :]:
            k = next((k for k in free if slots[k] is type_), len(slots))
            if k == len(slots):
                slots.append(type_)
            else:
                free.remove(k)
            place.append(k)
        places.append(place)
    return slots, places


def _with_residuals(split: Linearized, slots: Sequence[ArrayType], place: Sequence[int]) -> Program:
    """Return the primal branch with its residuals in their slots, zeros in the others."""
    with Builder("cond", SHARED) as builder:
        outputs = inline(split.primal, [builder.input(t) for t in split.primal.input_types])
        count = len(split.mask)
        filled: list[Tracer] = [zeros(t) for t in slots]
        for k, residual in zip(place, outputs[count:], strict=True):
            filled[k] = residual
        return builder.program([*outputs[:count], *filled])


def _from_residuals(
    split: Linearized, tangents: int, slots: Sequence[ArrayType], place: Sequence[int]
) -> Program:
    with Builder("cond", SHARED) as builder:
        ts = [builder.input(t) for t in split.linear.input_types[:tangents]]
        filled = [builder.input(t) for t in slots]
        return builder.program(inline(split.linear, [*ts, *(filled[k] for k in place)]))


def _cond_transpose(p: Cond, _types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    index, *operands = xs
    assert index is not None
    linear = tuple(x is None for x in operands)
    arrived = tuple(ct is not None for ct in cts)
    branches = tuple(transpose(branch, linear, arrived) for branch in p.branches)
    pulled = cond(index, branches, [*present(operands), *present(cts)])
    return [None, *spread(pulled, linear)]


def _cond_batch(p: Cond, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    if not batched[0]:
        branches = tuple(batch_outputs(branch, size, batched[1:]) for branch in p.branches)
        return cond(xs[0], branches, xs[1:])
    # every example chooses for itself: run all branches and select
    index, *operands = align(size, xs, batched)
    beyond = [
        operations["greater_equal"](index, constant(k, index.type))
        for k in range(1, len(p.branches))
    ]
    results: Tracers = []
    for k, branch in enumerate(p.branches):
        program = batch_outputs(branch, size, (True,) * len(operands))
        if branch.raises:
            here = [*beyond[k - 1 : k], *(logical_not(x) for x in beyond[k : k + 1])]
            found = _apply_where(reduce(logical_and, here), program, operands)
        else:
            found = inline(program, operands)
        results = (
            [
                select(broadcast(beyond[k - 1], y.shape, (0,)), y, z)
                for y, z in zip(found, results, strict=True)
            ]
            if k
            else found
        )
    return results


def _apply_where(chosen: Tracer, program: Program, operands: Tracers) -> Tracers:
    """Apply a batched program to chosen examples, and those in the place of the others, if any."""
    with Builder("none", SHARED) as builder:
        for t in program.input_types:
            builder.input(t)
        nothing = builder.program([zeros(t) for t in program.output_types])
    given = [in_place_of_others(chosen, x) for x in operands]
    return cond(convert(reduce_any(chosen, (0,)), INT), (nothing, program), given)


def in_place_of_others(chosen: Tracer, x: Tracer) -> Tracer:
    """Return examples with the first chosen one in place of those that are not chosen.

    What raises for them would not raise in a loop over the examples.
    """
    first = gather(x, (argmax(chosen, 0),), (0,))
    mask, others = broadcast(chosen, x.shape, (0,)), tuple(range(1, x.ndim))
    return select(mask, x, broadcast(first, x.shape, others))


def _through_cond(p: Cond, flags: Sequence[bool]) -> list[bool]:
    if flags[0]:
        return [True for _ in p.branches[0].outputs]
    return _either(*(dependent(branch, flags[1:]) for branch in p.branches))


cond_p: Final = Primitive(
    "cond",
    Cond,
    _abstract_cond,
    Implementation(_cond_impl, nested=_cond_impl),
    _cond_jvp,
    _cond_transpose,
    _cond_batch,
    _cond_linearize,
    Facts(flow=_through_cond),
)


def cond(index: Tracer, branches: tuple[Program, ...], operands: Tracers) -> Tracers:
    """Apply the branch that the int64 scalar `index`, kept in range, chooses."""
    if branches[0].outputs:
        return bind(cond_p, Cond(branches), index, *operands)
    if any(branch.ends for branch in branches):  # a check, as elsewhere
        bind(cond_p, Cond(tuple(map(with_a_result, branches))), index, *operands)
    return []
