"""Loops, of known length as `scan` and of unknown length as `while_loop`: one set of rules.

Forward mode carries tangents beside values.  `linearize` gives the tangents sweeps of their own,
which read what the sweeps over the values leave: what differs between iterations; what does not is
computed once.  The transpose walks over that backwards.

Where the length is unknown, nothing of unknown size leaves a loop: the tangents' loop first runs
the loop of the values once more.  So what is kept between forward and reverse mode is the first
carry, and loops in loops need the memory of one inner loop at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.implementation import Implementation
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.evaluate import Runner, executable
from funcdiff.core.running.walk import rearrange, with_a_result
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.control.cond import in_place_of_others
from funcdiff.ops.control.sweeps import (
    Assembly,
    Loop,
    Scan,
    Step,
    While,
    apply,
    input_flags,
    restrict,
)
from funcdiff.ops.families import several
from funcdiff.ops.structure.structural import permute, select
from funcdiff.space import Maybe, add, align, broadcast, instantiate, sum_tangents, zeros
from funcdiff.transforms.jvp import Mask, jvp, present, spread
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import is_zero, transpose
from funcdiff.transforms.vmap import vmap

P = TypeVar("P", Scan, While)

# ---- types and implementations -------------------------------------------------------------------


def _abstract_scan(p: Scan, *operands: ArrayType) -> Types:
    constants, carry, xs = p.split(operands)
    rows = [x.with_shape(x.shape[1:]) for x in xs if x.shape[:1] == (p.length,)]
    outputs = p.body.output_types
    if len(rows) != len(xs) or p.body.input_types != (*constants, *carry, *rows):
        raise TypeError("the operands of scan do not fit its body")
    if outputs[: p.carries] != tuple(carry):
        raise TypeError("the body of scan must return the carry in the types it has")
    return (*carry, *(y.with_shape((p.length, *y.shape)) for y in outputs[p.carries :]))


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


def _abstract_while(p: While, *operands: ArrayType) -> Types:
    constants, carries = p.split(operands)
    if p.test.input_types != (*constants, *carries[0]):
        raise TypeError("the test of while_loop must take the constants and the first carry")
    if p.test.output_types != (ArrayType((), BOOL),):
        raise TypeError(f"the test of while_loop must return bool[], got {p.test.output_types}")
    rows: list[ArrayType] = []
    for body, carry in zip(p.sweeps, carries, strict=True):
        if body.input_types != (*constants, *carry, *rows):
            raise TypeError("the operands of while_loop do not fit its sweeps")
        if body.output_types[: len(carry)] != tuple(carry):
            raise TypeError("a sweep of while_loop must return the carry in the types it has")
        rows += body.output_types[len(carry) :]
    if len(operands) != p.constants + sum(p.carries) or p.reverse[0]:
        raise TypeError("the operands of while_loop do not fit its sweeps")
    return operands[p.constants :]


def _while_impl(p: While, runner: Runner = executable) -> Callable[..., Any]:
    test = runner(p.test)
    first, *further = map(runner, p.sweeps)
    count = p.carries[0]

    def function(*operands: Any) -> list[Any]:
        constants, carries = p.split(operands)
        carry = carries[0]
        rows: list[list[Any]] = []
        while test(*constants, *carry)[0]:
            values = first(*constants, *carry)
            carry = values[:count]
            if further:
                rows.append(values[count:])
        results = list(carry)
        for sweep, carry, reverse in zip(further, carries[1:], p.reverse[1:], strict=True):
            number = len(carry)
            for row in reversed(rows) if reverse else rows:
                values = sweep(*constants, *carry, *row)
                carry = values[:number]
                row += values[number:]
            results += carry
        return results

    return several(function)


def run(p: Loop, operands: Tracers, wanted: Sequence[int] | None = None) -> list[Tracer]:
    """Record a loop, as far as some results need it, by default all; return these."""
    count = sum(p.carries) + len(p.leaving)
    p, kept, places = restrict(p, range(count) if wanted is None else wanted)
    operands = [operands[k] for k in kept]
    if isinstance(p.end, Program):
        results = list(while_loop(While(p.end, *p[1:5]), operands))
    else:
        results = _run_sweeps(p, p.end, operands)
    return [results[k] for k in places]


def _run_sweeps(p: Loop, length: int, operands: Tracers) -> list[Tracer]:
    """Record one scan for each sweep, of the constants and rows that it reads."""
    constants, carries, rows = p.split(operands)
    ends: list[Tracer] = []
    for body, carry, reverse in zip(p.sweeps, carries, p.reverse, strict=True):
        read = atoms_in_use(body)
        xs = [*constants, *carry, *rows]
        own = range(len(constants), len(constants) + len(carry))
        kept = [k for k in range(len(xs)) if k in own or body.inputs[k] in read]
        smaller = rearrange(body, kept, range(len(body.outputs)))
        count = sum(k < own.start for k in kept)
        results = scan(Scan(smaller, count, len(own), length, reverse), [xs[k] for k in kept])
        ends += results[: len(own)]
        rows += results[len(own) :]
    return [*ends, *(rows[j] for j in p.leaving)]


# ---- forward mode --------------------------------------------------------------------------------


def _types(xs: Tracers) -> list[ArrayType]:
    return [x.type for x in xs]


def _row_types(xs: Tracers) -> list[ArrayType]:
    return [x.type.with_shape(x.shape[1:]) for x in xs]


def _active(p: Loop, ts: Tangents) -> list[Mask]:
    """Return which inputs of each sweep have a tangent."""
    flags = [t is not None for t in ts]
    return input_flags(p, flags, lambda body, active: jvp(body, active)[1])[0]


def _outputs_with_tangents(p: Loop, k: int, active: Mask) -> Mask:
    """Return which outputs of a sweep must have a tangent: the carries that come with one."""
    carried = active[p.constants : p.constants + p.carries[k]]
    return (*carried, *(False,) * (len(p.sweeps[k].outputs) - p.carries[k]))


def _instantiate_carries(
    p: Loop, xs: Tracers, ts: Tangents, active: list[Mask]
) -> tuple[list[Tracer], list[list[Tracer]], list[Maybe]]:
    """Return the tangents of constants, of each first carry, zeros where needed, and of rows."""
    constants, carries, rows = p.split(ts)
    filled = []
    for k, (carry, starts) in enumerate(zip(carries, p.split(xs)[1], strict=True)):
        flags = _outputs_with_tangents(p, k, active[k])[: p.carries[k]]
        pairs = zip(carry, starts, flags, strict=True)
        filled.append([instantiate(t, x.type) for t, x, flag in pairs if flag])
    return present(constants), filled, rows


def _numbers(rows: Tangents) -> tuple[list[int], list[int | None]]:
    """Return the numbers of rows and of their tangents, None for those without one."""
    n = len(rows)
    flags = [t is not None for t in rows]
    return list(range(n)), spread(range(n, n + sum(flags)), flags)


def _present(numbers: Sequence[int | None]) -> list[int]:
    return [j for j in numbers if j is not None]


def _jvp(params: Scan | While, xs: Tracers, ts: Tangents) -> Pushed:
    p = params.loop
    active = _active(p, ts)
    constants, carries, rows = p.split(xs)
    tconstants, tcarries, trows = _instantiate_carries(p, xs, ts, active)
    shared, given = [*constants, *tconstants], [*rows, *present(trows)]
    assembly = Assembly(_types(shared), _row_types(given))
    values, tangents = _numbers(trows)
    for k, (start, tstart) in enumerate(zip(carries, tcarries, strict=True)):
        pushed, mask = jvp(p.sweeps[k], active[k], _outputs_with_tangents(p, k, active[k]))
        step = _push_step(p, k, pushed, mask, (list(values), _present(tangents)))
        left = assembly.add(_types([*start, *tstart]), step, reverse=p.reverse[k])
        n = p.carries[k]
        values += left[: len(mask) - n]
        tangents += spread(left[len(mask) - n :], mask[n:])
    leaving = [values[j] for j in p.leaving]
    tleaving = [tangents[j] for j in p.leaving]
    loop = assembly.loop(p.end, p.constants, [*leaving, *_present(tleaving)])
    moved = (x for pair in zip(carries, tcarries, strict=True) for group in pair for x in group)
    ends, stacks = loop.results(run(loop, [*shared, *moved, *given]))
    ys = [y for end, n in zip(ends, p.carries, strict=True) for y in end[:n]]
    tys: list[Maybe] = []
    for k, (end, n) in enumerate(zip(ends, p.carries, strict=True)):
        tys += spread(end[n:], _outputs_with_tangents(p, k, active[k])[:n])
    tys += spread(stacks[len(leaving) :], [j is not None for j in tleaving])
    return [*ys, *stacks[: len(leaving)]], tys


def _push_step(
    p: Loop, k: int, pushed: Program, mask: Mask, places: tuple[list[int], list[int]]
) -> Step:
    """Return what a sweep does to values and tangents, which are at these places of the rows."""
    n, m = p.carries[k], len(mask)
    values, tangents = places

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        xs = [*c[: p.constants], *s[:n], *(r[j] for j in values)]
        ts = [*c[p.constants :], *s[n:], *(r[j] for j in tangents)]
        results = apply(pushed, xs, ts)
        ys, tys = results[:m], spread(results[m:], mask)
        return [*ys[:n], *present(tys[:n])], [*ys[n:], *present(tys[n:])]

    return step


# ---- linearization -------------------------------------------------------------------------------


def _linearize(params: Scan | While, xs: Tracers, ts: Tangents) -> Pushed:
    p = params.loop
    active = _active(p, ts)
    constants, carries, rows = p.split(xs)
    tconstants, tcarries, trows = _instantiate_carries(p, xs, ts, active)
    splits = [
        linearize(body, flags, _outputs_with_tangents(p, k, flags))
        for k, (body, flags) in enumerate(zip(p.sweeps, active, strict=True))
    ]
    fixed, sources = _invariant_residuals(p, splits, constants, len(tconstants))
    shared, given = [*constants, *tconstants, *fixed], [*rows, *present(trows)]
    assembly = Assembly(_types(shared), _row_types(given))
    values, tangents = _numbers(trows)
    for k, split in enumerate(splits):
        n, m = p.carries[k], len(split.mask)
        # a residual that is a row that the sweep reads is there already
        read = dict[Atom, int](zip(split.primal.inputs[p.constants + n :], values, strict=True))
        residuals = zip(split.primal.outputs[m:], sources[k], strict=True)
        sources[k] = [read.get(x) if j is None else j for x, j in residuals]
        step = _recording_step(p, split.primal, n, sources[k], list(values))
        left = assembly.add(_types(carries[k]), step, reverse=p.reverse[k])
        values += left[: m - n]
        varying = iter(left[m - n :])
        sources[k] = [next(varying) if j is None else j for j in sources[k]]
    for k, split in enumerate(splits):
        n, places = p.carries[k], (_present(sources[k]), _present(tangents))
        step = _tangent_step(split.linear, p.constants, len(tconstants), *places)
        left = assembly.add(_types(tcarries[k]), step, reverse=p.reverse[k])
        tangents += spread(left, split.mask[n:])
    leaving = [values[j] for j in p.leaving]
    tleaving = [tangents[j] for j in p.leaving]
    loop = assembly.loop(p.end, p.constants, [*leaving, *_present(tleaving)])
    carried = [x for carry in (*carries, *tcarries) for x in carry]
    operands = [*shared, *carried, *given]
    mask = [flag for k, split in enumerate(splits) for flag in split.mask[: p.carries[k]]]
    mask += [j is not None for j in tleaving]
    count, last = sum(p.carries), len(carried)
    moved = [*range(count, last), *range(last + len(leaving), last + len(loop.leaving))]
    if isinstance(p.end, Program):
        # values that only become values leave the loop: the rest is linear where the sweeps are
        return run(p, xs), spread(run(loop, operands, moved), mask)
    results = run(loop, operands)
    ys = [*results[:count], *results[last : last + len(leaving)]]
    return ys, spread([results[k] for k in moved], mask)


def _invariant_residuals(
    p: Loop, splits: Sequence[Linearized], constants: Tracers, tangents: int
) -> tuple[list[Tracer], list[list[int | None]]]:
    """Compute the residuals that are the same in every iteration once, from the constants.

    Also returned is, for each sweep and residual, ``~place`` of the constant that it becomes,
    behind those of the loop and their tangents, or None for one that varies.
    """
    fixed: list[Tracer] = []
    sources: list[list[int | None]] = []
    for split in splits:
        m = len(split.mask)
        varying = _varying_residuals(split.primal, p.constants, m)
        source: list[int | None] = [None] * split.residuals
        same = [k for k in range(split.residuals) if k not in varying]
        outside = rearrange(split.primal, range(p.constants), [m + k for k in same])
        for k, x in zip(same, apply(outside, constants), strict=True):
            source[k] = ~(p.constants + tangents + len(fixed))
            fixed.append(x)
        sources.append(source)
    return fixed, sources


def _varying_residuals(primal: Program, constants: int, first: int) -> list[int]:
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


def _recording_step(
    p: Loop, primal: Program, n: int, source: Sequence[int | None], values: list[int]
) -> Step:
    """Return what a sweep does to the values, leaving the residuals that are nowhere else."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = apply(primal, c[: p.constants], s, [r[j] for j in values])
        m = len(results) - len(source)
        varying = [x for x, place in zip(results[m:], source, strict=True) if place is None]
        return results[:n], [*results[n:m], *varying]

    return step


