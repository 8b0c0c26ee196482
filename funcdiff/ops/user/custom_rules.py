"""Custom derivative rules as data: the programs of a function and of its rules."""

from __future__ import annotations

from collections.abc import Sequence

from funcdiff.core.primitive import Params
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.transforms.vmap import batch_outputs


class Custom(Params):
    """A function of primals and captured values, and its rules."""

    name: str  # of the function, for messages
    body: Program  # ``(*xs, *captures) -> ys``
    primals: int  # how many ``xs`` there are
    # Empty, or one program ``(*xs, *captures, *t_xs) -> (*ys, *t_ys)``; only floating operands and
    # results have tangents, and those have them always.
    jvp: tuple[Program, ...]
    # Empty, or two: ``(*xs, *captures) -> (*ys, *residuals)``, and ``(*residuals, *captures,
    # *ct_ys) -> ct_xs`` without conjugation.
    vjp: tuple[Program, ...]


class Tangent(Params):
    """The derivative that a VJP rule defines.

    Residuals, captures and primals, as many as these fields say, come before the tangents; the
    primals are there only for a JVP rule.
    """

    name: str
    residuals: int
    captures: int
    primals: int
    jvp: tuple[Program, ...]
    backward: Program  # the second program of the VJP rule


def nonlinear(name: str, kind: str) -> str:
    """Return what is said of a rule that cannot be transposed for the other mode."""
    if kind == "backward":
        return (
            f"forward mode was asked of {name}, whose backward rule is not linear in its "
            f"cotangent. Give it a forward rule, too: {name}.defjvp(rule)."
        )
    return (
        f"reverse mode was asked of {name}, whose JVP rule is not linear in its tangents. "
        f"Give it a backward rule, too: {name}.defvjp(forward, backward)."
    )


def without_rule(name: str) -> str:
    """Return what is said of an opaque function that is differentiated and has no rule."""
    return (
        f"{name} is opaque and has no derivative rule. Declare one with "
        f"{name}.defvjp(forward, backward) or {name}.defjvp(rule)."
    )


def smooth(types: Sequence[ArrayType]) -> list[int]:
    """Return which of the types have tangents."""
    return [k for k, t in enumerate(types) if t.differentiable]


def batch_rule(program: Program, size: int, first: int, captures: Sequence[bool]) -> Program:
    """Return a body or a rule for a batch; only captures, from an input on, may have no axis."""
    flags = [True for _ in program.inputs]
    flags[first : first + len(captures)] = captures
    return batch_outputs(program, size, flags)
