"""Loops of fixed length: `scan`, a primitive whose parameter holds the program of the body.

Forward mode carries tangents beside values.  `linearize` keeps them apart: a loop over the values
stacks what differs between iterations, and passes on what does not, to a loop over the tangents.
The transpose of that runs backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.implementation import Implementation
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.evaluate import Runner, executable
from funcdiff.core.running.walk import inline, rearrange, with_a_result
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.sweeps import body_flags
from funcdiff.ops.families import several
from funcdiff.ops.structure.structural import permute
from funcdiff.space import Maybe, add, align, instantiate, zeros
from funcdiff.transforms.jvp import Mask, jvp, present, spread
from funcdiff.transforms.linearize import linearize
from funcdiff.transforms.transpose import is_zero, transpose
from funcdiff.transforms.vmap import batch_outputs


class Scan(Params):
    """A loop of fixed length.

    The body maps ``(*constants, *carry, *x)`` to ``(*carry, *y)``; operands are the constants,
    the initial carry, and arrays whose first axis the loop walks along.
    """

    body: Program
    constants: int
    carries: int
    length: int
    reverse: bool

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Split operands into constants, carry and xs."""
        values, end = list(values), self.constants + self.carries
        return values[: self.constants], values[self.constants : end], values[end:]


def _abstract_scan(p: Scan, *operands: ArrayType) -> Types:
    constants, carry, xs = p.split(operands)
    rows = [x.with_shape(x.shape[1:]) for x in xs if x.shape[:1] == (p.length,)]
    outputs = p.body.output_types
    if len(rows) != len(xs) or p.body.input_types != (*constants, *carry, *rows):
        raise TypeError("the operands of scan do not fit its body")
    if outputs[: p.carries] != tuple(carry):
        raise TypeError("the body of scan must return the carry in the types it has")
    return tuple(_result_types(p))


def _scan_impl(p: Scan, runner: Runner = executable) -> Callable[..., Any]:
    body = runner(p.body)
    order = range(p.length - 1, -1, -1) if p.reverse else range(p.length)
    stacked = p.body.output_types[p.carries :]

    def function(*operands: Any) -> list[Any]:
        constants, carry, xs = p.split(operands)
        ys = [np.empty((p.length, *t.shape), t.dtype) for t in stacked]
        for k in order:
            results = body(*constants, *carry, *[x[k] for x in xs])
            carry = results[: p.carries]
            for y, row in zip(ys, results[p.carries :], strict=True):
                y[k] = row
        return [*carry, *ys]

    return several(function)


def _scan_jvp(p: Scan, xs: Tracers, ts: Tangents) -> Pushed:
    active, carried = _active(p, ts)
    wanted = (*carried, *(False,) * (len(p.body.outputs) - p.carries))
    pushed, mask = jvp(p.body, active, wanted)
    n = len(p.body.inputs)
    places = spread(range(n, n + sum(active)), active)
    groups = zip(p.split(range(n)), p.split(places), strict=True)
    inputs = [[*plain, *(k for k in tangent if k is not None)] for plain, tangent in groups]
    m = len(p.body.outputs)
    outputs = [*range(p.carries), *range(m, m + sum(carried)), *range(p.carries, m)]
    outputs += range(m + sum(carried), len(pushed.outputs))
    body = rearrange(pushed, [k for group in inputs for k in group], outputs)
    ts = _instantiate_carry(p, xs, ts, carried)
    operands = [
        x
        for plain, tangent in zip(p.split(xs), p.split(ts), strict=True)
        for x in (*plain, *present(tangent))
    ]
    results = list(scan(Scan(body, len(inputs[0]), len(inputs[1]), p.length, p.reverse), operands))
    carry, results = results[: p.carries], results[p.carries :]
    tcarry, results = results[: sum(carried)], results[sum(carried) :]
    ys, tys = results[: m - p.carries], results[m - p.carries :]
    return [*carry, *ys], spread([*tcarry, *tys], mask)


def _active(p: Scan, ts: Tangents) -> tuple[Mask, Mask]:
    """Return which inputs of the body have a tangent, and which carries do."""
    moving = p.split([t is not None for t in ts])
    flags, _ = body_flags(p.body, moving, lambda body, active: jvp(body, active)[1])
    return flags, tuple(p.split(flags)[1])


def _instantiate_carry(p: Scan, xs: Tracers, ts: Tangents, carried: Mask) -> list[Maybe]:
    """Give the carries that become active on the way an initial tangent of zero."""
    constants, carry, rest = p.split(ts)
    starts = xs[p.constants : p.constants + p.carries]
    carry = [
        instantiate(t, x.type) if flag else None
        for t, x, flag in zip(carry, starts, carried, strict=True)
    ]
    return [*constants, *carry, *rest]


