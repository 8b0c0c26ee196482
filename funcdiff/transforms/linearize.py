"""Linearization: forward mode with the tangents in an inner builder.

The JVP rules run with tangents that belong to an inner builder, which hoists.  An equation that
touches no tangent goes to the outer program; what is left inside is linear in the tangents and
uses values of the outer program: the residuals.
"""

from __future__ import annotations

from typing import NamedTuple

from funcdiff.core.policy import CLOSED, HOISTING, SHARED
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.space import instantiate
from funcdiff.transforms.jvp import Mask, push


class Linearized(NamedTuple):
    """A program and its derivative at the same point."""

    primal: Program  # of inputs ``x`` and outputs ``(*y, *residuals)``
    linear: Program  # from ``(*t_x, *residuals)``, for active ``x``, to ``t_y``; linear in ``t_x``
    mask: Mask  # which outputs have a tangent
    residuals: int  # how many there are


@memoised
def linearize(program: Program, active: Mask, wanted: Mask = ()) -> Linearized:
    """Split a program into its values and its derivative.

    `active` and `wanted` are as in `jvp`.
    """
    with Builder("linearize", SHARED) as outer:
        xs = [outer.input(v.type) for v in program.inputs]
        with Builder("linearize", HOISTING) as inner:
            ts = [inner.input(x.type) if on else None for x, on in zip(xs, active, strict=True)]
            ys, tangents = push(program, xs, ts, split=True)
            for k, want in enumerate(wanted):
                if want:
                    tangents[k] = instantiate(tangents[k], ys[k].type)
            linear = inner.program([t for t in tangents if t is not None])
        linear, residuals = _prune(linear, sum(active), inner.captures)
        primal = outer.program([*ys, *residuals])
    return Linearized(primal, linear, tuple(t is not None for t in tangents), len(residuals))


def _prune(linear: Program, tangents: int, residuals: list[Tracer]) -> tuple[Program, list[Tracer]]:
    """Drop the residuals that the linear program does not use after all."""
    needed = atoms_in_use(linear)
    keep = [k for k, v in enumerate(linear.inputs[tangents:]) if v in needed]
    if len(keep) == len(residuals):
        return linear, residuals
    with Builder("linearize", CLOSED) as builder:
        operands = [builder.input(v.type) for v in linear.inputs[:tangents]]
        places = {k: builder.input(residuals[k].type) for k in keep}
        operands += [places.get(k, x) for k, x in enumerate(residuals)]
        return builder.program(inline(linear, operands)), [residuals[k] for k in keep]
