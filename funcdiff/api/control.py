"""Control flow as functions: `cond` and `scan`, with the signatures of ``jax.lax``.

Python's own ``if`` and ``for`` work in traced functions.  These two are for what they cannot do:
a branch that depends on batched values, and a long loop that should be recorded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import FunctionName, is_numeric, operand, traced, type_of
from funcdiff.api.signatures import Array, Carry, Differentiable, Primals, Y
from funcdiff.api.tracing import Trace, rebuild, record, run
from funcdiff.core.builder import Builder, Tracer
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
from funcdiff.core.types import INT, ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.numpy import mutation
from funcdiff.ops.cond import cond as cond_op
from funcdiff.ops.logic import operations
from funcdiff.ops.scan import Scan
from funcdiff.ops.scan import scan as scan_op
from funcdiff.ops.structural import convert
from funcdiff.space import zeros


def _emit(rule: Callable[[list[Tracer]], Sequence[Tracer]], operands: Sequence[Any]) -> list[Any]:
    """Record what `rule` does to the operands where one is traced, else compute it."""
    if any(isinstance(x, Tracer) for x in operands):
        return list(rule(traced(operands)))
    with Builder("control flow", closed=True) as builder:
        xs = [builder.input(type_of(x)) for x in operands]
        program = builder.program(rule(xs))
    return run(program, operands)


def _numbers(leaves: Sequence[Any], what: str, paths: Sequence[str]) -> list[Any]:
    for leaf, path in zip(leaves, paths, strict=True):
        if not is_numeric(leaf) and not isinstance(leaf, bool | np.bool_):
            if isinstance(leaf, np.ndarray) and leaf.dtype == bool:
                continue
            raise InputError(f"{what}{path} is {leaf!r}, not an array, at {user_location()}")
    return [operand(leaf) for leaf in leaves]


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
        Any containers of arrays.

    Returns
    -------
    any
        The result of the branch that was taken.  Under `vmap` with a batched `pred`, both
        branches run and the results are selected.

    Raises
    ------
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
    if not isinstance(pred, Tracer):
        taken = true_fn(*operands) if pred else false_fn(*operands)
        given, _ = pytree.flatten(operands)
        return pytree.map(lambda leaf: _detached(leaf, given), taken)
    if pred.shape:
        raise InputError(
            f"cond needs a scalar condition, got {pred.type} at {user_location()}. "
            "Use np.where(mask, x, y) for arrays."
        )
    leaves, structure = pytree.flatten(operands)
    xs = _numbers(leaves, "operands", pytree.paths(structure))
    types = [type_of(x) for x in xs]
    traces = [
        record(
            f, xs, _applied(f, structure), eager=False, lifts=False, types=types
        )
        for f in (false_fn, true_fn)
    ]  # fmt: skip
    programs = [program_of(*trace.recording) for trace in traces]
    _check_branches(traces, programs, (false_fn, true_fn))
    captures = [c for trace in traces for c in trace.captures]
    captured = [t for program in programs for t in program.input_types[len(xs) :]]
    first = len(traces[0].captures)
    branches = (
        _with_captures(programs[0], len(xs), captured, 0),
        _with_captures(programs[1], len(xs), captured, first),
    )

    def rule(tracers: list[Tracer]) -> Sequence[Tracer]:
        index, *rest = tracers
        chosen = operations["not_equal"](index, zeros(index.type))
        return cond_op(convert(chosen, INT), branches, rest)

    results = _emit(rule, [pred, *xs, *captures])
    value: Y = rebuild(traces[0].structure, traces[0].numeric, results, traces[0].others)
    return value


def _detached(leaf: Any, operands: Sequence[Any]) -> Any:
    """Return a result that shares no memory with the operands, as if a program had made it."""
    if isinstance(leaf, Tracer):
        return mutation.fresh(leaf)
    if isinstance(leaf, np.ndarray) and any(np.may_share_memory(leaf, x) for x in operands):
        return leaf.copy()
    return leaf


def _applied(f: Callable[..., Any], structure: pytree.Structure) -> Callable[[list[Tracer]], Any]:
    return lambda tracers: f(*pytree.unflatten(structure, tracers))


def _with_captures(
    program: Program, operands: int, captured: Sequence[ArrayType], start: int
) -> Program:
    """Return a branch that also takes (and ignores) the captures of the other branches."""
    own = len(program.inputs) - operands
    with Builder("cond", closed=True) as builder:
        xs = [builder.input(t) for t in program.input_types[:operands]]
        values = [builder.input(t) for t in captured]
        return builder.program(inline(program, [*xs, *values[start : start + own]]))


def _check_branches(
    traces: Sequence[Trace], programs: Sequence[Program], functions: Sequence[Callable[..., Any]]
) -> None:
    false, true = traces
    if (false.structure, false.others) != (true.structure, true.others):
        shown = [str(trace.structure) for trace in traces]
    elif programs[0].output_types != programs[1].output_types:
        shown = [str(program.output_types) for program in programs]
    else:
        return
    raise OutputError(
        f"the branches of cond must return the same, but {FunctionName(functions[1])} returned "
        f"{shown[1]} and {FunctionName(functions[0])} returned {shown[0]}, at {user_location()}. "
        "Convert or reshape one of the results."
    )


@overload
def scan(
    f: Callable[[Carry, Any], tuple[Carry, Differentiable]],
    init: Carry,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Carry, Array]: ...
@overload
def scan(
    f: Callable[[Carry, Any], tuple[Carry, Y]],
    init: Carry,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Carry, Y]: ...
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Fold a function over the leading axis of arrays, and stack its results.

    Computes ``for x in xs: carry, y = f(carry, x)`` and returns the last carry and all ``y``.

    Parameters
    ----------
    f
        ``f(carry, x) -> (carry, y)``.  It is traced once, so it must return the carry in the
        structure, shapes and dtypes in which it came.  It may close over traced arrays.
    init
        The first carry, any container of arrays.
    xs
        Container of arrays of shape ``(length, ...)``, or None.
    length
        The number of iterations; needed only if `xs` is None.
    reverse
        Whether to walk from the end to the beginning; ``y`` stays in place.

    Returns
    -------
    carry
        Like `init`.
    ys
        Like ``y``, with an axis of length `length` in front.

    Raises
    ------
    InputError
        If the lengths disagree or none is known.
    OutputError
        If `f` does not return a pair, or changes the type of the carry.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.scan(lambda total, x: (total + x, total * x), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 2., 9.]))
    """
    carry, carry_structure = pytree.flatten(init)
    rows, rows_structure = pytree.flatten(xs)
    carry = _numbers(carry, "init", pytree.paths(carry_structure))
    rows = _numbers(rows, "xs", pytree.paths(rows_structure))
    length = _length(rows, length, pytree.paths(rows_structure))
    types = [type_of(x) for x in carry]
    types += [type_of(x).with_shape(x.shape[1:]) for x in rows]

    def call(tracers: list[Tracer]) -> Any:
        c = pytree.unflatten(carry_structure, tracers[: len(carry)])
        return f(c, pytree.unflatten(rows_structure, tracers[len(carry) :]))

    trace = record(f, [*carry, *rows], lambda ts: _checked_pair(call(ts), f), has_aux=True,
                   eager=False, lifts=False, types=types)  # fmt: skip
    assert trace.aux is not None
    program = program_of(*trace.recording)
    _check_carry(trace, program, types[: len(carry)], carry_structure, f)
    constants = len(trace.captures)
    with Builder("scan", closed=True) as builder:
        inputs = [builder.input(t) for t in program.input_types[len(types) :]]
        state = [builder.input(t) for t in types]
        body = builder.program(inline(program, [*state, *inputs]))
    p = Scan(body, constants, len(carry), length, reverse)
    results = _emit(lambda ts: scan_op(p, ts), [*trace.captures, *carry, *rows])
    last = pytree.unflatten(carry_structure, results[: len(carry)])
    return last, rebuild(trace.aux.structure, trace.aux.numeric, results[len(carry) :], [])


