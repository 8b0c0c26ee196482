"""Propagates supports through branches and checkpointed functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funcdiff.core.builder import Builder
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params
from funcdiff.core.program import Program, used_atoms
from funcdiff.core.walk import inline, rearrange
from funcdiff.ops.control.checkpoint import Checkpoint
from funcdiff.ops.control.cond import Cond
from funcdiff.passes.supports.support import booleans
from funcdiff.passes.supports.with_supports import (
    Call,
    Extended,
    Restricted,
    Simplify,
    Supported,
    number_marked,
    select_marked,
    wanted_supports,
    with_support,
)
from funcdiff.transforms.jvp import Mask


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
        return builder.program([*ys, *wanted_supports(ys, found.mask, mask, supports)])


def extend_checkpoint(p: Checkpoint, call: Call, simplify: Simplify) -> Extended:
    """Extend a piece that is computed again."""
    found = simplify(p.body, call.linear, with_support(call.linear, call.supports))
    return _extend(replace(p, body=found.program), call, found.mask)


def _extend(p: Params, call: Call, mask: Mask) -> Extended:
    given = with_support(call.linear, call.supports)
    pairs = select_marked(list(zip(call.operands, call.supports, strict=True)), given)
    operands = [*call.operands, *(booleans(x, s) for x, s in pairs)]
    return Extended(p, operands, list(range(len(mask))), number_marked(mask, len(mask)))


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
    pairs = [(program, used_atoms(program)) for program in programs]
    kept = [k for k in every if any(program.inputs[k] in read for program, read in pairs)]
    return tuple(rearrange(program, kept, range(len(wanted))) for program in programs), kept
