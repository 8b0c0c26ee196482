"""Jacobians as they are handed out: computed in one pass, in chunks or as sparse matrices.

Blocks come in containers of inputs, in one like the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import is_int, type_of
from funcdiff.api.calls.differentiated import check_holomorphic, check_outputs, trace_call
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.naming import display_name, name_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, arrange_results, rebuild, run
from funcdiff.api.derivatives import unit_vectors
from funcdiff.api.derivatives.dense import Passes, is_forward, jacobian_passes, jacobian_program
from funcdiff.api.derivatives.matrices import Sparse, sparse_blocks
from funcdiff.api.signatures.variables import Mode
from funcdiff.core.progress import Progress
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location


def _in_one_pass(
    trace: Trace, operands: Sequence[Any], count: int, mode: Mode, *, wants_value: bool
) -> list[Any]:
    """Run the program of the Jacobian; at first sight its tape, on one unit vector at a time."""
    recording, results = trace.recording, sum(trace.numeric)
    if jacobian_program.peek(recording, count, results, mode, wants_value=wants_value) is None:
        ys = [y.type for y in trace.outputs[:results]]
        forward = is_forward([type_of(x) for x in operands[:count]], ys, mode)
        found = unit_vectors.jacobian(
            jacobian_program, trace, count, operands, forward=forward, mode=mode,
            wants_value=wants_value,
        )  # fmt: skip
        if found is not None:
            return found
    dense = jacobian_program(recording, count, results, mode, wants_value=wants_value)
    return run(dense.program, [*operands, *dense.constants], trace)


def run_in_chunks(
    passes: Passes,
    operands: Sequence[Any],
    results: int,
    trace: Trace,
    progress: Progress,
    *,
    wants_value: bool,
) -> list[Any]:
    """Return what `jacobian_program` computes, with the memory of one chunk at a time."""
    values = run(passes.primal, operands, trace)
    outputs, residuals = values[: passes.outputs], values[passes.outputs :]
    chunks = []
    for start in range(0, passes.size, passes.chunk):
        first = min(start, passes.size - passes.chunk)  # the last one may overlap
        images = run(passes.images, [np.int64(first), *residuals], trace)
        chunks.append([image[start - first :] for image in images])
        progress.tick(len(chunks[-1][0]) if images else 0)
    stacked = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    return [*run(passes.cut, stacked, trace), *(outputs if wants_value else outputs[results:])]


def jacobian_function(
    f: Callable[..., Any],
    selection: Selection,
    *,
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    progress: bool = False,
    mode: Mode = "forward",
    wants_value: bool = False,
    of: Callable[..., Any] | None = None,
    sparse: Sparse | None = None,
) -> Callable[..., Any]:
    """Return a function that computes a Jacobian; `of` is the user's function, if `f` is not."""
    _check_options(mode, chunk_size)

    @name_after(
        of or f, selection.transform, **selection.given, has_aux=has_aux, holomorphic=holomorphic
    )
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, trace = trace_call(f, selection, args, kwargs, has_aux=has_aux)
        if not holomorphic:
            _refuse_complex(inputs)
        check_outputs(trace, selection)
        if holomorphic:
            check_holomorphic(inputs, trace, selection)
        count, rows = len(inputs.operands), sum(trace.numeric)
        operands = [*inputs.operands, *trace.captures]
        passes = None
        says = progress and sparse is None and not any(isinstance(x, Tracer) for x in operands)
        if chunk_size is not None or says:
            passes = jacobian_passes(trace.recording, count, rows, mode, chunk_size)
        if sparse is not None:
            results = sparse_blocks(sparse, inputs, trace, wants_value=wants_value)
        elif passes is None or passes.chunk == passes.size:
            results = _in_one_pass(trace, operands, count, mode, wants_value=wants_value)
        else:
            what = f"{selection.transform} of {display_name(of or f)}"
            with Progress(what, wanted=says, total=passes.size, unit="directions") as bar:
                results = run_in_chunks(passes, operands, rows, trace, bar, wants_value=wants_value)
        J = _assemble(results[: rows * count], inputs, trace, selection)
        rest = results[rows * count :]
        if not wants_value:
            return arrange_results(J, None, trace, rest, wants_value)
        value = rebuild(trace.structure, trace.numeric, rest[:rows], trace.others)
        return arrange_results(J, value, trace, rest[rows:], wants_value)

    return jacobian


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


def _assemble(blocks: Sequence[Any], inputs: Inputs, trace: Trace, selection: Selection) -> Any:
    """Put the blocks, row by row, into containers like the inputs, in one like the output."""
    columns = len(inputs.operands)
    rows = [
        selection.of(inputs.rebuild(blocks[k * columns : (k + 1) * columns]))
        for k in range(sum(trace.numeric))
    ]
    return rebuild(trace.structure, trace.numeric, rows, trace.others)
