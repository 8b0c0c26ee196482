"""Whether the output of a program is linear in some inputs, as far as its equations tell."""

from __future__ import annotations

from funcdiff.core.dependence import dependent
from funcdiff.core.memo import memoised
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.walk import nested, opened
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.control.checkpoint import Checkpoint
from funcdiff.ops.user.custom_rules import Custom
from funcdiff.ops.user.linear_part import hides
from funcdiff.passes.simplify import simplify
from funcdiff.transforms.linearize import linearize


@memoised
def affine(recording: Recording, count: int) -> Program | None:
    """Return the program if its derivative in the first `count` inputs is the same everywhere."""
    program = simplify(opened(simplify(program_of(*recording)), _body))
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    try:
        split = linearize(program, active)
        certain = not hides(program, active, trusts_rules=False)
    except NotDifferentiableError:
        return None
    residuals = dependent(split.primal, active)[len(program.outputs) :]
    return program if certain and not any(residuals) else None


def _body(eq: Equation) -> Program | None:
    """Return the program of an equation that only says how to differentiate it."""
    return eq.params.body if isinstance(eq.params, Checkpoint | Custom) else None


def has_rules(program: Program) -> bool:
    """Whether a function with rules of its own is called, here or in a program within."""
    return any(
        isinstance(eq.params, Custom) or any(map(has_rules, nested(eq.params)))
        for eq in program.equations
    )
