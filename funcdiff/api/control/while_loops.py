"""Loops of a length known when they run: `while_loop` and `fori_loop`, as in ``jax.lax``.

Python's own ``while`` works in traced functions as long as its condition has a value.  These are
for what it cannot do: a condition on batched values, and a long loop that should be recorded once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import check_functions, describe
from funcdiff.api.calls.inputs import operand, type_of
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.api.control.bodies import Carry as CarryOf
from funcdiff.api.control.bodies import emit, forbid_changes, is_array, record_body, runs_in_python
from funcdiff.api.control.scanning import scan
from funcdiff.api.signatures.variables import Array, Carry
from funcdiff.core.recording.entries import program_of
from funcdiff.core.running.walk import rearrange
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.ops.control.loops import run
from funcdiff.ops.control.sweeps import Assembly, apply


@public
def while_loop(
    cond_fun: Callable[[Carry], bool | np.bool[Any] | Array],
    body_fun: Callable[[Carry], Carry],
    init_val: Carry,
) -> Carry:
    """Repeat a function as long as a condition holds.

    Computes ``val = init_val; while cond_fun(val): val = body_fun(val)`` and returns ``val``.
    All derivatives are there, reverse mode too: the iterations are counted and their residuals
    recorded as the loop runs.  The derivative is that of the iterations that were made; how their
    number depends on the values has none.

    Parameters
    ----------
    cond_fun
        ``cond_fun(val) -> bool``, a boolean scalar.
    body_fun
        ``body_fun(val) -> val``.  It must return the structure, shapes and dtypes that it was
        given.  Both functions are traced once and may close over traced arrays; where nothing is
        traced, Python runs the loop.
    init_val
        The first value, any container of arrays.

    Returns
    -------
    any
        Like `init_val`.  Under `vmap` with a batched condition the loop runs until all examples
        have ended; each keeps the value with which it ended.

    Raises
    ------
    OutputError
        If `cond_fun` returns no boolean scalar, or `body_fun` changes a type.

    Notes
    -----
    Reverse mode runs the loop twice: once for its value, and once more for the residuals, which
    it walks over backward.  Between the two only `init_val` is kept.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def f(x):  # doubled until it exceeds 100
    ...     return fd.while_loop(lambda y: y < 100, lambda y: 2 * y, x)
    >>> fd.value_and_grad(f)(3.0)
    (np.float64(192.0), np.float64(64.0))
    >>> fd.vmap(fd.grad(f))(np.array([3.0, 30.0, 300.0]))
    array([64.,  4.,  1.])
    """
    check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    state = CarryOf(init_val, "while_loop", "init_val")

    def goes_on(leaves: list[Any]) -> Any:
        return _condition(cond_fun(state.tree(leaves)), cond_fun)

    def step(leaves: list[Any]) -> list[Any]:
        return state.next_leaves(body_fun(state.tree(leaves)), body_fun)

    result: Carry = state.tree(_run_loop(goes_on, step, state.xs, (cond_fun, body_fun)))
    return result


def _condition(result: Any, cond_fun: Callable[..., Any]) -> Any:
    x = operand(result) if is_array(result) else None
    if x is None or type_of(x) is not ArrayType((), BOOL):
        found = describe(result) if x is None else type_of(x)
        raise OutputError(
            f"the condition of while_loop must be one boolean, but {FunctionName(cond_fun)} "
            f"returned {found}, at {user_location()}. Compare (x > 0), or reduce an array "
            "of booleans with np.any or np.all."
        )
    return x


def _run_loop(
    goes_on: Callable[[list[Any]], Any],
    step: Callable[[list[Any]], list[Any]],
    init: list[Any],
    functions: tuple[Callable[..., Any], Callable[..., Any]],
) -> list[Any]:
    """Run a loop over lists of leaves in Python if nothing is traced, else record it."""
    if runs_in_python(init):
        leaves = [np.array(x) if isinstance(x, np.ndarray) else x for x in init]
        while goes_on(leaves):
            leaves = step(leaves)
        return leaves
    types = [type_of(x) for x in init]
    decide = forbid_changes(
        goes_on, f"the condition {FunctionName(functions[0])}", "leaf {} of the carry".format
    )
    test = record_body(functions[0], init, types, decide)
    body = record_body(functions[1], init, types, step)
    decides, advances = (program_of(*trace.recording) for trace in (test, body))
    count, first = len(init), len(test.captures)
    assembly = Assembly([*decides.input_types[count:], *advances.input_types[count:]])
    assembly.add(types, lambda c, s, _: (apply(advances, s, c[first:]), ()), reverse=False)
    p = assembly.loop(rearrange(decides, [*range(count, count + first), *range(count)], [0]), first)
    return emit(lambda xs: run(p, xs), [*test.captures, *body.captures, *init])


@public
def fori_loop(
    lower: int | np.integer[Any] | Array,
    upper: int | np.integer[Any] | Array,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Carry,
) -> Carry:
    """Repeat a function for each integer from `lower` to `upper`, the latter excluded.

    Computes ``for i in range(lower, upper): val = body_fun(i, val)`` and returns ``val``.

    Parameters
    ----------
    lower, upper
        Integer scalars.  Where both are plain numbers this is a `scan`, which keeps its
        residuals; where one is traced it is a `while_loop`.
    body_fun
        ``body_fun(i, val) -> val``, with `i` an integer scalar.  It must return the structure,
        shapes and dtypes that it was given, and may close over traced arrays.
    init_val
        The first value, any container of arrays.

    Returns
    -------
    any
        Like `init_val`; `init_val` itself if ``upper <= lower``.

    Raises
    ------
    InputError
        If a bound is not an integer scalar.
    OutputError
        If `body_fun` changes a type.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.grad(lambda x: fd.fori_loop(0, 3, lambda i, y: x * y + i, 1.0))(2.0)
    np.float64(13.0)
    """
    check_functions("fori_loop", body_fun=body_fun)
    state = CarryOf(init_val, "fori_loop", "init_val")
    bounds = [_bound(lower, "lower"), _bound(upper, "upper")]

    def step(i: Any, leaves: list[Any]) -> list[Any]:
        return state.next_leaves(body_fun(i, state.tree(leaves)), body_fun)

    if any(isinstance(bound, Tracer) for bound in bounds):
        start, end = (np.add(bound, np.int64(0)) for bound in bounds)
        leaves = _run_loop(
            lambda xs: xs[0] < xs[1],
            lambda xs: [xs[0] + 1, xs[1], *step(xs[0], xs[2:])],
            [start, end, *state.xs],
            (body_fun, body_fun),
        )[2:]
    elif runs_in_python(state.xs):
        leaves = state.first_leaves()
        for i in range(*bounds):
            leaves = step(np.int64(i), leaves)
    else:
        numbers = np.arange(*bounds, dtype=np.int64)
        leaves = scan(lambda xs, i: (step(i, xs), None), state.xs, numbers)[0]
    result: Carry = state.tree(leaves)
    return result


def _bound(bound: Any, name: str) -> Any:
    """Return a bound as a Python int, or as the tracer that it is."""
    kind = bound.dtype.kind if isinstance(bound, Tracer) else np.asarray(bound).dtype.kind
    if kind not in "iu" or np.shape(bound):
        raise InputError(
            f"fori_loop: {name}={bound!r} is not an integer scalar, at {user_location()}. "
            "Round it (np.floor(x).astype(int)) or give an int."
        )
    return bound if isinstance(bound, Tracer) else operator.index(np.asarray(bound)[()])
