"""Derivatives of elementwise functions, all elements at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from funcdiff.api.calls.naming import named_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.signatures import (
    Argnames,
    Argnums,
    ArrayArg,
    Aux,
    Differentiable,
    First,
    FirstArg,
    No,
    OfFirst,
    OfSecond,
    P,
    Yes,
)
from funcdiff.api.derivatives.scalars import parts_of


@overload
def elementwise_grad(
    f: OfFirst[ArrayArg, P, Differentiable], argnums: First = None, *, has_aux: No = False
) -> OfFirst[ArrayArg, P, ArrayArg]: ...
@overload
def elementwise_grad(
    f: OfSecond[FirstArg, ArrayArg, P, Differentiable], argnums: Literal[1], *, has_aux: No = False
) -> OfSecond[FirstArg, ArrayArg, P, ArrayArg]: ...
@overload
def elementwise_grad(
    f: OfFirst[ArrayArg, P, tuple[Differentiable, Aux]], argnums: First = None, *, has_aux: Yes
) -> OfFirst[ArrayArg, P, tuple[ArrayArg, Aux]]: ...
@overload
def elementwise_grad(
    f: OfFirst[ArrayArg, P, Differentiable],
    argnums: First = None,
    *,
    has_aux: No = False,
    holomorphic: Yes,
) -> OfFirst[ArrayArg, P, ArrayArg]: ...
@overload
def elementwise_grad(
    f: Callable[P, Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]: ...
@overload
def elementwise_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any: ...
def elementwise_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return the derivative of an elementwise function, ``y'ᵢ = f'(xᵢ)``.

    Computed as the gradient of the sum of the result.  So for a function that is not elementwise
    each entry is the sum of a column of the Jacobian, and an argument that is broadcast gets the
    sum over the elements that it meets.

    Parameters
    ----------
    f
        Function that returns one real array, of any shape.
    argnums, argnames, has_aux
        As for `grad`.
    holomorphic
        Whether `f` is holomorphic with a complex result; the derivative is then f'.

    Returns
    -------
    callable
        Of the arguments of `f`, returning what `grad` returns of the sum.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.elementwise_grad(np.square)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 4.],
           [6., 8.]])
    """
    selection = Selection(f, "elementwise_grad", argnums, argnames)

    @named_after(f, "elementwise_grad", **selection.given)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs,
            has_aux=has_aux, holomorphic=holomorphic, wants_value=False, elementwise=True,
        )  # fmt: skip
        return (parts.gradient, parts.aux) if has_aux else parts.gradient

    return derivative
