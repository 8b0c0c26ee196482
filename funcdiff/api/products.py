"""Products with the Jacobian and the Hessian, without forming them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from funcdiff.api.arguments import FunctionName
from funcdiff.api.calls import inputs_of, like_inputs
from funcdiff.api.cotangents import checked_cotangents, checked_tangents
from funcdiff.api.gradient import grad
from funcdiff.api.programs import jvp_program, linearize_programs, vjp_programs
from funcdiff.api.signatures import Aux, No, Primals, RealScalar, ScalarPullback, Value, X, Y, Yes
from funcdiff.api.tracing import Trace, rebuild, record, run
from funcdiff.errors import InputError, user_location


@overload
def vjp(  # type: ignore[overload-overlap]
    f: Callable[[*Primals], Value], *primals: *Primals, has_aux: No = False
) -> tuple[Value, ScalarPullback[Value, *Primals]]: ...
@overload
def vjp(
    f: Callable[[*Primals], Y], *primals: *Primals, has_aux: No = False
) -> tuple[Y, Callable[[Y], tuple[*Primals]]]: ...
@overload
def vjp(  # type: ignore[overload-overlap]
    f: Callable[[*Primals], tuple[Value, Aux]], *primals: *Primals, has_aux: Yes
) -> tuple[Value, ScalarPullback[Value, *Primals], Aux]: ...
@overload
def vjp(
    f: Callable[[*Primals], tuple[Y, Aux]], *primals: *Primals, has_aux: Yes
) -> tuple[Y, Callable[[Y], tuple[*Primals]], Aux]: ...
def vjp(f: Callable[[*Primals], Any], *primals: *Primals, has_aux: bool = False) -> Any:
    """Return the value of a function and its pullback, ``v ↦ Jᴴ·v``.

    ``f_vjp(v)`` is what ``x.grad`` holds after ``y.backward(gradient=v)`` in PyTorch: the rows of
    the Jacobian ``J = ∂y/∂x``, weighted by `v` and summed, without forming `J`.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument; leaves are floating or complex.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.

    Returns
    -------
    y
        ``f(*primals)``.
    f_vjp : callable
        ``f_vjp(v)`` takes a cotangent of the structure, shapes and dtypes of `y` and returns a
        tuple with one entry per primal, like it in structure, shapes and dtypes.  For a real
        scalar `y`, `v` may be left out and is 1.0.  It may be called any number of times.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If a leaf of a primal is an integer or boolean array.
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
    inputs = inputs_of(primals, lambda k: f"primal {k}")
    trace = record(f, inputs.operands, lambda ts: f(*inputs.rebuild(ts)), has_aux=has_aux)
    programs = vjp_programs(trace.recording, len(inputs.operands), sum(trace.numeric))
    results = run(programs.primal, [*inputs.operands, *trace.captures], trace)
    outputs, residuals = _split_residuals(results, trace)

    def f_vjp(*cotangent: Any) -> tuple[Any, ...]:
        cts = checked_cotangents(cotangent, trace, programs.types, FunctionName(f))
        needed = [ct for ct, flag in zip(cts, programs.mask, strict=True) if flag]
        pulled = run(programs.pullback, [*residuals, *needed], trace)
        return inputs.rebuild(like_inputs(pulled, inputs))

    return _with_aux(trace, outputs, f_vjp)


def _split_residuals(results: list[Any], trace: Trace) -> tuple[list[Any], list[Any]]:
    """Separate the outputs from the residuals, which must not change if an output is changed."""
    count = len(trace.recording[1])
    outputs, residuals = results[:count], results[count:]
    ours = {id(x) for x in outputs}
    return outputs, [
        x.copy() if isinstance(x, np.ndarray) and id(x) in ours else x for x in residuals
    ]


def _with_aux(trace: Trace, outputs: list[Any], second: Any) -> Any:
    """Return ``(value, second)``, and the auxiliary result if there is one."""
    count = sum(trace.numeric)
    value = rebuild(trace.structure, trace.numeric, outputs[:count], trace.others)
    if trace.aux is None:
        return value, second
    return value, second, trace.aux.rebuild(outputs[count:])


