"""Results with a row for each example: Jacobians by parameters, functions of one example."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api import batching
from funcdiff.api.calls.arguments import check_function, describe
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.calls.transformed import display_name, name_after, transform
from funcdiff.api.derivatives import jacobian as jacobians
from funcdiff.core.types import ArrayType
from funcdiff.dask.data import Data
from funcdiff.dask.library import da, delayed
from funcdiff.dask.shipping import Step, step_of
from funcdiff.errors import OutputError, user_location

# ---- Builds the arrays of Dask that have a row for each example ----------------------------------


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


def unique_name(what: str) -> str:
    """Return a name of tasks that no other ones have, by which dashboards show them."""
    return f"funcdiff-{what}-{uuid.uuid4().hex}"


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
        return rebuild(trace.structure, trace.numeric, found, trace.others)

    return of_all