def _length(rows: Sequence[Any], length: int | None, paths: Sequence[str]) -> int:
    for x, path in zip(rows, paths, strict=True):
        if not x.shape:
            raise InputError(f"scan walks along the first axis, but xs{path} is 0-d")
        if length is not None and x.shape[0] != length:
            raise InputError(
                f"scan: xs{path} has length {x.shape[0]}, not {length}, at {user_location()}"
            )
        length = x.shape[0]
    if length is None:
        raise InputError(f"scan without xs needs length=, at {user_location()}")
    return length


def _checked_pair(result: Any, f: Callable[..., Any]) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise OutputError(
            f"the function of scan must return (carry, y), but {FunctionName(f)} returned a "
            f"{type(result).__name__}, at {user_location()}. Return (carry, None) without y."
        )
    return result


def _check_carry(
    trace: Trace,
    program: Program,
    types: Sequence[ArrayType],
    structure: pytree.Structure,
    f: Callable[..., Any],
) -> None:
    if trace.structure != structure or not all(trace.numeric):
        raise OutputError(
            f"the carry of scan came as {structure} but {FunctionName(f)} returned "
            f"{trace.structure}, at {user_location()}. It has to stay the same."
        )
    paths = pytree.paths(structure)
    for path, before, after in zip(paths, types, program.output_types, strict=False):
        if before is not after:
            raise OutputError(
                f"the carry{path} of scan came as {before} but {FunctionName(f)} returned {after}, "
                f"at {user_location()}. Give init{path} the dtype and shape of the result."
            )
    if trace.aux is not None and not all(trace.aux.numeric):
        raise OutputError(f"the second result of {FunctionName(f)} must hold arrays only")
