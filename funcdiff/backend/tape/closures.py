"""Makes Python functions of programs of a few equations: one call after the other, no loop.

All programs of one form, which differ in functions and literals alone, share the code of one
function: to make the next one of them is to make a closure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.dataflow import last_uses
from funcdiff.core.evaluate import Executable, as_run
from funcdiff.core.overwriting import functions
from funcdiff.core.program import Program

_MOST: Final = 12
"""Equations of a program that holds on to its values until it returns."""


def closure(program: Program) -> Callable[..., Sequence[Any]]:
    """Return a function that computes what the interpreter does; a long program stays there."""
    program = as_run(program)
    if len(program.equations) > _MOST:
        return Executable(program)
    constants: list[Any] = []

    def name(atom: Atom) -> str:
        if isinstance(atom, Var):
            return f"x{atom.number}"
        constants.append(atom.array)
        return f"c{len(constants) - 1}"

    lines = [
        f"{', '.join(map(name, eq.results))} = f{k}({', '.join(map(name, eq.operands))})"
        for k, eq in enumerate(program.equations)
    ]
    lines.append(f"return [{', '.join(map(name, program.outputs))}]")
    called = [
        eq.operation.run if function is eq.operation.function else function
        for eq, function in zip(
            program.equations, functions(program, last_uses(program)), strict=True
        )
    ]
    make = _maker(len(program.inputs), len(called), len(constants), tuple(lines))
    run: Callable[..., Sequence[Any]] = make(*called, *constants)
    return run


@lru_cache(maxsize=1024)
def _maker(inputs: int, called: int, constants: int, lines: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of the functions and constants of programs that are written like this."""
    given = [*[f"f{k}" for k in range(called)], *[f"c{k}" for k in range(constants)]]
    operands = ", ".join([f"x{k}" for k in range(inputs)])
    body = "\n        ".join(lines)
    scope: dict[str, Any] = {}
    run = f"def run({operands}):\n        {body}"
    exec(f"def make({', '.join(given)}):\n    {run}\n    return run", scope)
    make: Callable[..., Any] = scope["make"]
    return make