def _scan_linearize(p: Scan, xs: Tracers, ts: Tangents) -> Pushed:
    active, carried = _active(p, ts)
    m = len(p.body.outputs)
    split = linearize(p.body, active, (*carried, *(False,) * (m - p.carries)))
    varying = varying_residuals(split.primal, p.constants, m)
    fixed = [k for k in range(split.residuals) if k not in varying]
    # a residual that is a row of an operand is there already
    rows: dict[Atom, int] = dict(zip(split.primal.inputs, range(len(xs)), strict=True))
    places = {k: rows.get(split.primal.outputs[m + k], -1) for k in varying}
    given = {k: place for k, place in places.items() if place >= p.constants + p.carries}
    stacked = [k for k in varying if k not in given]
    every = range(len(p.body.inputs))
    primal = rearrange(split.primal, every, [*range(m), *(m + k for k in stacked)])
    outputs = list(scan(Scan(primal, p.constants, p.carries, p.length, p.reverse), xs))
    # residuals that are the same in every iteration are computed once, from the constants
    constants = range(p.constants)
    outside = inline(rearrange(split.primal, constants, [m + k for k in fixed]), xs[: p.constants])
    ts = _instantiate_carry(p, xs, ts, carried)
    tconstants, tcarry, txs = (present(group) for group in p.split(ts))
    a, b, c = len(tconstants), len(tcarry), len(txs)
    n = a + b + c
    order = [
        *range(a), *(n + k for k in fixed), *range(a, n), *(n + k for k in [*stacked, *given])
    ]  # fmt: skip
    linear = rearrange(split.linear, order, range(len(split.linear.outputs)))
    tangents = scan(
        Scan(linear, a + len(fixed), b, p.length, p.reverse),
        [*tconstants, *outside, *tcarry, *txs, *outputs[m:], *(xs[k] for k in given.values())],
    )
    return outputs[:m], spread(tangents, split.mask)


def varying_residuals(primal: Program, constants: int, first: int) -> list[int]:
    """Return which residuals of a body, the outputs from `first` on, depend on the iteration."""
    invariant = set(primal.inputs[:constants])
    for eq in primal.equations:
        if all(isinstance(atom, Literal) or atom in invariant for atom in eq.operands):
            invariant.update(eq.results)
    return [
        k
        for k, atom in enumerate(primal.outputs[first:])
        if not isinstance(atom, Literal) and atom not in invariant
    ]


def _scan_transpose(p: Scan, _types: Types, cts: Tangents, operands: Tangents) -> Tangents:
    """Run backwards, carrying the cotangents of the carry and the sums of the constants'."""
    linear = linear_inputs(p, [x is None for x in operands])
    constants, carry, xs = p.split(operands)
    if not all(p.split(linear)[1]):
        return _transpose_around_known(p, cts, operands, linear)
    arrived, moved = _arrivals(p, linear, cts)
    summed, _, rows = p.split(moved)
    body, sums = _transpose_body(p, linear, arrived, moved)
    cts = [
        instantiate(ct, t) if flag else None
        for ct, t, flag in zip(cts, _result_types(p), arrived, strict=True)
    ]
    known = present(constants)
    total = len(sums) + sum(arrived[: p.carries])
    results = scan(
        Scan(body, len(known), total, p.length, not p.reverse),
        [*known, *map(zeros, sums), *present(cts[: p.carries]),
         *present(xs), *present(cts[p.carries :])],
    )  # fmt: skip
    # the initial carry may be a known zero, linear only by position
    ended = zip(spread(results[len(sums) : total], arrived[: p.carries]), carry, strict=True)
    return [
        *spread(results[: len(sums)], summed),
        *(ct if x is None else None for ct, x in ended),
        *spread(results[total:], rows),
    ]


def _arrivals(p: Scan, linear: Mask, cts: Tangents) -> tuple[Mask, Mask]:
    """Return which outputs and which inputs of a body have a cotangent in some iteration.

    The others get no explicit zero, which might meet an infinite slope.
    """
    arrived = tuple(ct is not None for ct in cts)
    while True:
        pulled = iter(transpose(p.body, linear, arrived).outputs)
        moved = tuple(flag and not is_zero(next(pulled)) for flag in linear)
        carry = (a or b for a, b in zip(arrived, p.split(moved)[1], strict=False))
        settled = (*carry, *arrived[p.carries :])
        if settled == arrived:
            return arrived, moved
        arrived = settled


