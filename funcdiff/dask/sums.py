"""Derivatives of a sum or mean over examples, computed block by block and added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function, check_optional_functions
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.calls.transformed import display_name, name_after, transform
from funcdiff.api.derivatives import gradient, hessian
from funcdiff.dask.data import Data
from funcdiff.dask.shipping import step_of
from funcdiff.dask.totals import total
from funcdiff.errors import InputError, user_location

Reduce: TypeAlias = Literal["sum", "mean"]


@transform
def value_and_grad(
    loss: Callable[..., Any], *, reduce: Reduce = "sum", progress: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a loss over all examples, and its gradient.

    With blocks b of n_b examples it is ``Σ loss(params, *b)``, or, for a loss that is a mean,
    ``Σ n_b·loss(params, *b) / Σ n_b``.

    Parameters
    ----------
    loss
        Function of the parameters and a block of data, in plain NumPy: a real scalar, the sum or
        the mean over the examples of the block.  It is traced here at each call, once for each
        size of a block, and without values.
    reduce
        ``"sum"`` or ``"mean"``: which of them it is.
    progress
        Whether to say on stderr how many blocks are done, by a bar of tqdm where that is installed.

    Returns
    -------
    callable
        Of the parameters, any container of NumPy arrays and numbers, and the data, one or more
        Dask arrays with chunks along axis 0 alone.  It returns ``(value, gradient)`` of NumPy, the
        gradient like the parameters in structure, shapes and dtypes.

    Raises
    ------
    InputError
        If `reduce` is neither; when called, if the data are not such arrays with the same chunks,
        or have no examples, or the loss calls code that does not travel (`primitive`).
    OutputError
        When called, if the loss is not a real scalar.
    ConcreteValueError
        When called, if Python decides by a value, which may differ from block to block.

    Notes
    -----
    Dask's scheduler in use runs it: threads, processes or a cluster.  Blocks are added in an order
    that depends on their number alone.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> X = da.from_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), chunks=(2, 2))
    >>> y = da.from_array(np.array([1.0, 2.0, 4.0]), chunks=2)
    >>> def loss(w, X, y):
    ...     return np.sum((X @ w - y) ** 2)
    >>> fd.dask.value_and_grad(loss)(np.array([1.0, 1.0]), X, y)
    (np.float64(5.0), array([-4., -6.]))
    """

    def of_block(params: Any, *block: Any) -> Any:
        return gradient.value_and_grad(loss, 0)(params, *block)

    return _total("value_and_grad", loss, of_block, reduce, progress=progress)


@transform
def grad(
    loss: Callable[..., Any], *, reduce: Reduce = "sum", progress: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a loss over all examples.

    Parameters
    ----------
    loss, reduce, progress
        As for `value_and_grad`.

    Returns
    -------
    callable
        Of the parameters and the data, returning the gradient.

    Raises
    ------
    InputError, OutputError, ConcreteValueError
        As by `value_and_grad`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x = da.arange(1.0, 6.0, chunks=2)
    >>> print(fd.dask.grad(lambda m, x: np.mean((x - m) ** 2), reduce="mean")(0.0, x))
    -6.0
    """

    def of_block(params: Any, *block: Any) -> Any:
        return gradient.grad(loss, 0)(params, *block)

    return _total("grad", loss, of_block, reduce, progress=progress)


@transform
def hvp(
    loss: Callable[..., Any], *, reduce: Reduce = "sum", progress: bool = False
) -> Callable[..., Any]:
    """Return a function that computes products of the Hessian of a loss with vectors.

    Parameters
    ----------
    loss, reduce, progress
        As for `value_and_grad`.

    Returns
    -------
    callable
        Of the parameters, a vector like them and the data, in the order in which SciPy's
        minimizers call their ``hessp``, returning the product.

    Raises
    ------
    InputError, OutputError, ConcreteValueError, CotangentError
        As by `value_and_grad`, and if the vector is not like the parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> X = da.from_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), chunks=(1, 2))
    >>> product = fd.dask.hvp(lambda w, X: np.sum((X @ w) ** 4))
    >>> product(np.array([1.0, 0.0]), np.array([1.0, 1.0]), X)
    array([36., 24.])
    """

    def of_block(params: Any, vector: Any, *block: Any) -> Any:
        return hessian.hvp(loss, (params, *block), (vector,), argnums=0)

    return _total("hvp", loss, of_block, reduce, progress=progress, vectors=1)


@transform
def gauss_newton_product(
    model: Callable[..., Any],
    *,
    loss: Callable[..., Any] | None = None,
    reduce: Reduce = "sum",
    progress: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes products of the Gauss-Newton matrix with vectors.

    The matrix is ``Σ Jᴴ·∇²L·J``, positive semidefinite if the loss L is convex.

    Parameters
    ----------
    model
        Function of the parameters and a block of data that returns residuals or predictions.
    loss
        Function of what the model returns and the same block, with a real scalar value; by default
        half the sum of squares, or its mean over the examples.
    reduce
        Which of them the loss is, as for `value_and_grad`.
    progress
        Whether to say how many blocks are done, as for `value_and_grad`.

    Returns
    -------
    callable
        Of the parameters, a vector like them and the data, returning the product.

    Raises
    ------
    InputError, OutputError, ConcreteValueError, CotangentError
        As by `hvp`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> X = da.from_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), chunks=(2, 2))
    >>> product = fd.dask.gauss_newton_product(lambda w, X: X @ w)
    >>> product(np.array([3.0, 3.0]), np.array([1.0, 0.0]), X)
    array([2., 1.])
    """
    name = "dask.gauss_newton_product"
    check_optional_functions(name, loss=loss)

    def of_block(params: Any, vector: Any, *block: Any) -> Any:
        def of_outputs(outputs: Any) -> Any:
            return _squares(outputs) if loss is None else loss(outputs, *block)

        return hessian.gauss_newton_product(
            model, (params, *block), (vector,), loss=of_outputs, argnums=0
        )

    def _squares(outputs: Any) -> Any:
        leaves = pytree.flatten(outputs)[0]
        squares = sum(np.sum(np.square(np.abs(y))) for y in leaves)
        return 0.5 * squares / (len(leaves[0]) if reduce == "mean" else 1)

    return _total("gauss_newton_product", model, of_block, reduce, progress=progress, vectors=1)


def _total(
    name: str,
    f: Callable[..., Any],
    of_block: Callable[..., Any],
    reduce: Reduce,
    *,
    progress: bool,
    vectors: int = 0,
) -> Callable[..., Any]:
    """Return a function that adds up what is derived of blocks, for parameters and vectors."""
    check_function(f, f"dask.{name}")
    if reduce not in ("sum", "mean"):
        raise InputError(
            f"fd.dask.{name}: reduce={reduce!r} is neither 'sum' nor 'mean', at "
            f"{user_location()}. It says what the loss of a block is over its examples."
        )
    shown = f"fd.dask.{name}({display_name(f)})"

    @name_after(f, f"dask.{name}", reduce=reduce)
    def of_all(*args: Any, **named: Any) -> Any:
        given, data = args[: 1 + vectors], Data.of(shown, args[1 + vectors :], named)
        step, trace = step_of(shown, of_block, given, data, {*data.counts} - {0})
        leaves = total(step, data, mean=reduce == "mean", progress=shown if progress else None)
        return rebuild(trace.structure, trace.numeric, leaves, trace.others)

    return of_all
