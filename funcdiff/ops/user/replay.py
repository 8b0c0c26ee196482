"""Programs that are not known before they run: `replay`, with the derivative of such a program.

An adaptive solver decides by values how many steps it takes, so there is no program of it before it
has run.  Its *maker* returns the results for values and, where a derivative is asked for, a program
that takes the same steps again.  Of that program the derivative is taken when it runs: parameters
say what has been done to it, forward mode or its transpose, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from funcdiff.core.builder import Builder, bind
from funcdiff.core.evaluate import executable
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import NotDifferentiableError, OutputError
from funcdiff.ops.families import several
from funcdiff.ops.user.looped_batch import Batches, batched_types, map_batches
from funcdiff.ops.user.named_code import Entered
from funcdiff.space import align, instantiate
from funcdiff.transforms.jvp import Mask, present, spread
from funcdiff.transforms.linearize import linearize
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import vmap


class Plan(NamedTuple):
    """A program ``(*fixed, *operands) -> results``, and the arrays that are fixed."""

    program: Program
    fixed: Sequence[Any]


class Maker(Protocol):
    """What computes results by values, and says how."""

    def results(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the results."""

    def plan(self, operands: Sequence[Any]) -> Plan:
        """Return how they come about, for the derivative."""


entered: Final[Entered[Maker]] = Entered(
    "the solver", "Trace the function again, there where it is defined."
)
"""Makers by name."""

Step: TypeAlias = tuple[str, Mask, Mask]
"""``("push", active, ())`` makes a program that returns the tangents of its floating results, for
those of its active operands, which come last.  ``("pull", linear, arrived)`` transposes it: the
cotangents that arrived come last among its operands."""


class Replay(Params):
    """A program by its maker."""

    maker: str  # its name
    operands: int  # how many the maker takes; those that derivatives have beside come last
    linear: int  # in how many of the last operands the program is linear
    results: Types  # types of the results of one example
    steps: tuple[Step, ...]  # transforms of the program, in order
    batches: Batches  # batch axes of the operands


# ---- values --------------------------------------------------------------------------------------


def _run(p: Replay, operands: Sequence[Any]) -> list[Any]:
    maker = entered[p.maker]
    if p.steps:
        plan = maker.plan(operands[: p.operands])
        program = _take_steps(plan.program, len(plan.fixed), p.steps)
        found = list(executable(program)(*plan.fixed, *operands))
    else:
        found = list(maker.results(operands))
    types = tuple(ArrayType(y.shape, y.dtype) for y in found)
    if types != p.results:
        raise OutputError(
            f"{p.maker} returned {', '.join(map(str, types))} where "
            f"{', '.join(map(str, p.results))} was expected: what it returns for these values has "
            "another shape. Call it where its arguments have values, outside of vmap and jit."
        )
    return found


@memoised
def _take_steps(program: Program, fixed: int, steps: tuple[Step, ...]) -> Program:
    """Return a program with all that has been done to it; its first inputs are fixed."""
    for kind, mask, arrived in steps:
        flags = (*(False for _ in range(fixed)), *mask)
        pulls = kind == "pull"
        program = transpose(program, flags, arrived) if pulls else _push_forward(program, flags)
    return program


@memoised
def _push_forward(program: Program, active: Mask) -> Program:
    """Return ``(*xs, *ts) -> tangents of the floating results``, linear in ts."""
    wanted = tuple(t.differentiable for t in program.output_types)
    split = linearize(program, active, wanted)
    with Builder("replay", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        ts = [builder.input(x.type) for x, on in zip(xs, active, strict=True) if on]
        residuals = inline(split.primal, xs)[len(wanted) :]
        return builder.program(inline(split.linear, [*ts, *residuals]))


# ---- derivatives ---------------------------------------------------------------------------------


def _jvp(p: Replay, xs: Tracers, ts: Tangents) -> Pushed:
    ys = replay(p, xs)
    first = len(xs) - p.linear
    if not any(y.type.differentiable for y in ys):
        return ys, [None for _ in ys]
    if all(t is None for t in ts[:first]):
        moved = [instantiate(t, x.type) for t, x in zip(ts[first:], xs[first:], strict=True)]
        return ys, replay(p, [*xs[:first], *moved])
    active = tuple(t is not None for t in ts)
    floating = tuple(t.differentiable for t in p.results)
    pushed = replace(
        p, linear=sum(active), steps=(*p.steps, ("push", active, ())), batches=(),
        results=tuple(t for t, on in zip(p.results, floating, strict=True) if on),
    )  # fmt: skip
    moving = present(ts)
    operands = [*xs, *moving]
    types = _single(p.batches, [x.type for x in xs])
    with Builder("replay", SHARED) as builder:
        every = [*types, *(t for t, on in zip(types, active, strict=True) if on)]
        rule = builder.program(replay(pushed, [builder.input(t) for t in every]))
    for size, flags in reversed(p.batches):
        marked = (*flags, *(flag for flag, on in zip(flags, active, strict=True) if on))
        rule, _ = vmap(rule, size, marked, (True,) * len(rule.outputs))
    return ys, spread(inline(rule, operands), floating)


def _single(batches: Batches, types: Sequence[ArrayType]) -> list[ArrayType]:
    """Return the types of the operands of one example."""
    counts = [sum(flags[k] for _, flags in batches) for k in range(len(types))]
    return [t.with_shape(t.shape[n:]) for t, n in zip(types, counts, strict=True)]


def _transpose(p: Replay, types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    linear = tuple(x is None for x in xs)
    if any(linear[: len(xs) - p.linear]):
        raise NotDifferentiableError(f"{p.maker} is not linear in what it depends on")
    sizes = tuple(size for size, _ in p.batches)
    arrived = tuple(ct is not None for ct in cts)
    found = tuple(t for t, on in zip(_single(p.batches, types), linear, strict=True) if on)
    pulled = replace(
        p, linear=sum(arrived), results=found, steps=(*p.steps, ("pull", linear, arrived)),
        batches=tuple(
            (size, (*(f for f, on in zip(flags, linear, strict=True) if not on),
                    *(True for ct in cts if ct is not None)))
            for size, (_, flags) in zip(sizes, p.batches, strict=True)
        ),
    )  # fmt: skip
    results = replay(pulled, [*present(xs), *present(cts)])
    return spread(results, linear)


def _abstract(p: Replay, *types: ArrayType) -> Types:
    for size, flags in p.batches:
        if any(flag and size not in t.shape for flag, t in zip(flags, types, strict=True)):
            raise TypeError(f"{p.maker} takes operands with a batch axis of {size}, got {types}")
    return batched_types(p.results, p.batches)


def _impl(p: Replay) -> Callable[..., Any]:
    return several(
        lambda *operands: map_batches(lambda xs: _run(p, xs), p.results, p.batches, operands)
    )


def _batch(p: Replay, size: int, xs: Tracers, flags: Sequence[bool]) -> Tracers:
    """Take one example after the other; what the program is linear in always has the axis."""
    first = len(xs) - p.linear
    moving = align(size, xs[first:], flags[first:])
    every = (*flags[:first], *(True for _ in moving))
    return replay(replace(p, batches=((size, every), *p.batches)), [*xs[:first], *moving])


replay_p: Final = Primitive("replay", Replay, _abstract, _impl, _jvp, _transpose, _batch)


def replay(p: Replay, operands: Tracers) -> list[Any]:
    """Return the results of the program."""
    return list(bind(replay_p, p, *operands))
