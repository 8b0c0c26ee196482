"""Operations that apply a program among their parameters: `p.body`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from funcdiff.core.dependence import dependent
from funcdiff.core.evaluate import Runner, executable
from funcdiff.core.primitive import Facts, Types
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import several


def abstract_body(p: Any, *types: ArrayType) -> Types:
    """Type rule: the operands are those of the body."""
    if types != p.body.input_types:
        raise TypeError(f"a body of operands {p.body.input_types} got {types}")
    outputs: Types = p.body.output_types
    return outputs


def run_body(p: Any, runner: Runner = executable) -> Callable[..., Any]:
    """Return the function that runs the body."""
    return several(runner(p.body))


OF_BODY: Final = Facts(nested=run_body, flow=lambda p, flags: dependent(p.body, flags))
"""What is known of such an operation."""
