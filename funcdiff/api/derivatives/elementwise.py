"""Derivatives of elementwise functions, all elements at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.gradient import gradient_function
from funcdiff.api.signatures.functions import Elementwise
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import (
    Argnames,
    Argnums,
)


@typed_as[Elementwise]()
@transform
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
    return gradient_function(
        f, selection, has_aux=has_aux, holomorphic=holomorphic, elementwise=True
    )
