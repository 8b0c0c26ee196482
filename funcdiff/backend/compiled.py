"""Compiled programs: source text made into a function, with the interpreter to fall back on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from funcdiff.backend.kernels import kernel
from funcdiff.backend.source import source
from funcdiff.core import evaluate
from funcdiff.core.program import Program

LONGEST: Final = 4000
"""Equations up to which compiled code is faster; longer programs stay interpreted."""

LONGEST_OF_NUMBERS: Final = 1 << 16
"""The same for programs of single numbers, where Python's operators save much."""


def compiled(program: Program) -> Callable[..., list[Any]] | None:
    """Return a function that computes what the interpreter does; None if it is not worth it.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > LONGEST:
        return None
    return source(program).function()


def fastest(program: Program) -> Callable[..., list[Any]]:
    """Return the kernel of a program, or the interpreter if it is not worth one."""
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > _longest(program):
        return evaluate.executable(program)
    return kernel(program)


def _longest(program: Program) -> int:
    """Return how many equations a kernel may have: more if it is mostly about single numbers."""
    numbers = sum(not v.type.shape for eq in program.equations for v in eq.results)
    return LONGEST if 2 * numbers < len(program.equations) else LONGEST_OF_NUMBERS


evaluate.promotion.compiler = compiled
