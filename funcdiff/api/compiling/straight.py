"""Compiled functions that do not branch: one program, run with as little beside it as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcdiff.api.calls.arguments import operand
from funcdiff.api.calls.tracing import Trace, rebuild, run
from funcdiff.backend.kernels.kernels import owns_results
from funcdiff.backend.numbers.unrolling import Unrolled
from funcdiff.core.evaluate import copy_aliased, is_repeatable
from funcdiff.core.program import Program
from funcdiff.core.quiet import quiet
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InternalError, user_location
from funcdiff.pytree.structure import assembler


class Straight(NamedTuple):
    """A program with the trace that it comes from, and what runs it if it is kept."""

    program: Program
    trace: Trace
    execute: Callable[..., list[Any]] | None = None

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Return results that share no memory with anything."""
        if self.execute is None or any(isinstance(x, Tracer) for x in operands):
            return run(self.program, operands, self.trace)
        try:
            results = quiet(self.execute, *operands)
        except InternalError:
            raise
        except Exception as error:
            self.refuse_to_repeat(error)
            return run(self.program, operands, self.trace)  # which raises again, and says where
        return copy_aliased(results, operands)

    def refuse_to_repeat(self, error: Exception) -> None:
        """Raise the error of a run that had effects, which must not happen again."""
        if not is_repeatable(self.program.equations):
            error.add_note(f"funcdiff: in a compiled program that was run at {user_location()}")
            raise error


def rebuild_results(trace: Trace, results: Sequence[Any]) -> Any:
    """Return results as the traced function returns them."""
    return rebuild(trace.structure, trace.numeric, results, trace.others)


def shortcut(
    found: Straight, execute: Callable[..., list[Any]], *, converts: bool
) -> Callable[..., Any]:
    """Return what runs a compiled program on plain numbers, and does no more than it has to."""
    program, trace, _ = found
    captures = trace.captures
    is_array = trace.is_array
    assemble = assembler(trace.structure) if all(trace.numeric) else None
    owns = isinstance(execute, Unrolled) or owns_results(program)
    floats = execute if isinstance(execute, Unrolled) and not execute.warns else None

    def call(args: Sequence[Any], *_: Any) -> Any:
        try:
            if floats is not None:  # which it takes, and nothing warns
                results = floats.quick(*args, *captures)
            elif owns:
                if converts:
                    args = [*map(operand, args)]
                results = quiet(execute, *args, *captures)
            else:
                results = found([*map(operand, args), *captures])
        except Exception as error:
            found.refuse_to_repeat(error)
            results = found([*map(operand, args), *captures])  # which raises again, and says where
        if is_array:
            return results[0]
        if assemble is not None:
            return assemble(results)
        return rebuild(trace.structure, trace.numeric, results, trace.others)

    return call
