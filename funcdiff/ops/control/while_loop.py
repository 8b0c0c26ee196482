"""Loops of a length known only when they run: `while_loop`, a primitive made of sweeps.

Forward mode carries tangents beside values.  `linearize` gives the tangents a loop of their own,
which first runs the loop of the values once more and keeps what differs between iterations; the
transpose walks over that backwards.  So nothing of unknown size leaves a loop: what is kept
between forward and reverse mode is the first carry, and loops in loops need the memory of one
inner loop at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Final, TypeAlias, TypeVar

from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Facts, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.evaluate import Runner, executable
from funcdiff.core.running.walk import rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.control.cond import in_place_of_others
from funcdiff.ops.control.scan import Scan, varying_residuals
from funcdiff.ops.control.sweeps import Assembly, Step, While, apply, input_flags, transpose_sweeps
from funcdiff.ops.families import several
from funcdiff.ops.structure.structural import select
from funcdiff.space import Maybe, align, broadcast, instantiate
from funcdiff.transforms.jvp import Mask, jvp, present, spread
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.vmap import vmap


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


# ---- forward mode ----------------------------------------------------------------------------


def _active(p: While, ts: Tangents) -> list[Mask]:
    """Return which inputs of each sweep have a tangent."""
    flags = [t is not None for t in ts]
    return input_flags(p, flags, lambda body, active: jvp(body, active)[1])


def _outputs_with_tangents(p: While, k: int, active: Mask) -> Mask:
    """Return which outputs of a sweep must have a tangent: the carries that come with one."""
    carried = active[p.constants : p.constants + p.carries[k]]
    return (*carried, *(False,) * (len(p.sweeps[k].outputs) - p.carries[k]))


def _instantiate_carries(p: While, xs: Tracers, ts: Tangents, active: list[Mask]) -> Any:
    """Return the tangents of the constants, and those of each first carry, zeros where needed."""
    constants, carries = p.split(ts)
    filled = []
    for k, (carry, starts) in enumerate(zip(carries, p.split(xs)[1], strict=True)):
        flags = _outputs_with_tangents(p, k, active[k])[: p.carries[k]]
        pairs = zip(carry, starts, flags, strict=True)
        filled.append([instantiate(t, x.type) for t, x, flag in pairs if flag])
    return present(constants), filled


def _while_jvp(p: While, xs: Tracers, ts: Tangents) -> Pushed:
    active = _active(p, ts)
    constants, carries = p.split(xs)
    tconstants, tcarries = _instantiate_carries(p, xs, ts, active)
    assembly = Assembly([x.type for x in (*constants, *tconstants)])
    values: list[int] = []
    tangents: list[int] = []
    for k, (start, tstart) in enumerate(zip(carries, tcarries, strict=True)):
        pushed, mask = jvp(p.sweeps[k], active[k], _outputs_with_tangents(p, k, active[k]))
        step = _push_step(p, k, pushed, mask, (list(values), list(tangents)))
        rows = assembly.add([x.type for x in (*start, *tstart)], step, reverse=p.reverse[k])
        plain = len(mask) - p.carries[k]
        values += rows[:plain]
        tangents += rows[plain:]
    loop = assembly.loop(lambda c, s: apply(p.test, c[: p.constants], s[: p.carries[0]])[0])
    groups = zip(carries, tcarries, strict=True)
    results = loop_results(loop, [*constants, *tconstants], [[*a, *b] for a, b in groups])
    ys = [y for result, n in zip(results, p.carries, strict=True) for y in result[:n]]
    tys: list[Maybe] = []
    for k, result in enumerate(results):
        n = p.carries[k]
        tys += spread(result[n:], _outputs_with_tangents(p, k, active[k])[:n])
    return ys, tys


def _push_step(
    p: While, k: int, pushed: Program, mask: Mask, places: tuple[list[int], list[int]]
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


# ---- linearization ---------------------------------------------------------------------------


def _while_linearize(p: While, xs: Tracers, ts: Tangents) -> Pushed:
    active = _active(p, ts)
    constants, carries = p.split(xs)
    tconstants, tcarries = _instantiate_carries(p, xs, ts, active)
    splits = [
        linearize(body, flags, _outputs_with_tangents(p, k, flags))
        for k, (body, flags) in enumerate(zip(p.sweeps, active, strict=True))
    ]
    fixed, sources = _invariant_residuals(p, splits, constants)
    assembly = Assembly([x.type for x in (*constants, *fixed, *tconstants)])
    values: list[int] = []
    for k, split in enumerate(splits):
        n, m = p.carries[k], len(split.mask)
        step = _recording_step(p, split.primal, n, sources[k], list(values))
        rows = assembly.add([x.type for x in carries[k]], step, reverse=p.reverse[k])
        values += rows[: m - n]
        varying = iter(rows[m - n :])
        sources[k] = [next(varying) if j is None else j for j in sources[k]]
    tangents: list[int] = []
    first = len(constants) + len(fixed)
    linear = [k for k, split in enumerate(splits) if any(split.mask)]
    for k in linear:
        step = _tangent_step(splits[k].linear, len(tcarries[k]), first, sources[k], list(tangents))
        tangents += assembly.add([t.type for t in tcarries[k]], step, reverse=p.reverse[k])
    loop = assembly.loop(lambda c, s: apply(p.test, c[: p.constants], s)[0])
    operands = [*constants, *fixed, *tconstants]
    operands += [x for carry in (*carries, *(tcarries[k] for k in linear)) for x in carry]
    # values that only become values leave the loop: the rest is linear where the sweeps are
    first, last = sum(p.carries), len(operands) - len(assembly.constants)
    loop, kept, places = restrict_while(loop, list(range(first, last)))
    results = while_loop(loop, [operands[k] for k in kept])
    moved = [results[k] for k in places]
    masks = (flag for k, split in enumerate(splits) for flag in split.mask[: p.carries[k]])
    return while_loop(p, xs), spread(moved, list(masks))


def _invariant_residuals(
    p: While, splits: Sequence[Linearized], constants: Tracers
) -> tuple[list[Tracer], list[list[int | None]]]:
    """Compute the residuals that are the same in every iteration once, from the constants.

    Also returned is, for each sweep and residual, ``~place`` of the constant that it becomes, or
    None for one that varies.
    """
    fixed: list[Tracer] = []
    sources: list[list[int | None]] = []
    for split in splits:
        m = len(split.mask)
        varying = varying_residuals(split.primal, p.constants, m)
        source: list[int | None] = [None] * split.residuals
        same = [k for k in range(split.residuals) if k not in varying]
        outside = rearrange(split.primal, range(p.constants), [m + k for k in same])
        for k, x in zip(same, apply(outside, constants), strict=True):
            source[k] = ~(p.constants + len(fixed))
            fixed.append(x)
        sources.append(source)
    return fixed, sources


def _recording_step(
    p: While, primal: Program, n: int, source: Sequence[int | None], values: list[int]
) -> Step:
    """Return what a sweep does to the values, leaving the residuals that vary."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = apply(primal, c[: p.constants], s, [r[j] for j in values])
        m = len(results) - len(source)
        varying = [x for x, place in zip(results[m:], source, strict=True) if place is None]
        return results[:n], [*results[n:m], *varying]

    return step


