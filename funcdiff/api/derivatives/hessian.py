"""Hessians as arrays: the Jacobian of the gradient, forward over reverse."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from funcdiff.api.calls.naming import name_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.blocks import jacobian_function
from funcdiff.api.derivatives.gradient import gradient_function
from funcdiff.api.derivatives.matrices import sparse_option
from funcdiff.api.signatures.functions import Hessian, ValueGradAndHessian
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import (
    Argnames,
    Argnums,
    Format,
)


@typed_as[Hessian]()
@transform
def hessian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes the Hessian of a scalar function, ``∂²f/∂xᵢ∂xⱼ``.

    Computed forward over reverse: the gradient, pushed along all directions at once.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    chunk_size
        How many columns are computed at a time, as for `jacobian`.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is holomorphic with a complex value; needed for complex arguments.
    sparse, format, sparsity
        As for `jacobian`: whether to return sparse matrices of shape ``(x.size, x.size)``, of which
        format, and their pattern if it is known.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like the differentiated argument, of
        containers like it, of arrays of shape ``(*x.shape, *x.shape)``, or sparse matrices (a tuple
        of tuples of those where `grad` gives a tuple); or ``(hessian, aux)``.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad` and `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    selection = Selection(f, "hessian", argnums, argnames)
    gradient = gradient_function(f, selection, has_aux=has_aux, holomorphic=holomorphic)
    return jacobian_function(
        gradient, selection, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux, of=f,
        sparse=sparse_option(
            sparse, format, sparsity, "forward", chunk_size=chunk_size, symmetric=True
        ),
    )  # fmt: skip


@typed_as[ValueGradAndHessian]()
@transform
def value_grad_and_hessian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes a scalar function with both derivatives, ``(f, ∇f, ∇²f)``.

    The three share one evaluation of `f` and of its gradient.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    chunk_size
        How many columns of the Hessian are computed at once, to bound the memory.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function with a complex value, as for `hessian`.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `hessian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(value, gradient, hessian)``, or
        ``((value, aux), gradient, hessian)`` if `has_aux`.

    Raises
    ------
    InputError, OutputError
        When called, as by `hessian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> value, g, H = fd.value_grad_and_hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    >>> value, g
    (np.float64(18.0), array([12.,  9.]))
    >>> H
    array([[4., 6.],
           [6., 0.]])
    """
    selection = Selection(f, "value_grad_and_hessian", argnums, argnames)
    value_and_gradient = gradient_function(
        f, selection, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
    )

    @wraps(f)
    def gradient_beside_value(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(*args, **kwargs)[::-1]

    derive = jacobian_function(
        gradient_beside_value, selection, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic,
        has_aux=True, wants_value=True,
        sparse=sparse_option(
            sparse, format, sparsity, "forward", chunk_size=chunk_size, symmetric=True
        ),
    )  # fmt: skip

    @name_after(f, selection.transform, **selection.given, has_aux=has_aux, holomorphic=holomorphic)
    def all_three(*args: Any, **kwargs: Any) -> Any:
        (gradient, value), H = derive(*args, **kwargs)
        return value, gradient, H

    return all_three
