"""Traces a call without running it, with names and lines: for `source`, `cost`, `draw`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcdiff.api.calls.operands import Operands, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.api.compiling.lowered import Traced
from funcdiff.api.jit import JittedFunction
from funcdiff.core.builder import current_builder
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
from funcdiff.core.running import as_run
from funcdiff.core.scope import run_isolated
from funcdiff.errors import InputError, user_frame, user_location
from funcdiff.passes.simplify import simplify
from funcdiff.reading.provenance import Notes, taking_notes


class Examined(NamedTuple):
    """A call that was traced to be looked at."""

    program: Program  # with the origins of its variables
    trace: Trace
    notes: Notes  # names and lines of the user's code
    operands: list[Any]  # the numbers and arrays among the arguments, in order

    @classmethod
    def of(
        cls,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Examined:
        """Trace a call of a function; raise `InputError` within another trace."""
        check_outside()
        invocation = Operands((args, kwargs))
        caller = user_frame()

        def examine() -> Examined:
            with taking_notes(Notes(caller)) as notes:
                guarded = _guarded_trace(f, args, kwargs)
                if guarded is not None:
                    return cls(as_run(guarded.program), guarded.trace, notes, invocation.xs)
                trace = record(
                    f, invocation.xs, on_operands(f, invocation), nested_policy(0, lifts=False),
                    taps={}, weak=invocation.weak,
                )  # fmt: skip
                program = as_run(simplify(program_of(*trace.recording)))
            return cls(program, trace, notes, invocation.xs)

        return run_isolated(examine)


def check_outside() -> None:
    """Raise InputError if something is being traced."""
    if current_builder() is not None:
        raise InputError(
            f"source, cost, explain and draw show a call with concrete arrays, but were used "
            f"at {user_location()} while something is traced. Call them outside."
        )


def _guarded_trace(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Traced | None:
    """Return the trace of a compiled function that decides by values; None of any other."""
    if not isinstance(f, JittedFunction) or f.has_static_parameters:
        return None
    traced = f.trace_call(*args, **kwargs)
    return traced if traced.trace.decisions else None