def _transpose_around_known(p: Scan, cts: Tangents, operands: Tangents, linear: Mask) -> Tangents:
    """Compute the carries that are not linear first, and hand them to the loop as rows."""
    constants, carry, xs = p.split(operands)
    places = p.split(range(len(operands)))
    given = [[k for k in group if not linear[k]] for group in places]
    known = [k for group in given for k in group]
    moving = [k for k in places[1] if linear[k]]
    step = rearrange(p.body, known, [k - p.constants for k in given[1]])
    with Builder("scan", SHARED) as builder:
        inputs = [builder.input(t) for t in step.input_types]
        before = inputs[len(given[0]) : len(given[0]) + len(given[1])]
        recorder = builder.program([*inline(step, inputs), *before])
    loop = Scan(recorder, len(given[0]), len(given[1]), p.length, p.reverse)
    rows = scan(loop, present([operands[k] for k in known]))[len(given[1]) :]
    kept = [k - p.constants for k in moving]
    stacked = range(p.carries, len(p.body.outputs))
    body = rearrange(p.body, [*places[0], *moving, *places[2], *given[1]], [*kept, *stacked])
    pulled = _scan_transpose(
        Scan(body, p.constants, len(moving), p.length, p.reverse),
        (),
        [cts[k] for k in [*kept, *stacked]],
        [*constants, *(carry[k] for k in kept), *xs, *rows],
    )
    by_place = dict(zip([*places[0], *moving, *places[2]], pulled, strict=False))
    return [by_place.get(k) for k in range(len(operands))]


def _transpose_body(
    p: Scan, linear: Mask, arrived: Mask, moved: Mask
) -> tuple[Program, list[ArrayType]]:
    """Return the body of the transposed loop, and the types of the sums it carries.

    It maps ``(*constants, *sums, *ct_carry, *x, *ct_y)`` to ``(*sums, *ct_carry, *ct_x)``.
    """
    pulled = transpose(p.body, linear, arrived)
    types = p.split(p.body.input_types)
    constants, _, rows = (
        [t for t, flag in zip(group, flags, strict=True) if not flag]
        for group, flags in zip(types, p.split(linear), strict=True)
    )
    summed, _, given = p.split(moved)
    sums = [t for t, flag in zip(types[0], summed, strict=True) if flag]
    outputs = [t for t, flag in zip(p.body.output_types, arrived, strict=True) if flag]
    carries = sum(arrived[: p.carries])
    with Builder("scan", SHARED) as builder:
        groups = (constants, sums, outputs[:carries], rows, outputs[carries:])
        c, s, ct_carry, x, ct_y = ([builder.input(t) for t in group] for group in groups)
        results = spread(inline(pulled, [*c, *x, *ct_carry, *ct_y]), linear)
        terms, after, others = (
            [ct for ct, flag in zip(group, flags, strict=True) if flag]
            for group, flags in zip(
                p.split(results), (summed, arrived[: p.carries], given), strict=True
            )
        )
        added = [add(a, b) for a, b in zip(s, terms, strict=True)]
        return builder.program([*added, *after, *others]), sums


def _result_types(p: Scan) -> list[ArrayType]:
    outputs = p.body.output_types
    ys = [y.with_shape((p.length, *y.shape)) for y in outputs[p.carries :]]
    return [*outputs[: p.carries], *ys]


def linear_inputs(p: Scan, linear: Sequence[bool]) -> Mask:
    """Return which inputs of a body are linear: a carry is, if what it becomes is."""
    return body_flags(p.body, p.split(linear), dependent)[0]


def _scan_batch(p: Scan, size: int, operands: Tracers, batched: Sequence[bool]) -> Tracers:
    constants, carry, xs = p.split(operands)
    bconstants, bcarry, bxs = p.split(batched)
    carry = align(size, carry, bcarry)
    flags = (*bconstants, *(True for _ in carry), *bxs)
    body = batch_outputs(p.body, size, flags)
    rows = [_swap_first(x) if flag else x for x, flag in zip(xs, bxs, strict=True)]
    results = scan(
        Scan(body, p.constants, p.carries, p.length, p.reverse), [*constants, *carry, *rows]
    )
    return [*results[: p.carries], *(_swap_first(y) for y in results[p.carries :])]


def _swap_first(x: Tracer) -> Tracer:
    return permute(x, (1, 0, *range(2, x.ndim)))


def _through_scan(p: Scan, flags: Sequence[bool]) -> list[bool]:
    reached, outgoing = body_flags(p.body, p.split(flags), dependent)
    return [*p.split(reached)[1], *outgoing[p.carries :]]


scan_p: Final = Primitive(
    "scan",
    Scan,
    _abstract_scan,
    Implementation(_scan_impl, nested=_scan_impl),
    _scan_jvp,
    _scan_transpose,
    _scan_batch,
    _scan_linearize,
    Facts(flow=_through_scan),
)


def scan(p: Scan, operands: Tracers) -> Tracers:
    """Run the body once per row of the xs, passing the carry on and stacking the ys."""
    if p.body.outputs:
        return bind(scan_p, p, *operands)
    if p.body.ends:  # a check in a loop that computes nothing else
        bind(scan_p, replace(p, body=with_a_result(p.body)), *operands)
    return []
