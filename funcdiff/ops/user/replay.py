"""Programs that are not known before they run: `replay`, with the derivative of such a program.

An adaptive solver decides by values how many steps it takes, so there is no program of it before it
has run.  Its *maker* returns the results for values and, where a derivative is asked for, a program
that takes the same steps again.  Of that program the derivative is taken when it runs: parameters
say what has been done to it, forward mode or its transpose, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.user.linear_part import pushforward
from funcdiff.ops.user.python_call import Batches, Entered, by_example, check_results, python_call
from funcdiff.space import instantiate
from funcdiff.transforms.jvp import Mask, present, spread
from funcdiff.transforms.transpose import transpose


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
    return check_results(
        found, p.results,
        lambda types, wanted: f"{p.maker} returned {types} where {wanted} was expected: what it "
        "returns for these values has another shape. Call it where its arguments have values, "
        "outside of vmap and jit.",
    )  # fmt: skip


@memoised
def _take_steps(program: Program, fixed: int, steps: tuple[Step, ...]) -> Program:
    """Return a program with all that has been done to it; its first inputs are fixed."""
    for kind, mask, arrived in steps:
        flags = (*(False for _ in range(fixed)), *mask)
        if kind == "pull":
            program = transpose(program, flags, arrived)
        else:
            wanted = tuple(t.differentiable for t in program.output_types)
            program = pushforward(program, flags, wanted)
    return program


# ---- derivatives ---------------------------------------------------------------------------------


def _rule(p: Replay, active: Mask, types: Types) -> tuple[Program, Mask] | None:
    """Return ``(*operands, *results, *ts) -> tangents of the floating results``."""
    floating = tuple(t.differentiable for t in p.results)
    if not any(floating):
        return None
    first = len(types) - p.linear
    with Builder("replay", SHARED) as builder:
        xs = [builder.input(t) for t in types]
        for t in p.results:
            builder.input(t)
        ts = spread([builder.input(t) for t in compress(types, active)], active)
        if not any(active[:first]):
            moved = map(instantiate, ts[first:], types[first:])
            return builder.program(replay(p, [*xs[:first], *moved])), floating
        pushed = replace(
            p, linear=sum(active), steps=(*p.steps, ("push", active, ())),
            results=tuple(compress(p.results, floating)),
        )  # fmt: skip
        return builder.program(replay(pushed, [*xs, *present(ts)])), floating


def _transpose(p: Replay, linear: Mask, arrived: Mask, types: Types) -> Program:
    if any(linear[: len(types) - p.linear]):
        raise NotDifferentiableError(f"{p.maker} is not linear in what it depends on")
    pulled = replace(
        p, linear=sum(arrived), results=tuple(compress(types, linear)),
        steps=(*p.steps, ("pull", linear, arrived)),
    )  # fmt: skip
    with Builder("replay", SHARED) as builder:
        given = [t for t, on in zip(types, linear, strict=True) if not on]
        xs = [builder.input(t) for t in (*given, *compress(p.results, arrived))]
        return builder.program(replay(pulled, xs))


replay_p: Final = python_call(
    "replay",
    Replay,
    by_example(_run),
    _rule,
    _transpose,
    wide=lambda p: slice(-p.linear if p.linear else 0, None if p.linear else 0),
    facts=Facts(),
)


def replay(p: Replay, operands: Tracers) -> list[Any]:
    """Return the results of the program."""
    return list(bind(replay_p, p, *operands))
