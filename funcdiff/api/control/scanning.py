"""Loops over the rows of arrays: `scan`, `map` and `associative_scan`.

Python's own ``for`` works in traced functions; these record the body once, however many rows, or,
for all partial results of an associative operation, as often as there are levels of a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.batching import cure_of_list, join_rows, vmap
from funcdiff.api.calls.arguments import check_function, describe, is_int
from funcdiff.api.calls.inputs import Operands
from funcdiff.api.calls.transformed import FunctionName, display_name
from funcdiff.api.control.bodies import Carry as CarryOf
from funcdiff.api.control.bodies import detach, emit, record_body
from funcdiff.api.signatures.products import Maps, Scans
from funcdiff.api.signatures.variables import X, typed_as
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, builders
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.core.running.progress import Progress
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.control.loops import scan as scan_op
from funcdiff.ops.control.rematerialization import checkpoint as checkpoint_op
from funcdiff.ops.control.sweeps import Scan

# ---- scan and map --------------------------------------------------------------------------------


_PARTS: Final = 32
"""Into how many parts the rows are cut whose progress is to be seen."""


@typed_as[Scans]()
@public
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: bool | int = False,
) -> Any:
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
        Container of arrays of shape ``(length, ...)``, or None.  Strings, flags and other values
        that are no arrays are shared by all iterations, as by `vmap`; so they are in ``y``.
    length
        The number of iterations; needed only if `xs` is None.
    reverse
        Whether to walk from the end to the beginning; ``y`` stays in place.
    checkpoint
        Whether reverse mode keeps the carry only after every so many iterations, and computes
        the iterations between once more: with True after every √length, with a number after
        that many.  Memory falls from O(length) to O(√length) carries; `f` runs once more.

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

    References
    ----------
    T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training deep nets with sublinear memory cost",
    arXiv:1604.06174, 2016 (`checkpoint`).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.scan(lambda total, x: (total + x, total * x), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 2., 9.]))
    """
    check_function(f, "scan", "f")
    state = CarryOf(init, "scan", "init")
    given = Operands(xs)
    rows, row = given.xs, given.of_row()
    length = _length(given, length, "scan")
    segment = _segment(checkpoint, length)
    if errors_are_heard() and length:  # each operation, when it is there
        return _python_scan(f, state, row, range(length)[:: -1 if reverse else 1])
    count = len(state.xs)
    types = [*state.types, *(t.with_shape(t.shape[1:]) for t in given.types)]

    def call(tracers: list[Tracer]) -> Any:
        carry, y = _pair(f(state.tree(tracers[:count]), row.tree(tracers[count:])), f)
        return state.next_leaves(carry, f), y

    trace = record_body(f, [*state.xs, *rows], types, call, has_aux=True)
    assert trace.aux is not None
    body = close_over(trace.recording, len(trace.captures))
    p = Scan(body, len(trace.captures), count, length, reverse)
    results = emit(lambda ts: _run(p, ts, segment), [*trace.captures, *state.xs, *rows])
    return state.tree(results[:count]), trace.aux.rebuild(results[count:])


def _python_scan(f: Any, state: CarryOf, row: Operands, numbers: range) -> Any:
    """Return what the loop does that a scan stands for."""
    leaves, rows = state.first_leaves(), []
    for k in numbers:
        carry, y = _pair(f(state.tree(leaves), row.tree([x[k] for x in row.xs])), f)
        leaves = state.next_leaves(carry, f)
        rows.append(y)
    return state.tree(leaves), join_rows(rows[:: numbers.step])


def _length(rows: Operands, length: int | None, name: str) -> int:
    for x, path in zip(rows.xs, rows.paths, strict=True):
        if not x.shape:
            raise InputError(
                f"{name} walks along the first axis, but xs{path} is 0-d, at {user_location()}. "
                f"{cure_of_list(path, x)}"
                "Let the function close over values that all iterations share."
            )
        if length is not None and x.shape[0] != length:
            raise InputError(
                f"{name}: xs{path} has length {x.shape[0]}, not {length}, at {user_location()}. "
                "Every array of xs needs the same length."
            )
        length = x.shape[0]
    if length is None and name == "map":
        raise InputError(
            f"map needs an array in xs, at {user_location()}: it calls the function for each row."
        )
    if length is None:
        raise InputError(
            f"scan without an array in xs needs length=, at {user_location()}. Give the number of "
            "iterations, or an array with one row for each."
        )
    if not is_int(length) or length < 0:
        raise InputError(
            f"scan: length={length!r} is not a number of iterations, at {user_location()}. "
            "Give an int; fd.fori_loop takes a traced one."
        )
    return int(length)


def _pair(result: Any, f: Callable[..., Any]) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise OutputError(
            f"the function of scan must return (carry, y), but {FunctionName(f)} returned "
            f"{describe(result)}, at {user_location()}. Return (carry, None) or (carry, (y, z))."
        )
    return result


# ---- checkpointed segments -------------------------------------------------------------------


