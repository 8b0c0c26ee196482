"""Propagates supports through scans and while loops, as part of the carry.

A carry that starts at zero, as the cotangent of a last carry that nobody uses does, has a support
in the first iteration, even if it may differ from zero everywhere after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcdiff.core.builder import Builder
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.core.walk import inline, rearrange
from funcdiff.ops.control import scan, sweeps
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import Assembly, Step, While, apply
from funcdiff.passes.supports.support import Maybe, Support, booleans
from funcdiff.passes.supports.with_supports import (
    Call,
    Extended,
    Simplify,
    Supported,
    number_marked,
    select_marked,
    wanted_supports,
    with_support,
)


def _first_supports(
    xs: Sequence[Tracer], supports: Sequence[Maybe], given: Sequence[bool], carried: Sequence[bool]
) -> list[Support | Tracer]:
    """Return the first supports of carries; those not given may differ from zero everywhere."""
    return [
        booleans(x, s if has else True)
        for x, s, has, want in zip(xs, supports, given, carried, strict=True)
        if want
    ]


def _boolean(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [t.with_dtype(BOOL) for t in select_marked(values, flags)]


# ---- loops of fixed length -----------------------------------------------------------------------


def extend_scan(p: Scan, call: Call, simplify: Simplify) -> Extended:
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
        [*xs[k], *_first_supports(xs[k], supports[k], given[k], wanted[k])] for k in range(3)
    )
    stacked = found.mask[p.carries :]
    last = len(carry) + len(stacked)
    return Extended(
        Scan(_scan_body(p, found, given, carried), len(constants), len(carry), p.length, p.reverse),
        [*constants, *carry, *rows],
        [*range(p.carries), *range(len(carry), last)],
        [*number_marked(carried, p.carries), *number_marked(stacked, last)],
    )


def _scan_body(
    p: Scan, found: Supported, given: Sequence[Sequence[bool]], carried: Sequence[bool]
) -> Program:
    """Put the supports next to what they are of: constants, carry, rows and results."""
    types = p.split(p.body.input_types)
    count = len(found.mask)
    with Builder("scan", SHARED) as builder:
        xs: list[Tracer] = []
        supports: list[Tracer] = []
        for group, has, want in zip(types, given, (given[0], carried, given[2]), strict=True):
            xs += [builder.input(t) for t in group]
            masks = [builder.input(t) for t in _boolean(group, want)]
            supports += select_marked(masks, select_marked(has, want))
        results = inline(found.program, [*xs, *supports])
        ys, rest = results[:count], iter(results[count:])
        after = ys[: p.carries]
        ends = wanted_supports(after, found.mask[: p.carries], carried, rest)
        return builder.program([*after, *ends, *ys[p.carries :], *rest])


# ---- loops of unknown length ---------------------------------------------------------------------


def extend_while(p: While, call: Call, simplify: Simplify) -> Extended:
    """Extend every sweep by the supports of constants, carry and the rows left before it."""
    flags = sweeps.linear_inputs(p, call.linear)
    xs, carries = p.split(call.operands)
    constants, starts = p.split(call.supports)
    given = with_support(flags[0][: p.constants], constants)
    shared = _first_supports(xs, constants, given, given)
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
        step = _extend_step(p, k, found, (first, carried), places)
        group = [*carry, *_first_supports(carry, starts[k], first, carried)]
        left = assembly.add([x.type for x in group], step, reverse=p.reverse[k])
        count = len(found.mask) - n
        plain += left[:count]
        masks += [None if j is None else left[j] for j in number_marked(found.mask[n:], count)]
        before = sum(map(len, groups))
        results += range(before, before + n)
        supports += number_marked(carried, before + n)
        groups.append(group)
    test = rearrange(p.test, range(len(p.test.inputs)), [0])
    loop = assembly.loop(lambda c, s: apply(test, c[: p.constants], s[: p.carries[0]])[0])
    operands = [*xs, *shared, *(x for group in groups for x in group)]
    return Extended(loop, operands, results, supports)


def _extend_step(
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
        supports = [*c[p.constants :], *select_marked(s[n:], select_marked(has, carried))]
        results = apply(found.program, xs, supports, [r[j] for j in masks])
        ys, rest = results[:count], iter(results[count:])
        ends = wanted_supports(ys[:n], found.mask[:n], carried, rest)
        return [*ys[:n], *ends], [*ys[n:], *rest]

    return step
