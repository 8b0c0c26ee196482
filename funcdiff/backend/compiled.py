"""Compiled programs: source text made into a function, with the interpreter to fall back on."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from funcdiff.backend.source import Source, source
from funcdiff.core import evaluate
from funcdiff.core.program import Program

LONGEST: Final = 4000
"""Equations up to which Python's compiler is fast; longer programs stay interpreted."""

_numbers = count()


def function_of(made: Source) -> Callable[..., list[Any]]:
    """Return the function that a source text defines."""
    names = dict(made.names)
    exec(compile(made.text, f"<funcdiff program {next(_numbers)}>", "exec"), names)
    function: Callable[..., list[Any]] = names["program"]
    return function


def compiled(program: Program) -> Callable[..., list[Any]] | None:
    """Return a function that computes what the interpreter does; None if it is not worth it.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > LONGEST:
        return None
    return function_of(source(program))


evaluate.promotion.compiler = compiled
