"""Jacobian-vector and vector-Jacobian products, `jvp` and `vjp`, without forming the Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcdiff.api.calls.arguments import FunctionName
from funcdiff.api.calls.differentiated import SplitCall
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, nested_policy, rebuild, run
from funcdiff.api.derivatives.first_sight import PULLBACK, LinearMap, pushforward
from funcdiff.api.derivatives.linear_maps import Pullback, tangents_per_argument
from funcdiff.api.derivatives.on_values import Computed, RulesPullback, with_rules_traced
from funcdiff.api.derivatives.programs import jvp_program
from funcdiff.api.signatures.products import Jvp, Vjp
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import (
    Argnames,
    Argnums,
    Primals,
)
from funcdiff.errors import InputError, user_location
from funcdiff.ops.user.custom_known import RuleFailure


@typed_as[Vjp]()
def vjp(
    f: Callable[..., Any],
    *primals: *Primals,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its pullback, ``v ↦ Jᴴ·v``.

    ``f_vjp(v)`` is what ``x.grad`` holds after ``y.backward(gradient=v)`` in PyTorch: the rows of
    the Jacobian ``J = ∂y/∂x``, weighted by `v` and summed, without forming `J`: the vector-Jacobian
    product, in reverse mode.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument; differentiated leaves are floating or complex.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    f_vjp : callable
        ``f_vjp(v)`` takes a cotangent of the structure, shapes and dtypes of `y` and returns a
        tuple with one entry per differentiated argument, like it in structure, shapes and
        dtypes.  For a real scalar `y`, `v` may be left out and is 1.0.  It may be called any
        number of times.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or an argument is not there.
    CotangentError
        By ``f_vjp``, if `v` does not match `y`; nothing is broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> y, f_vjp = fd.vjp(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    >>> f_vjp(np.array([0.1, 1.0, 10.0]))
    (array([ 0.2,  4. , 60. ]),)
    """
    check_point("vjp", primals, kwargs)
    selection = Selection(f, "vjp", argnums, argnames, every=True)
    call = SplitCall(f, selection, primals, kwargs)
    inputs, traced = call.inputs, _tracing(call, has_aux=has_aux)
    trace, count = traced(inputs.operands, "pull"), len(inputs.operands)
    operands = [*inputs.operands, *trace.captures]
    pull = (
        LinearMap(PULLBACK, trace, count, operands)
        if trace.rule_calls is None
        else RulesPullback(f, trace, operands, count, traced)
    )

    return with_aux(trace, pull.outputs, Pullback(FunctionName(f), pull, trace, inputs))


def _tracing(call: SplitCall, *, has_aux: bool) -> Callable[..., Trace]:
    """Return what traces a call at some operands, with rules on values as `Policy` has it."""

    def trace_at(operands: Sequence[Any], on_values: str = "") -> Trace:
        return call.trace(nested_policy(on_values=on_values), operands, has_aux=has_aux)

    return trace_at


def with_aux(trace: Trace, outputs: list[Any], second: Any) -> Any:
    """Return ``(value, second)``, and the auxiliary result if there is one."""
    count = sum(trace.numeric)
    value = rebuild(trace.structure, trace.numeric, outputs[:count], trace.others)
    if trace.aux is None:
        return value, second
    return value, second, trace.aux.rebuild(outputs[count:])


@typed_as[Jvp]()
def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its directional derivative, ``J·t``.

    This is the Jacobian-vector product, in forward mode: the columns of the Jacobian
    ``J = ∂y/∂x``, weighted by the tangents and summed, without forming `J`.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the direction: for each differentiated argument one entry, like it in structure,
        shapes and dtypes.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    ty
        The derivative of `y` in the direction of the tangents, like `y`.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If tangents and differentiated arguments differ in number, or a leaf is an integer or
        boolean array.
    CotangentError
        If a tangent does not match its primal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    check_tuples("jvp", primals, tangents)
    selection = Selection(f, "jvp", argnums, argnames, every=True)
    call = SplitCall(f, selection, primals, kwargs)
    inputs, traced = call.inputs, _tracing(call, has_aux=has_aux)
    ts = tangents_per_argument(tangents, inputs)

    def compute(on_values: str) -> Computed:
        trace = traced(inputs.operands, on_values)
        operands, sizes = [*inputs.operands, *trace.captures], (len(ts), sum(trace.numeric))
        program = jvp_program.peek(trace.recording, *sizes)
        results = None if program else pushforward(trace, operands, ts, sizes[1])
        if results is None:
            program = program or jvp_program(trace.recording, *sizes)
            results = run(program, [*operands, *ts], trace)
        return Computed(trace, results, slice(len(trace.recording[1]), None))

    try:
        found = compute("push")
    except RuleFailure as failure:
        raise failure.error from failure.error.__cause__
    if found.trace.rule_calls is not None:
        found = with_rules_traced(found, partial(compute, ""))
    trace, results, _ = found
    count = len(trace.recording[1])
    tangent = rebuild(trace.structure, trace.numeric, results[count:], trace.others)
    return with_aux(trace, results[:count], tangent)


def check_tuples(name: str, primals: Any, vectors: Any) -> None:
    """Refuse a point or a direction that is not in a tuple."""
    if not isinstance(primals, tuple | list) or not isinstance(vectors, tuple | list):
        raise InputError(
            f"fd.{name} takes the point and the vector as tuples with one entry per argument, at "
            f"{user_location()}: write fd.{name}(f, (x,), (t,))."
        )


def check_point(name: str, primals: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Refuse a call without arguments, meant for a function that is returned: ``fd.vjp(f)(x)``."""
    if not primals and not kwargs:
        raise InputError(
            f"fd.{name} was called without a point, at {user_location()}: write fd.{name}(f, x)."
        )
