"""NumPy code as an operation of other libraries: its calculus, and how a call is taken apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.batching import stack_rows, vmap
from funcdiff.api.calls.arguments import FunctionName, is_numeric
from funcdiff.api.calls.tracing import Trace, nested_policy, rebuild, record
from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, InputError, OutputError, user_location
from funcdiff.interop.operation import Calculus, Function, Mask, Operation, Types
from funcdiff.passes.simplify import simplify


class _NumPyCode:
    """What funcdiff knows of functions of NumPy's arrays."""

    def run(self, f: Function, xs: Sequence[Any]) -> Sequence[Any]:
        return f(*[_protected(x) for x in xs])

    def types(self, f: Function, types: Types) -> Types:
        return tuple(y.type for y in trace_without_values(f, types).outputs)

    def push(self, f: Function, xs: Sequence[Any], ts: Sequence[Any]) -> Sequence[Any]:
        tangents: Sequence[Any] = jvp(f, tuple(xs), tuple(ts))[1]
        return tangents

    def pull(self, f: Function, xs: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        """Pull back; `vjp` gives the adjoint, which is the transpose between conjugates."""
        _, pull = vjp(f, *xs)
        return [_conjugate(ct) for ct in pull([_conjugate(ct) for ct in cts])]

    def batch(self, f: Function, size: int, flags: Mask, xs: Sequence[Any]) -> Sequence[Any]:
        """Batch by `vmap`, or one by one where Python decides by values."""
        axes = tuple(0 if flag else None for flag in flags)
        try:
            together: Sequence[Any] = vmap(f, axes, axis_size=size)(*xs)
        except ConcreteValueError:
            if not size:
                raise
            rows = [
                f(*[x[k] if flag else x for x, flag in zip(xs, flags, strict=True)])
                for k in range(size)
            ]
            together = stack_rows(rows)
        return together


NUMPY_CODE: Final[Calculus] = _NumPyCode()
"""The calculus of functions of NumPy's arrays."""


def trace_without_values(f: Function, types: Types) -> Trace:
    """Trace a function of arrays of these types; raise `ConcreteValueError` if it needs values."""
    blank = [np.broadcast_to(np.zeros((), t.dtype), t.shape) for t in types]
    return record(f, blank, lambda xs: f(*xs), nested_policy(0, eager=False), types=types)


def program_without_values(f: Function, types: Types) -> tuple[Program, Sequence[Any]]:
    """Return the program of a function, and the arrays that are its last inputs."""
    trace = trace_without_values(f, types)
    return simplify(program_of(*trace.recording)), trace.captures


def _protected(x: Any) -> Any:
    """Return a number, or an array that cannot be written to: it is another library's memory."""
    if not isinstance(x, np.ndarray):
        return x
    if not x.shape:
        return x[()]
    seen = x.view()
    seen.flags.writeable = False
    return seen


def _conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


# ---- calls ---------------------------------------------------------------------------------------


class _Result(NamedTuple):
    structure: pytree.Structure
    numeric: Mask
    others: list[Any]


class Call:
    """A call of NumPy code with another library's arrays: its arrays, and the operation on them.

    Python's numbers, strings and flags are no operands: `f` gets them as they are.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_array: Callable[[Any], bool],
        result: Callable[..., Any] | None = None,
    ) -> None:
        leaves, structure = pytree.flatten((args, kwargs))
        flags = tuple(map(is_array, leaves))
        self.arrays = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]
        others = [leaf for leaf, flag in zip(leaves, flags, strict=True) if not flag]
        self._name = FunctionName(f)
        self._result: _Result | None = None

        def called(g: Callable[..., Any]) -> Function:
            def flat(*xs: Any) -> list[Any]:
                positional, named = rebuild(structure, flags, xs, others)
                return self._take_apart(g(*positional, **named))

            return flat

        def declared(types: Types) -> Types:
            assert result is not None
            blank = [np.zeros(t.shape, t.dtype) for t in types]
            ys = map(np.asarray, called(result)(*blank))
            return tuple(ArrayType(y.shape, y.dtype) for y in ys)

        flat = called(f)

        def found(types: Types) -> Types:
            try:
                return NUMPY_CODE.types(flat, types)
            except ConcreteValueError as error:
                raise ConcreteValueError(
                    f"what {self._name} returns is not known at {user_location()}: here its "
                    f"arguments have no values, and it decides by them: {error} Say what it "
                    "returns: wrap(f, result=lambda *args: np.empty(shape))."
                ) from error

        self.operation = Operation(flat, NUMPY_CODE, types=declared if result else found)

    def _take_apart(self, returned: Any) -> list[Any]:
        leaves, structure = pytree.flatten(returned)
        numeric = tuple(map(is_numeric, leaves))
        others = [leaf for leaf, flag in zip(leaves, numeric, strict=True) if not flag]
        if self._result is None:
            self._result = _Result(structure, numeric, others)
        elif self._result[:2] != (structure, numeric):
            raise OutputError(
                f"{self._name} returned {structure} where it had returned, or declared, "
                f"{self._result.structure}. A bridged function must return the same container for "
                "arguments of the same shapes and dtypes."
            )
        return [leaf for leaf, flag in zip(leaves, numeric, strict=True) if flag]

    def rebuild(self, ys: Sequence[Any]) -> Any:
        """Return the result, with these arrays for the numbers in it."""
        assert self._result is not None, "the function has been called or traced"
        structure, numeric, others = self._result
        return rebuild(structure, numeric, ys, others)


def type_of_array(x: Any, dtype: Any) -> ArrayType:
    """Return the type of another library's array, whose dtype is this one in NumPy."""
    found = np.dtype(dtype)
    if found.kind not in "biufc" or (found.kind == "f" and found.itemsize < 2):
        raise InputError(
            f"an array of {found} was given at {user_location()}, which NumPy does not compute "
            "with. Convert it to float32."
        )
    return ArrayType(tuple(x.shape), found)
