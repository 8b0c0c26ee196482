"""Propagates supports through equations that hold programs: branches, loops, checkpoints.

Such an equation is extended: it takes the supports of its linear operands as further operands,
which its programs use as masks, and gives those of its results as further results.  What is
recorded of that is a restriction, to the results proper or, once they are needed, to the supports;
what neither needs falls away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation, Program, atoms_in_use
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.rematerialization import Checkpoint
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
from funcdiff.passes.supports.propagation import Maybe, Support, Supports, booleans
from funcdiff.transforms.jvp import Mask, spread

# ---- Extends equations that hold programs so that they compute supports beside their results -----


class Supported(NamedTuple):
    """A linear program, simplified, that computes supports, too."""

    program: Program  # ``(*xs, *supports) -> (*ys, *supports)``
    mask: Mask  # which results have a support; the others may be nonzero everywhere


Simplify: TypeAlias = Callable[[Program, Mask, Mask], Supported]
"""``simplify(program, linear, given)``: the linear inputs marked in `given` have a support."""


class Call(NamedTuple):
    """An equation that is about to be recorded."""

    params: Params
    operands: list[Tracer]
    linear: Mask  # in which operands it is linear
    supports: list[Maybe]  # of all operands


class Extended(NamedTuple):
    """An equation that takes supports of operands, and computes those of its results."""

    params: Params
    operands: list[Tracer | Support]
    results: list[int]  # indices of its results proper
    supports: list[int | None]  # index of each result's support, None for everywhere


Restricted: TypeAlias = tuple[Params, list[int], list[int]]
"""An equation restricted to some results: parameters, operands kept, places of the results."""


def with_support(linear: Mask, supports: Sequence[Maybe]) -> Mask:
    """Return which linear operands may differ from zero only in some places."""
    return tuple(flag and s is not True for flag, s in zip(linear, supports, strict=True))


def supports_where_wanted(
    ys: Sequence[Tracer], found: Mask, wanted: Sequence[bool], supports: Iterator[Tracer]
) -> list[Tracer]:
    """Return the supports of the results where wanted, True where none was found."""
    return [
        next(supports) if has else constant(True, y.type.with_dtype(BOOL))
        for y, has, want in zip(ys, found, wanted, strict=True)
        if want
    ]


# ---- Propagates supports through branches and checkpointed functions -----------------------------


def extend_cond(p: Cond, call: Call, simplify: Simplify) -> Extended:
    """Extend a choice; a result has a support if it has one in any branch."""
    linear, given = call.linear[1:], with_support(call.linear, call.supports)[1:]
    found = [simplify(branch, linear, given) for branch in p.branches]
    mask = tuple(any(flags) for flags in zip(*(f.mask for f in found), strict=True))
    return _extend(Cond(tuple(_complete_branch(f, mask) for f in found)), call, mask)


def _complete_branch(found: Supported, mask: Mask) -> Program:
    if found.mask == mask:
        return found.program
    with Builder("cond", SHARED) as builder:
        xs = [builder.input(t) for t in found.program.input_types]
        results = inline(found.program, xs)
        ys, supports = results[: len(mask)], iter(results[len(mask) :])
        return builder.program([*ys, *supports_where_wanted(ys, found.mask, mask, supports)])


def extend_checkpoint(p: Checkpoint, call: Call, simplify: Simplify) -> Extended:
    """Extend a piece that is computed again."""
    found = simplify(p.body, call.linear, with_support(call.linear, call.supports))
    return _extend(replace(p, body=found.program), call, found.mask)


def _extend(p: Params, call: Call, mask: Mask) -> Extended:
    given = with_support(call.linear, call.supports)
    pairs = compress(zip(call.operands, call.supports, strict=True), given)
    operands = [*call.operands, *(booleans(x, s) for x, s in pairs)]
    return Extended(
        p, operands, list(range(len(mask))), spread(range(len(mask), 2 * len(mask)), mask)
    )


def restrict_cond(p: Cond, wanted: list[int]) -> Restricted:
    """Restrict every branch."""
    branches, kept = _restrict(p.branches, wanted)
    return Cond(branches), [0, *(k + 1 for k in kept)], list(range(len(wanted)))


def restrict_checkpoint(p: Checkpoint, wanted: list[int]) -> Restricted:
    """Restrict the body."""
    (body,), kept = _restrict([p.body], wanted)
    return replace(p, body=body), kept, list(range(len(wanted)))


def _restrict(
    programs: Sequence[Program], wanted: Sequence[int]
) -> tuple[tuple[Program, ...], list[int]]:
    """Return the programs without outputs that are not wanted and inputs that none reads."""
    every = range(len(programs[0].inputs))
    programs = [rearrange(program, every, wanted) for program in programs]
    pairs = [(program, atoms_in_use(program)) for program in programs]
    kept = [k for k in every if any(program.inputs[k] in read for program, read in pairs)]
    return tuple(rearrange(program, kept, range(len(wanted))) for program in programs), kept


# ---- Propagates supports through loops, as part of the carry -------------------------------------
#
# A carry that starts at zero, as the cotangent of a last carry that nobody uses does, has a support
# in the first iteration, even if it may differ from zero everywhere after that.


def _first_supports(
    xs: Sequence[Tracer], supports: Sequence[Maybe], given: Sequence[bool], carried: Sequence[bool]
) -> list[Support | Tracer]:
    """Return the first supports of carries; those not given may differ from zero everywhere."""
    return [
        booleans(x, s if has else True)
        for x, s, has, want in zip(xs, supports, given, carried, strict=True)
        if want
    ]


def extend_loop(params: Scan | While, call: Call, simplify: Simplify) -> Extended:
    """Extend every sweep by the supports of constants, carry and the rows given or left before."""
    p = params.loop
    flags, _ = input_flags(p, call.linear, dependent)
    xs, carries, stacks = p.split(call.operands)
    constants, starts, beside = p.split(call.supports)
    given = with_support(flags[0][: p.constants], constants)
    rows = with_support(flags[0][len(flags[0]) - p.given :], beside)
    shared = [*xs, *_first_supports(xs, constants, given, given)]
    stacks += _first_supports(stacks, beside, rows, rows)
    assembly = Assembly(
        [x.type for x in shared], [x.type.with_shape(x.type.shape[1:]) for x in stacks]
    )
    plain = list(range(p.given))
    masks = spread(range(p.given, len(stacks)), rows)
    carried: list[Support | Tracer] = []
    results: list[int] = []
    supports: list[int | None] = []
    for k, (body, carry) in enumerate(zip(p.sweeps, carries, strict=True)):
        n = len(carry)
        first = with_support(flags[k][p.constants : p.constants + n], starts[k])
        found = simplify(body, flags[k], (*given, *first, *(j is not None for j in masks)))
        after = [a or b for a, b in zip(first, found.mask, strict=False)]
        places = list(plain), [place for place in masks if place is not None]
        step = _extend_step(p, k, found, (first, after), places)
        group = [*carry, *_first_supports(carry, starts[k], first, after)]
        left = assembly.add([x.type for x in group], step, reverse=p.reverse[k])
        count = len(found.mask) - n
        plain += left[:count]
        masks += spread(left[count:], found.mask[n:])
        before = len(carried)
        results += range(before, before + n)
        supports += spread(range(before + n, before + 2 * n), after)
        carried += group
    leaving = [j for marks in (plain, masks) for j in (marks[k] for k in p.leaving)]
    last = len(carried), len(carried) + len(p.leaving)
    results += range(*last)
    supports += spread(range(last[1], 2 * last[1]), [masks[k] is not None for k in p.leaving])
    loop = assembly.loop(p.end, p.constants, [j for j in leaving if j is not None])
    return Extended(loop.params, [*shared, *carried, *stacks], results, supports)


def _extend_step(
    p: Loop,
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
        supports = [*c[p.constants :], *compress(s[n:], compress(has, carried))]
        results = apply(found.program, xs, supports, [r[j] for j in masks])
        ys, rest = results[:count], iter(results[count:])
        ends = supports_where_wanted(ys[:n], found.mask[:n], carried, rest)
        return [*ys[:n], *ends], [*ys[n:], *rest]

    return step


def restrict_loop(p: Scan | While, wanted: list[int]) -> Restricted:
    """Restrict a loop; the carries that are needed on the way stay."""
    loop, kept, places = restrict(p.loop, wanted)
    return loop.params, kept, places


_EXTENSIONS: Final[dict[type[Params], Callable[[Any, Call, Simplify], Extended]]] = {
    Cond: extend_cond,
    Checkpoint: extend_checkpoint,
    Scan: extend_loop,
    While: extend_loop,
}
_RESTRICTIONS: Final[dict[type[Params], Callable[[Any, list[int]], Restricted]]] = {
    Cond: restrict_cond,
    Checkpoint: restrict_checkpoint,
    Scan: restrict_loop,
    While: restrict_loop,
}


def emit_nested(
    supports: Supports, eq: Equation, xs: Sequence[Tracer], linear: Mask, simplify: Simplify
) -> list[Tracer] | None:
    """Record an equation that holds programs linear in the marked operands; None for others.

    The supports of its results are recorded as an equation of their own, once they are needed.
    """
    extend = _EXTENSIONS.get(type(eq.params))
    if extend is None:
        return None
    call = Call(eq.params, list(xs), linear, [supports.resolve(x) for x in xs])
    full = extend(eq.params, call, simplify)
    if len(full.operands) == len(xs) and not any(k is not None for k in full.supports):
        return list(bind(eq.primitive, full.params, *xs))
    restrict = _RESTRICTIONS[type(eq.params)]
    params, places, results = restrict(full.params, full.results)
    operands = [full.operands[k] for k in places]
    known = [supports.record(x) if isinstance(x, Support) else x for x in operands]
    found = bind(eq.primitive, params, *known)
    ys = [found[k] for k in results]
    noted = [(y, k) for y, k in zip(ys, full.supports, strict=True) if k is not None]
    if noted:
        params, places, results = restrict(full.params, [k for _, k in noted])
        operands = [full.operands[k] for k in places]
        for (y, _), place in zip(noted, results, strict=True):
            supports.assume(y, Support(eq.primitive, params, operands, place))
    return ys
