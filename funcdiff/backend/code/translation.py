"""Compiles a program that comes back to NumPy source, where that beats interpreting it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from funcdiff.backend.checking import with_check
from funcdiff.backend.code.source import source
from funcdiff.core.program import Program

LONGEST: Final = 4000
"""Equations up to which compiled code is faster; longer programs stay interpreted."""


def compile_source(program: Program) -> Callable[..., list[Any]] | None:
    """Return a function that computes what the interpreter does; None if it is not worth it.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > LONGEST:
        return None
    return with_check(program, source(program).function(), exact=True)
