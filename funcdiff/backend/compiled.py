"""Chooses how a program is executed under `jit`: as a kernel, or interpreted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from funcdiff.backend.code.source import LONGEST
from funcdiff.backend.kernels.kernels import kernel
from funcdiff.backend.kernels.preparation import prepare
from funcdiff.backend.numbers.estimates import is_worth_unrolling
from funcdiff.core import evaluate
from funcdiff.core.program import Program


def fastest(program: Program, *, native: bool = False) -> Callable[..., list[Any]]:
    """Return the kernel of a program, or the interpreter if it is not worth one.

    `native` says whether machine code computes chains of elementwise operations.
    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1":
        return evaluate.executable(program)
    ready = prepare(program)
    if len(ready.equations) > LONGEST and not is_worth_unrolling(ready):
        return evaluate.executable(program)
    return kernel(program, native=native)