def _tangent_step(
    linear: Program, first: int, count: int, source: Sequence[int], tangents: list[int]
) -> Step:
    """Return what a sweep does to tangents; those of `count` constants start at place `first`."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        residuals = [c[~j] if j < 0 else r[j] for j in source]
        ts = [*c[first : first + count], *s, *(r[j] for j in tangents)]
        results = apply(linear, ts, residuals)
        return results[: len(s)], results[len(s) :]

    return step


# ---- transposition: the linear sweeps, turned around ---------------------------------------------
#
# What is known runs forward as before; the linear sweeps follow in the opposite order, each in the
# opposite direction.


class _Half(NamedTuple):
    """A sweep without what is not linear in it, which runs before."""

    body: Program  # the sweep, of its linear outputs only
    linear: Mask  # which of its inputs are linear
    carry: list[int]  # linear carries
    rows: list[int]  # numbers of linear rows
    kept: list[int]  # where the known carry and rows are kept


class _Pulled(NamedTuple):
    """A sweep turned around.

    What has no cotangent in any iteration gets no explicit zero, which might meet an infinite
    slope.
    """

    body: Program  # ``(*known, *cts) -> cts``: of known values and the cotangents that arrive
    inputs: list[int]  # for each result of `body`: the input that it is the cotangent of
    carry: list[int]  # carries with cotangents
    rows: list[int]  # numbers of rows with cotangents
    kept: list[int]  # where the known carry and rows are kept


def _transpose(params: Scan | While, _: Types, cts: Tangents, operands: Tangents) -> Tangents:
    """Run what is known forward, then the linear sweeps in the opposite order and direction."""
    p = params.loop
    linear = input_flags(p, [x is None for x in operands], dependent)[0]
    constants, carries, rows = p.split(operands)
    arrived, pulled = p.results(cts)
    given = [*present(rows), *present(pulled)]
    assembly = Assembly(_types(present(constants)), _row_types(given))
    places = {j: k for k, j in enumerate(j for j, x in enumerate(rows) if x is not None)}
    gathered: dict[int, list[int]] = {}
    for j, ct in zip(p.leaving, pulled, strict=True):
        if ct is not None:
            gathered[j] = [len(places) + len(gathered)]
    halves, again = _add_known_sweeps(p, assembly, linear, places)
    flags = [linear[k][p.constants :] for k in again]
    starts = [
        x for k, known in zip(again, flags, strict=True) for x in _without_marked(carries[k], known)
    ]
    turned: list[tuple[int, _Pulled]] = []
    for k in range(len(halves) - 1, -1, -1):
        half = _pull_back(p, k, halves[k], arrived[k], gathered)
        if not (half.carry or half.rows):
            continue
        types = p.sweeps[k].input_types
        sums = [zeros(types[j]) for j in half.inputs if j < p.constants]
        carry = [*sums, *(instantiate(arrived[k][j], types[p.constants + j]) for j in half.carry)]
        step = _pull_back_step(half, len(sums), [gathered[row] for row in half.rows])
        left = assembly.add(_types(carry), step, reverse=not p.reverse[k])
        head = p.constants + p.carries[k]
        for place, j in zip(left, [j for j in half.inputs if j >= head], strict=True):
            gathered.setdefault(j - head, []).append(place)
        starts += carry
        turned.append((k, half))
    end = p.end
    if isinstance(end, Program):
        end = rearrange(end, _without_marked(range(len(end.inputs)), linear[0]), [0])
    moved = [(j, place) for j in range(p.given) if rows[j] is None for place in gathered.get(j, ())]
    known = present(constants)
    loop = assembly.loop(end, len(known), [place for _, place in moved])
    ends, left_rows = loop.results(run(loop, [*known, *starts, *given]))
    own, (first, after, others) = [], p.split(range(len(operands)))
    for (k, half), results in zip(turned, ends[len(again) :], strict=True):
        whose = [*first, *after[k]]
        own += [(whose[j], ct) for j, ct in zip(half.inputs, results, strict=False)]
    own += [(others[j], ct) for (j, _), ct in zip(moved, left_rows, strict=True)]
    # the first carry may be a known zero, linear only by position
    return [
        sum_tangents([ct for j, ct in own if j == k]) if x is None else None
        for k, x in enumerate(operands)
    ]


def _without_marked(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return the first values, of which the flags say that they are not marked."""
    return [x for x, flag in zip(values, flags, strict=False) if not flag]