def _segment(checkpoint: bool | int, length: int) -> int:  # noqa: FBT001 - as it was given
    """Return after how many iterations the carry is kept, 0 for no checkpoints."""
    if isinstance(checkpoint, bool):
        return math.isqrt(max(length - 1, 0)) + 1 if checkpoint else 0
    if not is_int(checkpoint) or checkpoint < 1:
        raise InputError(
            f"scan: checkpoint={checkpoint!r} is not a number of iterations, at "
            f"{user_location()}. Give True for about the square root of the length, or an int."
        )
    return int(checkpoint)


def _run(p: Scan, operands: Sequence[Tracer], segment: int) -> Sequence[Tracer]:
    """Record a loop, in segments of which a derivative keeps the operands only."""
    if not segment or not p.body.outputs or not p.length:
        return scan_op(p, operands)
    constants, carry, xs = p.split(operands)
    whole, rest = divmod(p.length, segment)
    pieces = [(0, whole, segment)] * bool(whole) + [(whole * segment, 1, rest)] * bool(rest)
    stacks: list[tuple[int, list[Tracer]]] = []
    for start, count, length in reversed(pieces) if p.reverse else pieces:
        rows = [_reshape(x[start : start + count * length], (count, length)) for x in xs]
        body = _segment_body(p, length, [*constants, *carry, *rows])
        outer = Scan(body, p.constants, p.carries, count, p.reverse)
        results = scan_op(outer, [*constants, *carry, *rows])
        carry = list(results[: p.carries])
        ys = [_reshape(y, (count * length,), axes=2) for y in results[p.carries :]]
        stacks.append((start, ys))
    parts = [ys for _, ys in sorted(stacks, key=lambda stack: stack[0])]
    return [*carry, *(array(np.concatenate(column)) for column in zip(*parts, strict=True))]


def _reshape(x: Any, first: tuple[int, ...], axes: int = 1) -> Tracer:
    """Replace the first axes of an array by others."""
    result: Tracer = array(np.reshape(x, (*first, *x.shape[axes:])))
    return result


def _segment_body(p: Scan, length: int, operands: Sequence[Tracer]) -> Program:
    """Return the body of the loop over segments: the loop over one, checkpointed."""
    constants, carry, rows = p.split([x.type for x in operands])
    types: list[ArrayType] = [*constants, *carry, *(t.with_shape(t.shape[1:]) for t in rows)]
    loop = Scan(p.body, p.constants, p.carries, length, p.reverse)
    with Builder("scan", CLOSED) as builder:
        inner = builder.program(scan_op(loop, [builder.input(t) for t in types]))
    with Builder("scan", CLOSED) as builder:
        return builder.program(checkpoint_op(inner, [builder.input(t) for t in types]))


# ---- loops without a carry, and without an order ---------------------------------------------


@typed_as[Maps]()
@public
def map(  # noqa: A001
    f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None, progress: bool = False
) -> Any:
    """Apply a function to every row of arrays, one after the other, and stack the results.

    The result is that of ``vmap(f)(xs)``, in the memory of one row at a time; a batched condition
    stays a branch.  (`fd.pytree.map` maps over the leaves of a container instead.)

    Parameters
    ----------
    f
        Function of one row.  It is traced once and may close over traced arrays.
    xs
        Container of arrays of shape ``(length, ...)``; values that are no arrays are shared.
    batch_size
        How many rows are computed at once by `vmap`; one by default.
    progress
        Whether to say on stderr how far it is, by a bar of tqdm where that is installed; the rows
        are cut into 32 parts for it.  Nothing is said while the call itself is traced.

    Returns
    -------
    any
        Like the result of `f`, with an axis of length `length` in front.

    Raises
    ------
    InputError
        If the lengths disagree, or `batch_size` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.map(lambda x: fd.cond(x > 0, np.sqrt, lambda x: -x, x), np.array([4.0, -3.0]))
    array([2., 3.])
    """
    check_function(f, "map", "f")
    rows = Operands(xs)
    length = _length(rows, None, "map")
    if batch_size is not None and (not is_int(batch_size) or batch_size < 1):
        raise InputError(
            f"map: batch_size={batch_size!r} is not a positive int, at {user_location()}. Give the "
            "number of rows to compute at once, or None for one."
        )
    if progress and length > 1 and not any(builders()):
        with Progress(f"map of {display_name(f)}", wanted=True, total=length, unit="rows") as bar:
            parts = _parts_of_map(f, rows, length, batch_size or 1, bar)
            return join_rows(parts, np.concatenate)
    return _map(f, rows, length, batch_size)


