"""Supports through loops: that of a carry changes from iteration to iteration.

A carry that starts at zero, as the cotangent of a last carry that nobody uses does, has a support
in the first iteration, even if it may differ from zero everywhere after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcdiff.core.builder import Builder, Tracer
from funcdiff.core.program import Program, used
from funcdiff.core.types import BOOL
from funcdiff.core.walk import inline, rearranged
from funcdiff.ops import scan, transposed_sweeps
from funcdiff.ops.scan import Scan
from funcdiff.ops.sweeps import Assembly, Step, While, applied
from funcdiff.passes.extension import (
    Call,
    Extended,
    Restricted,
    Simplify,
    Supported,
    chosen,
    completed,
    numbered,
    with_support,
)
from funcdiff.passes.support import Maybe, Support, booleans


def _starting(
    xs: Sequence[Tracer], supports: Sequence[Maybe], given: Sequence[bool], carried: Sequence[bool]
) -> list[Support | Tracer]:
    """Return the first supports of carries; those not given may differ from zero everywhere."""
    return [
        booleans(x, s if has else True)
        for x, s, has, want in zip(xs, supports, given, carried, strict=True)
        if want
    ]


def _boolean(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [t.with_dtype(BOOL) for t in chosen(values, flags)]


# ---- loops of fixed length -----------------------------------------------------------------------


def extended_scan(p: Scan, call: Call, simplify: Simplify) -> Extended:
    """Extend a loop by the supports of constants, carry and rows."""
    linear = scan.linear_inputs(p, call.linear)
    constants, carry, rows = p.split(with_support(linear, call.supports))
    supports = p.split(call.supports)
    given = constants, carry, rows
    found = simplify(p.body, linear, (*constants, *carry, *rows))
    carried = [a or b for a, b in zip(carry, found.mask, strict=False)]
    xs = p.split(call.operands)
    wanted = constants, carried, rows
    constants, carry, rows = (
        [*xs[k], *_starting(xs[k], supports[k], given[k], wanted[k])] for k in range(3)
    )
    stacked = found.mask[p.carries :]
    last = len(carry) + len(stacked)
    return Extended(
        Scan(_scanned(p, found, given, carried), len(constants), len(carry), p.length, p.reverse),
        [*constants, *carry, *rows],
        [*range(p.carries), *range(len(carry), last)],
        [*numbered(carried, p.carries), *numbered(stacked, last)],
    )


def _scanned(
    p: Scan, found: Supported, given: Sequence[Sequence[bool]], carried: Sequence[bool]
) -> Program:
    """Put the supports next to what they are of: constants, carry, rows and results."""
    types = p.split(p.body.input_types)
    count = len(found.mask)
    with Builder("scan", closed=True, shares=True) as builder:
        xs: list[Tracer] = []
        supports: list[Tracer] = []
        for group, has, want in zip(types, given, (given[0], carried, given[2]), strict=True):
            xs += [builder.input(t) for t in group]
            masks = [builder.input(t) for t in _boolean(group, want)]
            supports += chosen(masks, chosen(has, want))
        results = inline(found.program, [*xs, *supports])
        ys, rest = results[:count], iter(results[count:])
        after = ys[: p.carries]
        ends = completed(after, found.mask[: p.carries], carried, rest)
        return builder.program([*after, *ends, *ys[p.carries :], *rest])


def restricted_scan(p: Scan, wanted: list[int]) -> Restricted:
    """Restrict a loop; the carries that are needed on the way stay."""
    stacked = [k for k in wanted if k >= p.carries]
    body, carry = _needed(
        p.body, p.constants, p.carries, {k for k in wanted if k < p.carries}, stacked
    )
    read = used(body)
    every = range(len(p.body.inputs))
    constants, _, rows = ([k for k in group if body.inputs[k] in read] for group in p.split(every))
    kept = [*constants, *(p.constants + k for k in carry), *rows]
    outputs = [*carry, *stacked]
    loop = Scan(
        rearranged(body, kept, range(len(outputs))), len(constants), len(carry), p.length, p.reverse
    )
    return loop, kept, [outputs.index(k) for k in wanted]


def _needed(
    body: Program, constants: int, carries: int, carry: set[int], others: Sequence[int]
) -> tuple[Program, list[int]]:
    """Restrict a body to some carries and other outputs; return also which carries that takes."""
    while True:
        kept = sorted(carry)
        restricted = rearranged(body, range(len(body.inputs)), [*kept, *others])
        read = used(restricted)
        needed = {k for k in range(carries) if restricted.inputs[constants + k] in read}
        if needed <= carry:
            return restricted, kept
        carry = carry | needed


# ---- loops of unknown length ---------------------------------------------------------------------


def extended_while(p: While, call: Call, simplify: Simplify) -> Extended:
    """Extend every sweep by the supports of constants, carry and the rows left before it."""
    flags = transposed_sweeps.linear_inputs(p, call.linear)
    xs, carries = p.split(call.operands)
    constants, starts = p.split(call.supports)
    given = with_support(flags[0][: p.constants], constants)
    shared = _starting(xs, constants, given, given)
    assembly = Assembly([x.type for x in (*xs, *shared)])
    plain: list[int] = []
    masks: list[int | None] = []
    groups: list[list[Support | Tracer]] = []
    results: list[int] = []
    supports: list[int | None] = []
    for k, (body, carry) in enumerate(zip(p.sweeps, carries, strict=True)):
        n = len(carry)
        first = with_support(flags[k][p.constants : p.constants + n], starts[k])
        rows = [place is not None for place in masks]
        found = simplify(body, flags[k], (*given, *first, *rows))
        carried = [a or b for a, b in zip(first, found.mask, strict=False)]
        places = list(plain), [place for place in masks if place is not None]
        step = _extended_step(p, k, found, (first, carried), places)
        group = [*carry, *_starting(carry, starts[k], first, carried)]
        left = assembly.add([x.type for x in group], step, reverse=p.reverse[k])
        count = len(found.mask) - n
        plain += left[:count]
        masks += [None if j is None else left[j] for j in numbered(found.mask[n:], count)]
        before = sum(map(len, groups))
        results += range(before, before + n)
        supports += numbered(carried, before + n)
        groups.append(group)
    test = rearranged(p.test, range(len(p.test.inputs)), [0])
    loop = assembly.loop(lambda c, s: applied(test, c[: p.constants], s[: p.carries[0]])[0])
    operands = [*xs, *shared, *(x for group in groups for x in group)]
    return Extended(loop, operands, results, supports)


def _extended_step(
    p: While,
    k: int,
    found: Supported,
    flags: tuple[Sequence[bool], Sequence[bool]],
    places: tuple[list[int], list[int]],
) -> Step:
    """Return what a sweep does; rows and their supports are at these places of all rows."""
    n, count = p.carries[k], len(found.mask)
    has, carried = flags
    plain, masks = places

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        xs = [*c[: p.constants], *s[:n], *(r[j] for j in plain)]
        supports = [*c[p.constants :], *chosen(s[n:], chosen(has, carried))]
        results = applied(found.program, xs, supports, [r[j] for j in masks])
        ys, rest = results[:count], iter(results[count:])
        ends = completed(ys[:n], found.mask[:n], carried, rest)
        return [*ys[:n], *ends], [*ys[n:], *rest]

    return step


def restricted_while(p: While, wanted: list[int]) -> Restricted:
    """Restrict every sweep; carries and rows that are needed on the way stay."""
    places = p.split(range(p.constants + sum(p.carries)))[1]
    offsets = [place[0] - p.constants if place else 0 for place in places]
    counts = [len(body.outputs) - n for body, n in zip(p.sweeps, p.carries, strict=True)]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    tested = used(p.test)
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
        body, kept = _needed(p.sweeps[k], p.constants, n, carry, others)
        read = used(body)
        shared |= {j for j in range(p.constants) if body.inputs[j] in read}
        rows |= {j for j in range(starts[k]) if body.inputs[p.constants + n + j] in read}
        sweeps[k] = body, kept
    return _reassembled(p, wanted, sorted(shared), rows, sweeps)


def _reassembled(
    p: While,
    wanted: list[int],
    shared: list[int],
    rows: set[int],
    sweeps: dict[int, tuple[Program, list[int]]],
) -> Restricted:
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
            bodies.append(rearranged(body, [*shared, *places, *read], range(len(body.outputs))))
            operands += [p.constants + before + j for j in carry]
            outputs += [before + j for j in carry]
        left += count
        before += n
    first = sweeps[0][1]
    test = rearranged(p.test, [*shared, *(p.constants + j for j in first)], [0])
    loop = While(
        test,
        tuple(bodies),
        len(shared),
        tuple(len(sweeps[k][1]) for k in order),
        tuple(p.reverse[k] for k in order),
    )
    return loop, operands, [outputs.index(k) for k in wanted]
