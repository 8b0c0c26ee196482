"""Jacobians as arrays, each by one batched pass or in chunks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.blocks import jacobian_function
from funcdiff.api.derivatives.matrices import sparse_option
from funcdiff.api.signatures.functions import Jacobian, JacobianInOneMode, ValueAndJacobian
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import Argnames, Argnums, Format, Mode


@typed_as[Jacobian]()
@transform
def jacobian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    mode: Mode = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes the Jacobian, ``J[i, j] = ∂yᵢ/∂xⱼ``.

    All columns are pushed forward, or all rows pulled back, in one batched pass.  With
    ``sparse=True`` only the entries that may differ from zero are computed; where they are is found
    (see `sparsity`).

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
    progress
        Whether to say on stderr how far it is, by a bar of tqdm where that is installed.  It goes
        chunk by chunk: 32 of them, unless `chunk_size` is given.  Nothing is said where only
        one pass is made, by sparse matrices, and while the call itself is traced.
    holomorphic
        Whether `f` is holomorphic; needed for complex arguments.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse
        Whether to return sparse matrices of shape ``(y.size, x.size)`` in place of arrays.  They
        have the same places at every point, explicit zeros among them.  `mode` says what is done
        where entries are not computed one by one; `chunk_size` is not for them.
    format
        Of sparse matrices: ``"csr"`` (by default) and ``"csc"`` are SciPy's sparse arrays;
        ``"coo"`` is plain arrays ``(data, (rows, columns))``, for which SciPy is not needed.
    sparsity
        The pattern of the sparse matrix, if it is known: a sparse matrix, an array of booleans, or
        what `sparsity` returns.  By default it is found.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like its result, of containers like the
        differentiated argument (a tuple of those as by `grad`), of arrays of shape
        ``(*y.shape, *x.shape)``, or sparse matrices; or ``(jacobian, aux)``.

    Raises
    ------
    InputError
        If `mode` or `chunk_size` are none; when called, if a differentiated leaf is an integer or
        boolean array, or complex without ``holomorphic=True``, or if a pattern does not fit.
    OutputError
        When called, if a result is not floating or complex.
    MissingDependencyError
        If sparse matrices of SciPy's are asked for, which is not installed.

    References
    ----------
    Patterns and colours: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your
    Jacobian?", SIAM Review 47 (2005), 629-705.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacobian(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.zeros(2))
    array([[1., 2.],
           [3., 4.]])
    >>> J = fd.jacobian(lambda x: x[1:] - x[:-1] ** 2, sparse=True)(np.arange(4.0))
    >>> J.toarray()
    array([[ 0.,  1.,  0.,  0.],
           [ 0., -2.,  1.,  0.],
           [ 0.,  0., -4.,  1.]])
    """
    return jacobian_function(
        f, Selection(f, "jacobian", argnums, argnames), mode=mode, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, mode, chunk_size=chunk_size),
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return the function of `jacobian`, computed column by column in forward mode, batched.

    The same as `jacobian` with ``mode="forward"``.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    chunk_size
        How many columns are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning the Jacobian: for a result of shape ``s`` and an argument
        of shape ``t`` an array of shape ``(*s, *t)``, in containers as by `jacobian`.

    Raises
    ------
    InputError, OutputError
        When called, as by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacfwd(lambda x: np.stack([x, x**2]))(3.0)
    array([1., 6.])
    """
    return jacobian_function(
        f, Selection(f, "jacfwd", argnums, argnames), mode="forward", chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, "forward", chunk_size=chunk_size),
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacrev(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return the function of `jacobian`, computed row by row in reverse mode, batched.

    The same as `jacobian` with ``mode="reverse"``.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    chunk_size
        How many rows are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning the Jacobian: for a result of shape ``s`` and an argument
        of shape ``t`` an array of shape ``(*s, *t)``, in containers as by `jacobian`.

    Raises
    ------
    InputError, OutputError
        When called, as by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacrev(lambda x: x[0] * x[1])(np.array([2.0, 5.0]))
    array([5., 2.])
    """
    return jacobian_function(
        f, Selection(f, "jacrev", argnums, argnames), mode="reverse", chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, "reverse", chunk_size=chunk_size),
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
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes a function and its Jacobian together, ``(f, J)``.

    `f` is evaluated once.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    mode
        ``"forward"`` or ``"reverse"``; None for the one that is cheaper.
    chunk_size
        How many rows or columns are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

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
        progress=progress, holomorphic=holomorphic, has_aux=has_aux, wants_value=True,
        sparse=sparse_option(sparse, format, sparsity, mode, chunk_size=chunk_size),
    )  # fmt: skip
