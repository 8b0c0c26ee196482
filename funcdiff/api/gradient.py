"""Gradients of scalar functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, NamedTuple, overload

from funcdiff.api.arguments import FunctionName
from funcdiff.api.calls import call_traced, like_inputs
from funcdiff.api.programs import gradient_program
from funcdiff.api.signatures import (
    Argnums,
    Aux,
    ComplexScalar,
    ComplexValue,
    FirstArg,
    No,
    OfFirst,
    OfSecond,
    OfThird,
    P,
    RealScalar,
    SecondArg,
    Value,
    X,
    Yes,
)
from funcdiff.api.tracing import Trace, run
from funcdiff.core.types import ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.pytree import LEAF


@overload
def grad(
    f: OfFirst[X, P, RealScalar], argnums: Literal[0] = 0, *, has_aux: No = False
) -> OfFirst[X, P, X]: ...


@overload
def grad(
    f: OfSecond[FirstArg, X, P, RealScalar], argnums: Literal[1], *, has_aux: No = False
) -> OfSecond[FirstArg, X, P, X]: ...


@overload
def grad(
    f: OfThird[FirstArg, SecondArg, X, P, RealScalar], argnums: Literal[2], *, has_aux: No = False
) -> OfThird[FirstArg, SecondArg, X, P, X]: ...


@overload
def grad(
    f: OfSecond[FirstArg, X, P, RealScalar],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: No = False,
) -> OfSecond[FirstArg, X, P, tuple[FirstArg, X]]: ...


@overload
def grad(
    f: OfThird[FirstArg, SecondArg, X, P, RealScalar],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: No = False,
) -> OfThird[FirstArg, SecondArg, X, P, tuple[FirstArg, SecondArg, X]]: ...


@overload
def grad(
    f: OfFirst[X, P, tuple[RealScalar, Aux]], argnums: Literal[0] = 0, *, has_aux: Yes
) -> OfFirst[X, P, tuple[X, Aux]]: ...


@overload
def grad(
    f: OfSecond[FirstArg, X, P, tuple[RealScalar, Aux]], argnums: Literal[1], *, has_aux: Yes
) -> OfSecond[FirstArg, X, P, tuple[X, Aux]]: ...


@overload
def grad(
    f: OfThird[FirstArg, SecondArg, X, P, tuple[RealScalar, Aux]],
    argnums: Literal[2],
    *,
    has_aux: Yes,
) -> OfThird[FirstArg, SecondArg, X, P, tuple[X, Aux]]: ...


@overload
def grad(
    f: OfSecond[FirstArg, X, P, tuple[RealScalar, Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Yes,
) -> OfSecond[FirstArg, X, P, tuple[tuple[FirstArg, X], Aux]]: ...


@overload
def grad(
    f: OfThird[FirstArg, SecondArg, X, P, tuple[RealScalar, Aux]],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: Yes,
) -> OfThird[FirstArg, SecondArg, X, P, tuple[tuple[FirstArg, SecondArg, X], Aux]]: ...


@overload
def grad(
    f: OfFirst[X, P, ComplexScalar],
    argnums: Literal[0] = 0,
    *,
    has_aux: No = False,
    holomorphic: Yes,
) -> OfFirst[X, P, X]: ...


@overload
def grad(f: Callable[..., RealScalar], argnums: Argnums, *, has_aux: No = False) -> Any: ...


@overload
def grad(f: Callable[..., tuple[RealScalar, Any]], argnums: Argnums, *, has_aux: Yes) -> Any: ...


@overload
def grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool
) -> Any: ...


def grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Any:
    """Return a function that computes the gradient of a scalar function, ``∇f``.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).  It may use Python control flow.
    argnums
        Which positional arguments to differentiate: an int, which may be negative, or a tuple.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    holomorphic
        Whether `f` is a holomorphic function with a complex value; the result is then the
        complex derivative f'.  Without it, the gradient by a complex `z` is the direction of
        steepest ascent, ``∂f/∂Re z + i·∂f/∂Im z``.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a gradient like the differentiated argument in
        structure, shapes and dtypes (a tuple of them if `argnums` is a tuple), or
        ``(gradient, aux)``.

    Raises
    ------
    InputError
        When called, if a differentiated leaf is an integer or boolean array.
    OutputError
        When called, if `f` does not return a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """

    @wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        parts = _differentiated(
            f, argnums, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=False
        )
        return (parts.gradient, parts.aux) if has_aux else parts.gradient

    return gradient


@overload
def value_and_grad(
    f: OfFirst[X, P, Value], argnums: Literal[0] = 0, *, has_aux: No = False
) -> OfFirst[X, P, tuple[Value, X]]: ...


@overload
def value_and_grad(
    f: OfSecond[FirstArg, X, P, Value], argnums: Literal[1], *, has_aux: No = False
) -> OfSecond[FirstArg, X, P, tuple[Value, X]]: ...


@overload
def value_and_grad(
    f: OfThird[FirstArg, SecondArg, X, P, Value], argnums: Literal[2], *, has_aux: No = False
) -> OfThird[FirstArg, SecondArg, X, P, tuple[Value, X]]: ...


@overload
def value_and_grad(
    f: OfSecond[FirstArg, X, P, Value],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: No = False,
) -> OfSecond[FirstArg, X, P, tuple[Value, tuple[FirstArg, X]]]: ...


@overload
def value_and_grad(
    f: OfThird[FirstArg, SecondArg, X, P, Value],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: No = False,
) -> OfThird[FirstArg, SecondArg, X, P, tuple[Value, tuple[FirstArg, SecondArg, X]]]: ...


@overload
def value_and_grad(
    f: OfFirst[X, P, tuple[Value, Aux]], argnums: Literal[0] = 0, *, has_aux: Yes
) -> OfFirst[X, P, tuple[tuple[Value, Aux], X]]: ...


@overload
def value_and_grad(
    f: OfSecond[FirstArg, X, P, tuple[Value, Aux]], argnums: Literal[1], *, has_aux: Yes
) -> OfSecond[FirstArg, X, P, tuple[tuple[Value, Aux], X]]: ...


@overload
def value_and_grad(
    f: OfThird[FirstArg, SecondArg, X, P, tuple[Value, Aux]], argnums: Literal[2], *, has_aux: Yes
) -> OfThird[FirstArg, SecondArg, X, P, tuple[tuple[Value, Aux], X]]: ...


@overload
def value_and_grad(
    f: OfSecond[FirstArg, X, P, tuple[Value, Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Yes,
) -> OfSecond[FirstArg, X, P, tuple[tuple[Value, Aux], tuple[FirstArg, X]]]: ...


@overload
def value_and_grad(
    f: OfThird[FirstArg, SecondArg, X, P, tuple[Value, Aux]],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: Yes,
) -> OfThird[
    FirstArg, SecondArg, X, P, tuple[tuple[Value, Aux], tuple[FirstArg, SecondArg, X]]
]: ...


@overload
def value_and_grad(
    f: OfFirst[X, P, ComplexValue],
    argnums: Literal[0] = 0,
    *,
    has_aux: No = False,
    holomorphic: Yes,
) -> OfFirst[X, P, tuple[ComplexValue, X]]: ...


@overload
def value_and_grad(
    f: Callable[..., RealScalar], argnums: Argnums, *, has_aux: No = False
) -> Any: ...


@overload
def value_and_grad(
    f: Callable[..., tuple[RealScalar, Any]], argnums: Argnums, *, has_aux: Yes
) -> Any: ...


@overload
def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool
) -> Any: ...


def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Any:
    """Return a function that computes a scalar function and its gradient together, ``(f, ∇f)``.

    The parameters are those of `grad`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(value, gradient)``, or
        ``((value, aux), gradient)`` if `has_aux`.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.value_and_grad(np.prod)(np.array([2.0, 3.0, 0.0]))
    (np.float64(0.0), array([0., 0., 6.]))
    """

    @wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        parts = _differentiated(
            f, argnums, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
        )
        return ((parts.value, parts.aux) if has_aux else parts.value), parts.gradient

    return value_and_gradient


class _Parts(NamedTuple):
    """What a gradient program computes."""

    gradient: Any
    value: Any
    aux: Any


def _differentiated(
    f: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    has_aux: bool,
    holomorphic: bool,
    wants_value: bool,
) -> _Parts:
    inputs, trace = call_traced(f, argnums, args, kwargs, has_aux=has_aux)
    count = len(inputs.operands)
    program, output = gradient_program(
        trace.recording, count, holomorphic=holomorphic, wants_value=wants_value
    )
    if program is None or not trace.is_array:
        raise _not_scalar(f, trace, output, holomorphic=holomorphic)
    results = run(program, [*inputs.operands, *trace.captures], trace)
    trees = inputs.rebuild(like_inputs(results[:count], inputs))
    aux = trace.aux.rebuild(results[count + wants_value :]) if trace.aux is not None else None
    return _Parts(
        trees[0] if isinstance(argnums, int) else trees,
        results[count] if wants_value else None,
        aux,
    )


def _not_scalar(
    f: Callable[..., Any], trace: Trace, output: ArrayType | None, *, holomorphic: bool
) -> OutputError:
    got: object = output
    cure = "Return one element (y[0]) or a sum (y.sum()), or use fd.jacobian or fd.vjp."
    if output is None or not trace.is_array:
        got = trace.structure if trace.structure is not LEAF else type(trace.others[0]).__name__
        cure = "Return the scalar alone, or (scalar, rest) with has_aux=True."
    elif not output.shape:
        cure = {
            "c": "Return its real part or abs, or pass holomorphic=True for the derivative f'.",
            "f": "With holomorphic=True the result must be complex.",
        }.get(output.dtype.kind, "An integer or boolean result has no derivative.")
    kind = "complex" if holomorphic else "real"
    return OutputError(
        f"grad needs a function that returns a {kind} scalar; {FunctionName(f)} returned {got}, "
        f"at {user_location()}. {cure}"
    )