@overload
def jvp(
    f: Callable[[*Primals], Y],
    primals: tuple[*Primals],
    tangents: tuple[*Primals],
    *,
    has_aux: No = False,
) -> tuple[Y, Y]: ...
@overload
def jvp(
    f: Callable[[*Primals], tuple[Y, Aux]],
    primals: tuple[*Primals],
    tangents: tuple[*Primals],
    *,
    has_aux: Yes,
) -> tuple[Y, Y, Aux]: ...
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """Return the value of a function and its directional derivative, ``J·t``.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the direction, like `primals` in structure, shapes and dtypes.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.

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
        If primals and tangents differ in number, or a leaf is an integer or boolean array.
    CotangentError
        If a tangent does not match its primal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    _check_tangents(primals, tangents)
    inputs = inputs_of(primals, lambda k: f"primals[{k}]")
    ts = checked_tangents(tangents, inputs.structures, inputs.numeric, inputs.operands)
    trace = record(f, inputs.operands, lambda xs: f(*inputs.rebuild(xs)), has_aux=has_aux)
    program = jvp_program(trace.recording, len(inputs.operands), sum(trace.numeric))
    results = run(program, [*inputs.operands, *trace.captures, *ts], trace)
    count = len(trace.recording[1])
    tangent = rebuild(trace.structure, trace.numeric, results[count:], trace.others)
    return _with_aux(trace, results[:count], tangent)


def _check_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise InputError(
            f"primals and tangents are tuples with one entry per argument, at {user_location()}: "
            "write fd.jvp(f, (x,), (t,))."
        )
    if len(primals) != len(tangents):
        raise InputError(
            f"{len(primals)} primals but {len(tangents)} tangents were given, at "
            f"{user_location()}. Give one tangent per primal."
        )


def linearize(f: Callable[[*Primals], Y], *primals: *Primals) -> tuple[Y, Callable[[*Primals], Y]]:
    """Return the value of a function and its derivative there, the linear map ``t ↦ J·t``.

    The work that depends on the point only is done once, so many directions are cheap.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument.

    Returns
    -------
    y
        ``f(*primals)``.
    f_jvp : callable
        ``f_jvp(*tangents)`` takes one tangent per primal, like it in structure, shapes and
        dtypes, and returns a tangent like `y`.

    Raises
    ------
    InputError
        If a leaf of a primal is an integer or boolean array.
    CotangentError
        By ``f_jvp``, if a tangent does not match its primal.

    Examples
    --------
    >>> import funcdiff as fd
    >>> y, f_jvp = fd.linearize(lambda x: x**3, 2.0)
    >>> f_jvp(1.0), f_jvp(0.5)
    (np.float64(12.0), np.float64(6.0))
    """
    inputs = inputs_of(primals, lambda k: f"primal {k}")
    trace = record(f, inputs.operands, lambda ts: f(*inputs.rebuild(ts)))
    split = linearize_programs(trace.recording, len(inputs.operands))
    results = run(split.primal, [*inputs.operands, *trace.captures], trace)
    outputs, residuals = _split_residuals(results, trace)

    def f_jvp(*tangents: *Primals) -> Y:
        _check_tangents(primals, tangents)
        ts = checked_tangents(tangents, inputs.structures, inputs.numeric, inputs.operands)
        pushed = run(split.linear, [*ts, *residuals], trace)
        tangent: Y = rebuild(trace.structure, trace.numeric, pushed, trace.others)
        return tangent

    value: Y = rebuild(trace.structure, trace.numeric, outputs, trace.others)
    return value, f_jvp


@overload
def hvp(f: Callable[[X], RealScalar], primals: tuple[X], tangents: tuple[X]) -> X: ...
@overload
def hvp(
    f: Callable[[*Primals], RealScalar], primals: tuple[*Primals], tangents: tuple[*Primals]
) -> Any: ...
def hvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """Return the product of the Hessian of a scalar function with a vector, ``∇²f(x)·t``.

    Computed as the directional derivative of the gradient (Pearlmutter 1994), at the cost of a few
    evaluations of `f`, without forming the Hessian.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the vector, like `primals` in structure, shapes and dtypes.

    Returns
    -------
    any
        Like the primal; a tuple with one entry per primal if there are several.

    Raises
    ------
    InputError, OutputError, CotangentError
        As `jvp` and `grad`.

    References
    ----------
    B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 6 (1994).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    _check_tangents(primals, tangents)
    argnums = tuple(range(len(primals)))
    product = jvp(grad(f, argnums), tuple(primals), tuple(tangents))[1]
    return product[0] if len(primals) == 1 else product
