"""Gradients of scalar functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from funcdiff.api.calls.naming import named_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.signatures import (
    Argnames,
    Argnums,
    Aux,
    ComplexScalar,
    ComplexValue,
    First,
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
from funcdiff.api.calls.wrong_calls import explains_calls
from funcdiff.api.derivatives.scalars import parts_of


@overload
def grad(
    f: OfFirst[X, P, RealScalar], argnums: First = None, *, has_aux: No = False
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
    f: OfFirst[X, P, tuple[RealScalar, Aux]], argnums: First = None, *, has_aux: Yes
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
    argnums: First = None,
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
    f: Callable[P, RealScalar],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames,
    has_aux: No = False,
) -> Callable[P, Any]: ...


@overload
def grad(
    f: Callable[P, tuple[RealScalar, Aux]],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames,
    has_aux: Yes,
) -> Callable[P, tuple[Any, Aux]]: ...


@overload
def grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool,
) -> Any: ...


@explains_calls
def grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return a function that computes the gradient of a scalar function, ``∇f``.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).  It may use Python control flow.
    argnums
        Which arguments to differentiate: an int, or a tuple of ints.  A negative one counts from
        the last argument given by position.  The first, unless `argnames` is given.
    argnames
        Names of parameters to differentiate, alone or after those of `argnums`: a str or a tuple.
        The arguments may be given by position or by keyword.
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
        structure, shapes and dtypes (a tuple of them if `argnums` or `argnames` is a tuple or
        both are given), or ``(gradient, aux)``.

    Raises
    ------
    InputError
        If `f` has no parameter of that name; when called, if an argument is not there or a
        differentiated leaf is an integer or boolean array.
    OutputError
        When called, if `f` does not return a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    >>> fd.grad(lambda x, scale: scale * x**2, argnames="scale")(3.0, scale=2.0)
    np.float64(9.0)
    """
    selection = Selection(f, "grad", argnums, argnames)

    @named_after(f, "grad", **selection.given, has_aux=has_aux, holomorphic=holomorphic)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=False
        )
        return (parts.gradient, parts.aux) if has_aux else parts.gradient

    return gradient


@overload
def value_and_grad(
    f: OfFirst[X, P, Value], argnums: First = None, *, has_aux: No = False
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
    f: OfFirst[X, P, tuple[Value, Aux]], argnums: First = None, *, has_aux: Yes
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
    argnums: First = None,
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
    f: Callable[P, Value],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames,
    has_aux: No = False,
) -> Callable[P, tuple[Value, Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, tuple[Value, Aux]],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames,
    has_aux: Yes,
) -> Callable[P, tuple[tuple[Value, Aux], Any]]: ...


@overload
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool,
) -> Any: ...


@explains_calls
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
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
    selection = Selection(f, "value_and_grad", argnums, argnames)

    @named_after(
        f,
        "value_and_grad",
        argnums=argnums,
        argnames=argnames,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
        )
        return ((parts.value, parts.aux) if has_aux else parts.value), parts.gradient

    return value_and_gradient
