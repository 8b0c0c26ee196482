"""Calls differentiated to Jacobians: blocks in containers of inputs, in one like the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcdiff.api.calls.arguments import is_int, type_of
from funcdiff.api.calls.differentiated import Inputs, call_traced, check_holomorphic, check_outputs
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, rebuild, run
from funcdiff.api.derivatives.blocks import Mode, jacobian_passes, jacobian_program, run_in_chunks
from funcdiff.errors import InputError, user_location


def jacobian_of_call(
    f: Callable[..., Any],
    selection: Selection,
    *,
    mode: Mode,
    chunk_size: int | None,
    holomorphic: bool,
    has_aux: bool,
    wants_value: bool,
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, Any], Any]]:
    """Return a function of a call's arguments, to ``((value, aux), jacobian)``."""
    _check_options(mode, chunk_size)

    def derive(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, Any], Any]:
        inputs, trace = call_traced(f, selection, args, kwargs, has_aux=has_aux)
        if not holomorphic:
            _refuse_complex(inputs)
        check_outputs(trace, selection)
        if holomorphic:
            check_holomorphic(inputs, trace, selection)
        count, rows = len(inputs.operands), sum(trace.numeric)
        operands = [*inputs.operands, *trace.captures]
        passes = None
        if chunk_size is not None:
            passes = jacobian_passes(trace.recording, count, rows, mode, chunk_size)
        if passes is None or passes.chunk == passes.size:
            program = jacobian_program(trace.recording, count, rows, mode, wants_value=wants_value)
            results = run(program, operands, trace)
        else:
            results = run_in_chunks(passes, operands, rows, trace, wants_value=wants_value)
        J = _assembled(results[: rows * count], inputs, trace, selection)
        rest = results[rows * count :]
        value = None
        if wants_value:
            value = rebuild(trace.structure, trace.numeric, rest[:rows], trace.others)
            rest = rest[rows:]
        return (value, trace.aux.rebuild(rest) if trace.aux is not None else None), J

    return derive


def _check_options(mode: Mode, chunk_size: int | None) -> None:
    if mode not in (None, "forward", "reverse"):
        raise InputError(
            f"mode={mode!r} is not known, at {user_location()}. It is 'forward', 'reverse', or "
            "None for the cheaper one."
        )
    if chunk_size is not None and (not is_int(chunk_size) or chunk_size < 1):
        raise InputError(
            f"chunk_size={chunk_size!r} is no positive int, at {user_location()}. Give the number "
            "of columns or rows to compute at a time, or None for all."
        )


def _refuse_complex(inputs: Inputs) -> None:
    if any(type_of(x).dtype.kind == "c" for x in inputs.operands):
        raise InputError(
            f"the Jacobian by a complex argument was asked for at {user_location()}. Pass "
            "holomorphic=True if the function is holomorphic; else differentiate it as a function "
            "of real and imaginary parts."
        )


def _assembled(blocks: Sequence[Any], inputs: Inputs, trace: Trace, selection: Selection) -> Any:
    """Put the blocks, row by row, into containers like the inputs, in one like the output."""
    columns = len(inputs.operands)
    rows = [
        selection.of(inputs.rebuild(blocks[k * columns : (k + 1) * columns]))
        for k in range(sum(trace.numeric))
    ]
    return rebuild(trace.structure, trace.numeric, rows, trace.others)