def _parts_of_map(
    f: Callable[[Any], Any], rows: Operands, length: int, batch_size: int, bar: Progress
) -> Iterator[Any]:
    """Yield what `map` returns for one part of the rows after the other, of whole batches."""
    size = -(-length // (_PARTS * batch_size)) * batch_size
    for start in range(0, length, size):
        part = Operands(rows.tree([x[start : start + size] for x in rows.xs]))
        count = min(size, length - start)
        yield _map(f, part, count, None if batch_size == 1 else batch_size)
        bar.tick(count)


def _map(f: Callable[[Any], Any], rows: Operands, length: int, batch_size: int | None) -> Any:
    if batch_size is None:
        return scan(lambda _, x: (None, f(x)), None, rows.tree(rows.numbers))[1]
    whole, parts = length // batch_size, []
    end = whole * batch_size
    if whole or not length:
        shape = (whole, batch_size)
        chunks = [np.reshape(x[:end], (*shape, *x.shape[1:])) for x in rows.xs]
        stacked = Operands(scan(lambda _, x: (None, vmap(f)(x)), None, rows.tree(chunks))[1])
        parts.append(stacked.tree([np.reshape(y, (end, *y.shape[2:])) for y in stacked.xs]))
    if end < length:
        parts.append(vmap(f)(rows.tree([x[end:] for x in rows.xs])))
    return join_rows(parts, np.concatenate)


# ---- associative_scan: a parallel prefix sum, in logarithmic depth -------------------------------


@public
def associative_scan(
    fn: Callable[[X, X], Any], elems: X, *, reverse: bool = False, axis: int = 0
) -> X:
    """Return all partial results of an associative operation.

    With ``∘`` for `fn`, the k-th result is ``e₀ ∘ e₁ ∘ … ∘ e_k``.

    Parameters
    ----------
    fn
        Associative function of two values like `elems`, applied to slices along `axis` of any
        length: it has to be elementwise along that axis.
    elems
        Container of arrays of one length n along `axis`; values that are no arrays are shared.
    reverse
        Whether to start from the end: the k-th result is then ``e_{n-1} ∘ … ∘ e_k``.
    axis
        The axis along which the elements stand; counted from the end if it is negative.

    Returns
    -------
    any
        Like `elems`.  `fn` is called about 2·log₂ n times.

    Raises
    ------
    InputError
        If the lengths disagree, or an array has no such axis.
    OutputError
        If `fn` returns containers or shapes other than those that it was given.

    References
    ----------
    G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    check_function(fn, "associative_scan", "fn")
    given = Operands(elems)
    xs, paths = given.xs, given.paths
    _check_lengths([x.shape for x in xs], paths, axis)

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        """Apply `fn` to leaves that have the elements in front."""
        a, b = ([np.moveaxis(x, 0, axis) for x in side] for side in (left, right))
        leaves, found = pytree.flatten(fn(given.tree(a), given.tree(b)))
        if found != given.structure:
            raise OutputError(
                f"the function of associative_scan was given {given.structure}, but "
                f"{FunctionName(fn)} returned {found}, at {user_location()}. Return the same "
                "containers."
            )
        for path, before, leaf in given.changes(leaves):
            raise OutputError(
                f"the function of associative_scan was given elems{path} as {before!r}, but "
                f"{FunctionName(fn)} returned {leaf!r}, at {user_location()}: what is no array "
                "must stay as it is."
            )
        result = given.among(leaves)
        for y, x, path in zip(result, a, paths, strict=True):
            if np.shape(y) != x.shape:
                raise OutputError(
                    f"the function of associative_scan was given elems{path} of shape {x.shape}, "
                    f"but {FunctionName(fn)} returned shape {np.shape(y)}, at {user_location()}. "
                    "It has to be elementwise along the axis."
                )
        return [np.moveaxis(y, axis, 0) for y in result]

    moved = [np.moveaxis(x, axis, 0) for x in xs]
    if reverse:
        moved = [x[::-1] for x in moved]
    ys = _prefixes(combine, moved)
    placed = [np.moveaxis(y[::-1] if reverse else y, 0, axis) for y in ys]
    result: X = given.tree(placed)
    return result


def _check_lengths(shapes: list[tuple[int, ...]], paths: list[str], axis: int) -> None:
    lengths = {}
    for shape, path in zip(shapes, paths, strict=True):
        if not -len(shape) <= axis < len(shape):
            raise InputError(
                f"associative_scan: elems{path} of shape {shape} has no axis {axis}, at "
                f"{user_location()}. Give the axis along which the elements stand."
            )
        lengths[path] = shape[axis]
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"elems{path}: {n}" for path, n in lengths.items())
        raise InputError(
            f"associative_scan: the lengths along axis {axis} disagree, at {user_location()}: "
            f"{shown}. Every array needs the same length."
        )


def _prefixes(combined: Callable[[list[Any], list[Any]], list[Any]], xs: list[Any]) -> list[Any]:
    """Combine neighbours, solve the problem of half the size, and fill in what lies between."""
    n = xs[0].shape[0] if xs else 0
    if n < 2:
        return list(map(detach, xs))
    odd = _prefixes(combined, combined([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    inner = (n - 1) // 2
    if not inner:
        even = [x[:1] for x in xs]
    else:
        between = combined([y[:inner] for y in odd], [x[2::2] for x in xs])
        even = [np.concatenate([x[:1], y]) for x, y in zip(xs, between, strict=True)]
    return [_interleave(a, b) for a, b in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any) -> Any:
    """Return a₀ b₀ a₁ b₁ …, which ends with either."""
    m = odd.shape[0]
    merged = np.reshape(np.stack([even[:m], odd], axis=1), (2 * m, *odd.shape[1:]))
    return np.concatenate([merged, even[m:]]) if even.shape[0] > m else merged
