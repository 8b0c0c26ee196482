"""Branching as functions: `cond` and `switch`, with the signatures of ``jax.lax``.

Python's own ``if`` works in traced functions.  These two are for what it cannot do: a branch that
depends on batched values, or inside a loop that is recorded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_functions, describe
from funcdiff.api.calls.inputs import Operands, same_leaf
from funcdiff.api.calls.tracing import Trace, restore_kinds
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.api.control.bodies import (
    detach,
    difference,
    emit,
    forbid_changes,
    is_array,
    record_body,
)
from funcdiff.api.signatures.variables import Array, Primals, Y
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.ops.control.cond import cond as cond_op
from funcdiff.ops.elementwise.logic import operations
from funcdiff.ops.structure.structural import convert
from funcdiff.space import zeros


@public
def cond(
    pred: bool | np.bool[Any] | Array,  # noqa: FBT001 - the condition, as in jax.lax
    true_fn: Callable[[*Primals], Y],
    false_fn: Callable[[*Primals], Y],
    *operands: *Primals,
) -> Y:
    """Return ``true_fn(*operands)`` if `pred` holds, else ``false_fn(*operands)``.

    Parameters
    ----------
    pred
        A boolean scalar.  If it is not traced this is Python's ``if``.
    true_fn, false_fn
        Functions of the operands; their results must agree in structure, shapes and dtypes.
        They may close over traced arrays.
    *operands
        Any containers of arrays; strings, flags and other values that are no arrays reach the
        branches as they are.

    Returns
    -------
    any
        The result of the branch that was taken.  Under `vmap` with a batched `pred`, both
        branches run for all examples, and may raise for any; the results are selected.

    Raises
    ------
    InputError
        If `pred` is not a scalar.
    OutputError
        If the branches return different structures or types.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> f = lambda x: fd.cond(x > 0, np.sin, np.cos, x)
    >>> fd.vmap(f)(np.array([0.0, np.pi / 2]))
    array([1., 1.])
    """
    check_functions("cond", true_fn=true_fn, false_fn=false_fn)
    if not is_array(pred):
        raise InputError(
            f"cond needs a boolean as its condition, got {describe(pred)}, at "
            f"{user_location()}: write fd.cond(x > 0, true_fn, false_fn, *operands)."
        )
    if np.shape(pred):
        raise InputError(
            f"cond needs a scalar condition, got one of shape {np.shape(pred)}, at "
            f"{user_location()}. Use np.where(mask, x, y) for arrays, or fd.vmap."
        )
    if not isinstance(pred, Tracer) or errors_are_heard():  # each operation, when it is there
        return _call_branch(true_fn if pred else false_fn, operands)

    def branch_index(index: Tracer) -> Tracer:
        return convert(operations["not_equal"](index, zeros(index.type)), INT)

    result: Y = _record_branches("cond", pred, branch_index, (false_fn, true_fn), operands)
    return result


@public
def switch(
    index: int | np.integer[Any] | Array,
    branches: Sequence[Callable[[*Primals], Y]],
    *operands: *Primals,
) -> Y:
    """Return ``branches[index](*operands)``, with `index` kept between the first and the last.

    Parameters
    ----------
    index
        An integer scalar.  One below 0 stands for 0, one beyond the end for the last branch.
        If it is not traced, that branch is called, and nothing else happens.
    branches
        Functions of the operands; their results must agree in structure, shapes and dtypes.
        They may close over traced arrays.
    *operands
        Any containers of arrays; strings, flags and other values that are no arrays reach the
        branches as they are.

    Returns
    -------
    any
        The result of the branch that was taken.  Under `vmap` with a batched `index`, all
        branches run for all examples, and may raise for any; the results are selected.

    Raises
    ------
    InputError
        If `index` is not an integer scalar, or there are no branches.
    OutputError
        If the branches return different structures or types.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> f = lambda k, x: fd.switch(k, [np.sin, np.cos, np.tan], x)
    >>> fd.vmap(f, in_axes=(0, None))(np.array([0, 1, 7]), 0.0)
    array([0., 1., 0.])
    """
    functions = tuple(branches)
    if not functions:
        raise InputError(f"switch needs at least one branch, at {user_location()}.")
    check_functions("switch", **{f"branches[{k}]": f for k, f in enumerate(functions)})
    dtype, shape = (
        (index.dtype, index.shape)
        if isinstance(index, Tracer)
        else (np.asarray(index).dtype, np.shape(index))
    )
    if dtype.kind not in "iu" or shape:
        raise InputError(
            f"switch needs an integer scalar as its index, got one of dtype {dtype} and shape "
            f"{shape}, at {user_location()}. Use x.astype(int), or fd.cond for a boolean."
        )
    if not isinstance(index, Tracer) or errors_are_heard():  # as above
        k = min(max(int(index), 0), len(functions) - 1)
        return _call_branch(functions[k], operands)
    if len(functions) == 1:
        return _call_branch(functions[0], operands)
    result: Y = _record_branches("switch", index, lambda k: convert(k, INT), functions, operands)
    return result


def _call_branch(f: Callable[..., Y], operands: Sequence[Any]) -> Y:
    return pytree.map(detach, f(*operands))


def _record_branches(
    name: str,
    index: Tracer,
    chosen: Callable[[Tracer], Tracer],
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
) -> Any:
    """Trace every branch, and record the equation that chooses among them."""
    given = Operands(operands)
    xs = given.xs

    def body_of(f: Callable[..., Any]) -> Callable[[list[Tracer]], Any]:
        who = f"{FunctionName(f)} is a branch of {name}, but"
        return forbid_changes(
            lambda tracers: f(*given.tree(tracers)), who, lambda k: f"operands{given.paths[k]}"
        )

    traces = [record_body(f, xs, given.types, body_of(f), weak=given.weak) for f in functions]
    programs = [program_of(*trace.recording) for trace in traces]
    for k in range(1, len(functions)):
        _check_pair(name, [traces[0], traces[k]], [programs[0], programs[k]],
                    [functions[0], functions[k]])  # fmt: skip
    captures = [c for trace in traces for c in trace.captures]
    captured = tuple([t for program in programs for t in program.input_types[len(xs) :]])
    starts = [sum(len(t.captures) for t in traces[:k]) for k in range(len(traces))]
    branches = tuple(
        close_over(trace.recording, len(trace.captures), len(xs), captured, start)
        for trace, start in zip(traces, starts, strict=True)
    )

    def rule(tracers: list[Tracer]) -> Sequence[Tracer]:
        return cond_op(chosen(tracers[0]), branches, tracers[1:])

    results = emit(rule, [index, *xs, *captures])
    alternatives = zip(*(trace.outputs for trace in traces), strict=True)
    models = [ys[0] if len(set(map(type, ys))) == 1 else None for ys in alternatives]
    ys = restore_kinds(results, models)
    return traces[0].rebuild(ys)


def _check_pair(
    name: str,
    traces: Sequence[Trace],
    programs: Sequence[Program],
    functions: Sequence[Callable[..., Any]],
) -> None:
    """Raise OutputError if two branches return different things, naming the first leaf."""
    first, other = traces
    cure = "Convert or reshape one of the results."
    if first.structure != other.structure:
        how = (
            f"other containers than {FunctionName(functions[0])}: "
            f"{difference('result', first.structure, other.structure)}"
        )
    else:
        leaves = zip(*map(_leaves, traces, programs), strict=True)
        pairs = zip(pytree.paths(first.structure), leaves, strict=True)
        differing = [(path, a, b) for path, (a, b) in pairs if not same_leaf(a, b)]
        if not differing:
            return
        path, a, b = differing[0]
        where = f" as result{path}" if path else ""
        if isinstance(a, bool) and isinstance(b, bool):
            cure = f"Return arrays where they differ: np.bool_({b}), np.bool_({a})."
        how = f"{b!r} and {FunctionName(functions[0])} returned {a!r}{where}"
    raise OutputError(
        f"the branches of {name} must return the same, but {FunctionName(functions[1])} returned "
        f"{how}, at {user_location()}. {cure}"
    )


def _leaves(trace: Trace, program: Program) -> list[Any]:
    """Return the types of the numeric leaves of a result, and the others themselves."""
    types, others = iter(program.output_types), iter(trace.others)
    return [next(types) if flag else next(others) for flag in trace.numeric]