def _add_known_sweeps(
    p: Loop, assembly: Assembly, linear: Sequence[Mask], places: dict[int, int]
) -> tuple[list[_Half], list[int]]:
    """Add the sweeps that compute what is known; return what is linear in each, and which ran.

    The numbers of known rows are noted in `places`, with theirs in the new loop.
    """
    halves, again = [], []
    number = p.given
    for k, (body, flags) in enumerate(zip(p.sweeps, linear, strict=True)):
        n, head = p.carries[k], p.constants + p.carries[k]
        carry = flags[p.constants : head]
        after = (*carry, *dependent(body, flags)[n:])
        outputs = [j for j, flag in enumerate(after) if flag]
        others = _without_marked(range(len(after)), after)
        known = _without_marked(range(len(flags)), flags)
        rows = [places[j - head] for j in known if j >= head]
        before: Sequence[int] = ()
        # a test has to run, since it counts
        if not all(carry) or (isinstance(p.end, Program) and (k == 0 or others)):
            types = _without_marked(body.input_types[p.constants : head], carry)
            step = _nonlinear_step(rearrange(body, known, others), rows)
            left = assembly.add(types, step, reverse=p.reverse[k])
            places.update(zip([number + j - n for j in others if j >= n], left, strict=False))
            before = left[len(left) - len(types) :]
            again.append(k)
        restricted = rearrange(body, range(len(body.inputs)), outputs)
        moving = [j for j in outputs if j < n], [number + j - n for j in outputs if j >= n]
        halves.append(_Half(restricted, flags, *moving, [*before, *rows]))
        number += len(body.outputs) - n
    return halves, again


