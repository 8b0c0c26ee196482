"""Jacobians as arrays, each by one batched pass or in chunks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.blocks import jacobian_function
from funcdiff.api.signatures.functions import Jacobian, JacobianInOneMode, ValueAndJacobian
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import Argnames, Argnums, Mode


@typed_as[Jacobian]()
@transform
def jacobian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    mode: Mode = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return a function that computes the Jacobian, ``J[i, j] = ∂yᵢ/∂xⱼ``.

    All columns are pushed forward, or all rows pulled back, in one batched pass.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`.
    mode
        ``"forward"``: by columns, at the cost of one push per element of the inputs; or
        ``"reverse"``: by rows, one pull per element of the outputs.  By default the cheaper.
    chunk_size
        How many columns or rows are computed at a time, to bound the memory of what is between
        inputs and outputs; by default all.
    holomorphic
        Whether `f` is holomorphic; needed for complex arguments.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like its result, of containers like the
        differentiated argument (a tuple of those as by `grad`), of arrays of shape
        ``(*y.shape, *x.shape)``; or ``(jacobian, aux)``.

    Raises
    ------
    InputError
        If `mode` or `chunk_size` are none; when called, if a differentiated leaf is an integer or
        boolean array, or complex without ``holomorphic=True``.
    OutputError
        When called, if a result is not floating or complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacobian(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.zeros(2))
    array([[1., 2.],
           [3., 4.]])
    """
    return jacobian_function(
        f, Selection(f, "jacobian", argnums, argnames), mode=mode, chunk_size=chunk_size,
        holomorphic=holomorphic, has_aux=has_aux,
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the function of `jacobian`, computed column by column in forward mode, batched.

    Parameters, results and errors are those of `jacobian` with ``mode="forward"``.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacfwd(lambda x: np.stack([x, x**2]))(3.0)
    array([1., 6.])
    """
    return jacobian_function(
        f, Selection(f, "jacfwd", argnums, argnames), mode="forward", chunk_size=chunk_size,
        holomorphic=holomorphic, has_aux=has_aux,
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacrev(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the function of `jacobian`, computed row by row in reverse mode, batched.

    Parameters, results and errors are those of `jacobian` with ``mode="reverse"``.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacrev(lambda x: x[0] * x[1])(np.array([2.0, 5.0]))
    array([5., 2.])
    """
    return jacobian_function(
        f, Selection(f, "jacrev", argnums, argnames), mode="reverse", chunk_size=chunk_size,
        holomorphic=holomorphic, has_aux=has_aux,
    )  # fmt: skip


@typed_as[ValueAndJacobian]()
@transform
def value_and_jacobian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    mode: Mode = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return a function that computes a function and its Jacobian together, ``(f, J)``.

    The parameters are those of `jacobian`; `f` is evaluated once.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(y, jacobian)``, or ``((y, aux), jacobian)`` if
        `has_aux`.

    Raises
    ------
    InputError, OutputError
        As by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> y, J = fd.value_and_jacobian(np.square)(np.array([1.0, 3.0]))
    >>> y
    array([1., 9.])
    >>> J
    array([[2., 0.],
           [0., 6.]])
    """
    return jacobian_function(
        f, Selection(f, "value_and_jacobian", argnums, argnames), mode=mode, chunk_size=chunk_size,
        holomorphic=holomorphic, has_aux=has_aux, wants_value=True,
    )  # fmt: skip
