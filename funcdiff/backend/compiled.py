"""Chooses how a program is executed: interpreted, as compiled NumPy source, or as a kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from funcdiff.backend.checking import with_check
from funcdiff.backend.code.source import source
from funcdiff.backend.kernels.kernels import kernel
from funcdiff.backend.kernels.preparation import LONGEST, prepared
from funcdiff.backend.numbers.estimates import is_worth_unrolling
from funcdiff.core import evaluate
from funcdiff.core.program import Program


def compile_source(program: Program) -> Callable[..., list[Any]] | None:
    """Return a function that computes what the interpreter does; None if it is not worth it.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > LONGEST:
        return None
    return with_check(program, source(program).function(), exact=True)


def fastest(program: Program, *, native: bool = False) -> Callable[..., list[Any]]:
    """Return the kernel of a program, or the interpreter if it is not worth one.

    `native` says whether machine code computes chains of elementwise operations.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1":
        return evaluate.executable(program)
    ready = prepared(program)
    if len(ready.equations) > LONGEST and not is_worth_unrolling(ready):
        return evaluate.executable(program)
    return kernel(program, native=native)


evaluate.promotion.compiler = compile_source
