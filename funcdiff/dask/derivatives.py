"""The functions of ``fd.dask``: derivatives of sums over examples, and results for each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api import batching
from funcdiff.api.calls.arguments import check_function, check_optional_functions, describe
from funcdiff.api.calls.transformed import display_name, name_after, transform
from funcdiff.api.derivatives import gradient, hessian
from funcdiff.api.derivatives import jacobian as jacobians
from funcdiff.core.types import ArrayType
from funcdiff.dask.data import Data, da, delayed
from funcdiff.dask.shipping import Step, step_of, unique_name
from funcdiff.dask.totals import total
from funcdiff.errors import InputError, OutputError, user_location

# ---- sums and means over examples: derivatives computed block by block, and added ----------------


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
        return trace.rebuild(leaves)

    return of_all


# ---- a row for each example: Jacobians by parameters, functions of one example -------------------


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a block: no list, which Dask would look into."""

    leaves: list[Any]


def run_block(step: Step, *block: Any) -> Results:
    """Return the results of a block."""
    return Results(step(block))


def take(part: Any, k: int) -> Any:
    """Return one result of a block, which comes in a list for each further axis of the data."""
    while isinstance(part, list):
        (part,) = part
    return part.leaves[k]


def rows(step: Step, data: Data, types: Sequence[ArrayType]) -> list[Any]:
    """Return the results as Dask arrays, one block after the other along axis 0.

    `types` are those of one block.
    """
    parts = _per_block(step, data)
    return [
        da.blockwise(
            take, (0, *own), parts, tuple(range(parts.ndim)), k=k, align_arrays=False,
            new_axes=dict(zip(own, t.shape[1:], strict=True)), dtype=t.dtype,
            meta=np.empty((0,) * len(t.shape), t.dtype),
        )
        for k, t in enumerate(types)
        for own in [tuple(range(parts.ndim, parts.ndim + len(t.shape) - 1))]
    ]  # fmt: skip


def _per_block(step: Step, data: Data) -> Any:
    """Return an array with the results of each block, which one task loads and computes.

    It has the axes of all arrays, so that none is summed over, which keeps Dask from fusing.
    """
    operands = [delayed(step, name=unique_name("given"), traverse=False), None]
    axes: tuple[int, ...] = (0,)
    for x in data.arrays:
        own = tuple(range(len(axes), len(axes) + x.ndim - 1))
        operands += [x, (0, *own)]
        axes += own
    return da.blockwise(
        run_block, axes, *operands, name=unique_name("block"), dtype=object, align_arrays=False,
        meta=np.empty((0,) * len(axes), object),
    )  # fmt: skip


@transform
def jacobian(f: Callable[..., Any]) -> Callable[..., Any]:
    r"""Return a function that computes the Jacobian by the parameters, example by example.

    Parameters
    ----------
    f
        Function of the parameters and a block of data that returns an array, or a container of
        arrays, with a row for each example of the block.

    Returns
    -------
    callable
        Of the parameters and the data, as for `value_and_grad`.  It returns Dask arrays in the
        chunks of the data, of shape (examples, \*rest of f, \*parameter), in a container like the
        parameters inside one like the result of `f`; nothing is computed before they are.

    Raises
    ------
    InputError, ConcreteValueError
        When called, as by `value_and_grad`.
    OutputError
        When called, if the result of `f` has no row for each example.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x = da.arange(1.0, 6.0, chunks=2)
    >>> rows = fd.dask.jacobian(lambda p, x: np.exp(-p["rate"] * x))({"rate": 0.0}, x)
    >>> rows["rate"].compute()
    array([-1., -2., -3., -4., -5.])
    """

    def call_and_check(params: Any, *block: Any) -> Any:
        found = f(params, *block)
        for y in pytree.flatten(found)[0]:
            if np.shape(y)[:1] != (len(block[0]),):
                raise OutputError(
                    f"fd.dask.jacobian needs a function that returns a row for each of the "
                    f"{len(block[0])} examples of a block; {display_name(f)} returned "
                    f"{describe(y)}, at {user_location()}. Use fd.dask.grad for sums over examples."
                )
        return found

    return _rows("jacobian", f, jacobians.jacobian(call_and_check, 0))


@transform
def vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f`, a function of the parameters and one example, as one of all examples.

    Parameters
    ----------
    f
        Function of the parameters and of one entry of each of the data.  It may be a derivative:
        ``fd.dask.vmap(fd.grad(loss))`` computes gradients per example.

    Returns
    -------
    callable
        Of the parameters and the data, as for `value_and_grad`.  It returns Dask arrays in the
        chunks of the data with the examples along axis 0, in a container like the result of `f`;
        nothing is computed before they are.

    Raises
    ------
    InputError, ConcreteValueError
        When called, as by `value_and_grad`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> X = da.from_array(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), chunks=(2, 2))
    >>> fd.dask.vmap(fd.grad(lambda w, x: np.dot(w, x) ** 2))(np.array([1.0, 0.0]), X).compute()
    array([[ 2.,  4.],
           [18., 24.],
           [50., 60.]])
    """

    def of_block(params: Any, *block: Any) -> Any:
        return batching.vmap(f, in_axes=(None, *(0 for _ in block)))(params, *block)

    return _rows("vmap", f, of_block)


def _rows(name: str, f: Callable[..., Any], of_block: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes rows of all blocks."""
    check_function(f, f"dask.{name}")
    shown = f"fd.dask.{name}({display_name(f)})"

    @name_after(f, f"dask.{name}")
    def of_all(*args: Any, **named: Any) -> Any:
        data = Data.of(shown, args[1:], named)
        step, trace = step_of(shown, of_block, args[:1], data, {*data.counts})
        found = rows(step, data, [y.type for y in trace.outputs])
        return trace.rebuild(found)

    return of_all
