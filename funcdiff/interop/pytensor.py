"""NumPy code as a function of PyTensor, on which PyMC stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from funcdiff.api.jit import jit
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, not_installed, user_location
from funcdiff.interop.calls import Call, take_apart
from funcdiff.interop.numpy_code import NUMPY_CODE
from funcdiff.interop.operation import Operation, Types
from funcdiff.transforms.jvp import spread

try:
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply, Variable
    from pytensor.graph.op import Op
except ImportError as error:
    raise not_installed(error, "interop.pytensor needs PyTensor", 'funcdiff[pytensor]"') from error


__all__ = ["wrap"]


class Wrapped:
    """NumPy code as a function of PyTensor; made by `wrap`."""

    def __init__(
        self, f: Callable[..., Any], result: Callable[..., Any] | None, singular: float | None
    ) -> None:
        update_wrapper(self, f)
        self._function, self._result, self._singular = f, result, singular

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in PyTensor's variables."""
        xs, parts = take_apart((args, kwargs), lambda leaf: isinstance(leaf, Variable))
        call = Call(self._function, parts, NUMPY_CODE, self._result)
        return call.rebuild(_apply(call.operation, xs, self._singular))


def wrap(
    f: Callable[..., Any],
    *,
    result: Callable[..., Any] | None = None,
    singular: float | None = None,
) -> Wrapped:
    """Return NumPy code as a function of PyTensor, for likelihoods in models of PyMC.

    Its gradients are funcdiff's, of every order and in both modes: ``pytensor.grad``, ``Rop`` and
    ``Lop``, ``jacobian``, ``hessian``, and what samplers make of them.

    Parameters
    ----------
    f
        Function of arrays and containers of them, written in NumPy.  Variables among its arguments
        are operands; NumPy's arrays, numbers, strings and flags it gets as they are.
    result
        ``result(*args)`` returns arrays of the shapes and dtypes of the result; it is called with
        zeros.  Needed only where `f` decides by values (``if x > 0``), for a graph has none.
    singular
        What results are where NumPy finds a matrix singular or not positive definite, as
        ``-np.inf`` for a log-density; derivatives are 0 there.  Without it, that error is raised.

    Returns
    -------
    Wrapped
        The function.

    Raises
    ------
    ConcreteValueError
        If `f` decides by values, and there is no `result`.
    """
    return Wrapped(f, result, singular)


def _apply(operation: Operation, xs: Sequence[Any], singular: float | None) -> list[Any]:
    found: list[Any] = _Bridge(operation, singular)(*xs, return_list=True)
    return found


class _Bridge(Op):  # type: ignore[misc]
    """An operation on variables, whose derivatives are operations on variables."""

    __props__ = ("operation", "singular")

    def __init__(self, operation: Operation, singular: float | None) -> None:
        self.operation, self.singular = operation, singular
        # a graph is compiled once, and so are its derivatives; what is only called may be anything
        users = operation.is_users
        self._run = (operation if users else operation.run_by(jit(operation.function))).run

    def make_node(self, *inputs: Any) -> Any:
        xs = list(map(pt.as_tensor_variable, inputs))
        return Apply(self, xs, [pt.tensor(dtype=d, shape=s) for d, s in self._results(xs)])

    def _results(self, xs: Sequence[Any]) -> list[tuple[str, tuple[int | None, ...]]]:
        """Return dtypes and shapes; lengths that differ with unknown ones are unknown."""
        found, other = (self.operation.types(_types(xs, unknown)) for unknown in (2, 3))
        if [t.ndim for t in found] != [t.ndim for t in other]:
            raise InputError(
                f"how many axes a result has depends on shapes that are not known, at "
                f"{user_location()}. Give the variables shapes: pt.specify_shape(x, (3, 4))."
            )
        shapes = (zip(t.shape, u.shape, strict=True) for t, u in zip(found, other, strict=True))
        known = [tuple(n if n == m else None for n, m in pairs) for pairs in shapes]
        return [(t.dtype.name, shape) for t, shape in zip(found, known, strict=True)]

    def perform(self, node: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        try:
            ys = self._run(*map(np.asarray, inputs))
        except np.linalg.LinAlgError:
            if self.singular is None:
                raise
            given = tuple(ArrayType(np.shape(x), np.asarray(x).dtype) for x in inputs)
            types = self.operation.types(given)
            ys = [np.full(t.shape, self.singular, t.dtype) for t in types]
        for storage, y, wanted in zip(outputs, ys, node.outputs, strict=True):
            if not wanted.type.is_valid_value(y, strict=True):
                raise OutputError(
                    f"a bridged function returned an array of {y.dtype} and shape {y.shape} where "
                    f"the graph has {wanted.type}. Say what it returns: result=lambda *args: ..."
                )
            storage[0] = np.array(y) if self.operation.is_users else np.asarray(y)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        active = tuple(x.type.dtype in _INEXACT for x in inputs)
        given = [None if _is_missing(ct) else ct for ct in cotangents]
        wanted = tuple(
            ct is not None and y.type.dtype in _INEXACT
            for ct, y in zip(given, outputs, strict=True)
        )
        if not (any(active) and any(wanted)):
            return [DisconnectedType()() for _ in inputs]
        cts = [ct for ct, on in zip(given, wanted, strict=True) if on]
        found = self._derivative(self.operation.pullback(active, wanted), [*inputs, *cts])
        return [DisconnectedType()() if g is None else g for g in spread(found, active)]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        ts = [None if _is_missing(t) else t for t in tangents]
        pairs = zip(ts, inputs, strict=True)
        active = tuple(t is not None and x.type.dtype in _INEXACT for t, x in pairs)
        wanted = tuple(y.type.dtype in _INEXACT for y in outputs)
        moved: Sequence[Any] = [None for _ in outputs]
        if any(active) and any(wanted):
            given = [t for t, on in zip(ts, active, strict=True) if on]
            pushed = self._derivative(self.operation.pushforward(active, wanted), [*inputs, *given])
            moved = spread(pushed, wanted)
        return [DisconnectedType()() if t is None else t for t in moved]

    def _derivative(self, operation: Operation, xs: Sequence[Any]) -> list[Any]:
        return _apply(operation, xs, None if self.singular is None else 0.0)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        kept = [y.type.dtype in _INEXACT for y in node.outputs]
        return [[x.type.dtype in _INEXACT and keep for keep in kept] for x in node.inputs]

    # as PyTensor 2 calls them

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:  # noqa: N802
        return self.pullback(inputs, outputs, output_grads)

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:  # noqa: N802
        outputs = self.make_node(*inputs).outputs
        moved = self.pushforward(inputs, outputs, eval_points)
        return [None if _is_missing(t) else t for t in moved]


_INEXACT = ("float32", "float64", "complex64", "complex128")


def _is_missing(x: Any) -> bool:
    return x is None or isinstance(x.type, DisconnectedType)


def _types(xs: Sequence[Any], unknown: int) -> Types:
    """Return the types of variables, with a length for those that are not known."""
    return tuple(
        ArrayType(tuple(unknown if n is None else n for n in x.type.shape), np.dtype(x.type.dtype))
        for x in xs
    )