def _pull_back(
    p: Loop, k: int, known: _Half, cts: Tangents, gathered: Mapping[int, Sequence[int]]
) -> _Pulled:
    """Turn a sweep around, for the cotangents that arrive in some iteration."""
    linear = [j for j, flag in enumerate(known.linear) if flag]
    rows = [row in gathered for row in known.rows]
    arrived = [cts[j] is not None for j in known.carry]
    while True:
        body = transpose(known.body, known.linear, (*arrived, *rows))
        moving = {j for j, ct in zip(linear, body.outputs, strict=True) if not is_zero(ct)}
        pairs = zip(known.carry, arrived, strict=True)
        settled = [a or p.constants + j in moving for j, a in pairs]
        if settled == arrived:
            break
        arrived = settled
    kept = list(compress(known.carry, arrived))
    inputs = sorted(moving | {p.constants + j for j in kept})
    pulled = rearrange(body, range(len(body.inputs)), [linear.index(j) for j in inputs])
    return _Pulled(pulled, inputs, kept, list(compress(known.rows, rows)), known.kept)


def _nonlinear_step(known: Program, rows: list[int]) -> Step:
    """Return what a sweep does to what is known; it leaves the carry as it was before, too."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = apply(known, c, s, [r[j] for j in rows])
        return results[: len(s)], [*results[len(s) :], *s]

    return step


def _pull_back_step(half: _Pulled, sums: int, places: Sequence[Sequence[int]]) -> Step:
    """Return what a transposed sweep does to the sums of the constants' cotangents and the carry's.

    The cotangents of the rows are at `places`, one entry for each use.
    """

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        cts = present([sum_tangents([r[j] for j in uses]) for uses in places])
        results = apply(half.body, c, [r[j] for j in half.kept], s[sums:], cts)
        added = [add(a, b) for a, b in zip(s[:sums], results, strict=False)]
        return [*added, *results[sums : len(s)]], results[len(s) :]

    return step


# ---- batching ------------------------------------------------------------------------------------


def _batch(
    params: Scan | While, size: int, operands: Tracers, batched: Sequence[bool]
) -> list[Tracer]:
    def flow(body: Program, flags: Mask) -> Sequence[bool]:
        return vmap(body, size, flags)[1]

    p = params.loop
    flags, marked = input_flags(p, batched, flow)
    end, ragged = p.end, False
    if isinstance(p.end, Program):
        end, (ragged,) = vmap(p.end, size, flags[0])
        if ragged:  # every example has its own number of iterations
            carried = (True,) * sum(p.carries)
            flags, marked = input_flags(p, (*batched[: p.constants], *carried), flow)
            end, _ = vmap(p.end, size, flags[0])
    constants, carries, rows = p.split(operands)
    rows = [_swap_first(x) if on else x for x, on in zip(rows, p.split(batched)[2], strict=True)]
    assembly = Assembly(_types(constants), _row_types(rows))
    for k, body in enumerate(p.sweeps):
        n = p.carries[k]
        after = flags[k][p.constants : p.constants + n]
        wanted = (*after, *(False for _ in body.outputs[n:]))
        mapped, _ = vmap(body, size, flags[k], wanted)
        test = end if k == 0 and isinstance(end, Program) else None
        chooses = flags[k] if body.raises else ()
        step = _step_of_running(mapped, n, test, chooses) if ragged else _step(mapped, n)
        carry = mapped.input_types[p.constants : p.constants + n]
        carries[k] = [
            align(size, [x], [False])[0] if flag and x.type is not t else x
            for x, t, flag in zip(carries[k], carry, after, strict=True)
        ]
        assembly.add(carry, step, reverse=p.reverse[k])
    loop = assembly.loop(_any_of(end) if ragged else end, p.constants, p.leaving)
    results = run(loop, [*constants, *(x for carry in carries for x in carry), *rows])
    count = sum(p.carries)
    stacked = zip(results[count:], marked[count:], strict=True)
    results[count:] = [_swap_first(y) if on else y for y, on in stacked]
    return align(size, results, marked)


def _swap_first(x: Tracer) -> Tracer:
    return permute(x, (1, 0, *range(2, x.ndim)))


def _any_of(test: Program | int) -> Program:
    """Return whether a test holds for any example."""
    assert isinstance(test, Program), "examples differ in when they end"
    with Builder("while_loop", SHARED) as builder:
        results = apply(test, [builder.input(t) for t in test.input_types])
        return builder.program([reduce_any(results[0], (0,))])


def _step(body: Program, n: int) -> Step:
    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = apply(body, c, s, r)
        return results[:n], results[n:]

    return step


def _step_of_running(body: Program, n: int, test: Program | None, flags: Sequence[bool]) -> Step:
    """Return what a sweep does to the examples that have not ended; the first row says which.

    If it may raise, `flags` are those of the operands that differ.
    """

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        goes_on = r[0] if test is None else apply(test, c, s)[0]
        given = [*c, *s, *r[1:]]
        for k in compress(range(len(given)), flags):
            given[k] = in_place_of_others(goes_on, given[k])
        results = apply(body, given)
        after = [
            select(broadcast(goes_on, y.shape, (0,)), y, x)
            for x, y in zip(s, results[:n], strict=True)
        ]
        return after, [*([] if test is None else [goes_on]), *results[n:]]

    return step


# ---- the primitives ------------------------------------------------------------------------------


def _through(params: Scan | While, flags: Sequence[bool]) -> list[bool]:
    p = params.loop
    reached, ends = input_flags(p, flags, dependent)
    if isinstance(p.end, Program) and any(dependent(p.end, reached[0])):
        return [True for _ in ends]  # how often anything changes depends, too
    return ends


def _loop_primitive(
    name: str, params: type[P], abstract: Callable[..., Types], impl: Callable[..., Any]
) -> Primitive[P]:
    implementation, facts = Implementation(impl, nested=impl), Facts(flow=_through)
    return Primitive(
        name, params, abstract, implementation, _jvp, _transpose, _batch, _linearize, facts
    )


scan_p: Final = _loop_primitive("scan", Scan, _abstract_scan, _scan_impl)
while_p: Final = _loop_primitive("while_loop", While, _abstract_while, _while_impl)


def scan(p: Scan, operands: Tracers) -> Tracers:
    """Run the body once per row of the xs, passing the carry on and stacking the ys."""
    if p.body.outputs:
        return bind(scan_p, p, *operands)
    if p.body.ends:  # a check in a loop that computes nothing else
        bind(scan_p, replace(p, body=with_a_result(p.body)), *operands)
    return []


def while_loop(p: While, operands: Tracers) -> Tracers:
    """Run the sweeps of a loop; return the last carry of each, one after the other."""
    return bind(while_p, p, *operands) if sum(p.carries) else []