def _tangent_step(
    linear: Program, n: int, first: int, source: Sequence[int | None], tangents: list[int]
) -> Step:
    """Return what a sweep does to tangents; those of the constants start at place `first`."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        residuals = [c[~j] if j < 0 else r[j] for j in source if j is not None]
        results = apply(linear, c[first:], s, [r[j] for j in tangents], residuals)
        return results[:n], results[n:]

    return step


# ---- transposition ---------------------------------------------------------------------------


def _while_transpose(p: While, _types: Types, cts: Tangents, operands: Tangents) -> Tangents:
    turned = transpose_sweeps(p, cts, operands)
    results = loop_results(turned.loop, turned.constants, turned.carries)
    return turned.cotangents(results)


# ---- batching --------------------------------------------------------------------------------


def _while_batch(p: While, size: int, operands: Tracers, batched: Sequence[bool]) -> Tracers:
    def flow(body: Program, flags: Mask) -> Sequence[bool]:
        return vmap(body, size, flags)[1]

    flags = input_flags(p, batched, flow)
    test, (ragged,) = vmap(p.test, size, flags[0])
    if ragged:  # every example has its own number of iterations
        carried = (True,) * sum(p.carries)
        flags = input_flags(p, (*batched[: p.constants], *carried), flow)
        test, _ = vmap(p.test, size, flags[0])
    constants, carries = p.split(operands)
    assembly = Assembly(vmap(p.sweeps[0], size, flags[0])[0].input_types[: p.constants])
    for k, body in enumerate(p.sweeps):
        n = p.carries[k]
        after = flags[k][p.constants : p.constants + n]
        wanted = (*after, *(False for _ in body.outputs[n:]))
        mapped, _ = vmap(body, size, flags[k], wanted)
        chooses = flags[k] if body.raises else ()
        ends = test if k == 0 else None
        step = _step_of_running(mapped, n, ends, chooses) if ragged else _step(mapped, n)
        carry = mapped.input_types[p.constants : p.constants + n]
        carries[k] = [
            align(size, [x], [False])[0] if flag and x.type is not t else x
            for x, t, flag in zip(carries[k], carry, after, strict=True)
        ]
        assembly.add(carry, step, reverse=p.reverse[k])
    if ragged:
        loop = assembly.loop(lambda c, s: reduce_any(apply(test, c, s)[0], (0,)))
    else:
        loop = assembly.loop(lambda c, s: apply(test, c, s)[0])
    results = [x for group in loop_results(loop, constants, carries) for x in group]
    marked = [flag for k, f in enumerate(flags) for flag in f[p.constants :][: p.carries[k]]]
    return align(size, results, marked)


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


# ---- the primitive ---------------------------------------------------------------------------


def _through_while(p: While, flags: Sequence[bool]) -> list[bool]:
    reached = input_flags(p, flags, dependent)
    carries = [flag for k, f in enumerate(reached) for flag in f[p.constants :][: p.carries[k]]]
    if any(dependent(p.test, reached[0])):  # so does how often anything changes
        return [True for _ in carries]
    return carries


while_p: Final = Primitive(
    "while_loop",
    While,
    _abstract_while,
    Implementation(_while_impl, nested=_while_impl),
    _while_jvp,
    _while_transpose,
    _while_batch,
    _while_linearize,
    Facts(flow=_through_while),
)


def while_loop(p: While, operands: Tracers) -> Tracers:
    """Run the sweeps of a loop; return the last carry of each, one after the other."""
    return bind(while_p, p, *operands) if sum(p.carries) else []


def loop_results(p: While, constants: Tracers, carries: Sequence[Tracers]) -> list[list[Tracer]]:
    """Run the sweeps of a loop; return the last carry of each."""
    return p.results(while_loop(p, [*constants, *(x for carry in carries for x in carry)]))


# ---- dead-code elimination: carries and rows that no result needs --------------------------------


P = TypeVar("P")
Restricted: TypeAlias = tuple[P, list[int], list[int]]
"""The parameters of a smaller loop, the operands it takes, and the places of the results."""


def restrict_scan(p: Scan, wanted: list[int]) -> Restricted[Scan]:
    """Restrict a loop; the carries that are needed on the way stay."""
    stacked = [k for k in wanted if k >= p.carries]
    body, carry = _restrict_body(
        p.body, p.constants, p.carries, {k for k in wanted if k < p.carries}, stacked
    )
    read = atoms_in_use(body)
    every = range(len(p.body.inputs))
    constants, _, rows = ([k for k in group if body.inputs[k] in read] for group in p.split(every))
    kept = [*constants, *(p.constants + k for k in carry), *rows]
    outputs = [*carry, *stacked]
    loop = Scan(
        rearrange(body, kept, range(len(outputs))), len(constants), len(carry), p.length, p.reverse
    )
    return loop, kept, [outputs.index(k) for k in wanted]


def _restrict_body(
    body: Program, constants: int, carries: int, carry: set[int], others: Sequence[int]
) -> tuple[Program, list[int]]:
    """Restrict a body to some carries and other outputs; return also which carries that takes."""
    while True:
        kept = sorted(carry)
        restricted = rearrange(body, range(len(body.inputs)), [*kept, *others])
        read = atoms_in_use(restricted)
        needed = {k for k in range(carries) if restricted.inputs[constants + k] in read}
        if needed <= carry:
            return restricted, kept
        carry = carry | needed


def restrict_while(p: While, wanted: list[int]) -> Restricted[While]:
    """Restrict every sweep; carries and rows that are needed on the way stay."""
    places = p.split(range(p.constants + sum(p.carries)))[1]
    offsets = [place[0] - p.constants if place else 0 for place in places]
    counts = [len(body.outputs) - n for body, n in zip(p.sweeps, p.carries, strict=True)]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    tested = atoms_in_use(p.test)
    shared = {k for k in range(p.constants) if p.test.inputs[k] in tested}
    rows: set[int] = set()
    sweeps: dict[int, tuple[Program, list[int]]] = {}
    for k in range(len(p.sweeps) - 1, -1, -1):
        n = p.carries[k]
        carry = {j for j in range(n) if offsets[k] + j in wanted}
        if k == 0:
            carry |= {j for j in range(n) if p.test.inputs[p.constants + j] in tested}
        others = [n + j for j in range(counts[k]) if starts[k] + j in rows]
        if k and not (carry or others):
            continue
        body, kept = _restrict_body(p.sweeps[k], p.constants, n, carry, others)
        read = atoms_in_use(body)
        shared |= {j for j in range(p.constants) if body.inputs[j] in read}
        rows |= {j for j in range(starts[k]) if body.inputs[p.constants + n + j] in read}
        sweeps[k] = body, kept
    return _assemble(p, wanted, sorted(shared), rows, sweeps)


def _assemble(
    p: While,
    wanted: list[int],
    shared: list[int],
    rows: set[int],
    sweeps: dict[int, tuple[Program, list[int]]],
) -> Restricted[While]:
    """Put together a loop of the sweeps, constants and rows that are kept."""
    operands = list(shared)
    outputs: list[int] = []
    bodies = []
    order = sorted(sweeps)
    left = 0
    before = 0
    for k in range(len(p.sweeps)):
        n, count = p.carries[k], len(p.sweeps[k].outputs) - p.carries[k]
        if k in sweeps:
            body, carry = sweeps[k]
            places = [p.constants + j for j in carry]
            read = [p.constants + n + j for j in sorted(rows) if j < left]
            bodies.append(rearrange(body, [*shared, *places, *read], range(len(body.outputs))))
            operands += [p.constants + before + j for j in carry]
            outputs += [before + j for j in carry]
        left += count
        before += n
    first = sweeps[0][1]
    test = rearrange(p.test, [*shared, *(p.constants + j for j in first)], [0])
    loop = While(
        test,
        tuple(bodies),
        len(shared),
        tuple(len(sweeps[k][1]) for k in order),
        tuple(p.reverse[k] for k in order),
    )
    return loop, operands, [outputs.index(k) for k in wanted]
