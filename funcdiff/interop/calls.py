"""Calls of bridged functions, in both directions: arrays among arguments, operations on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import look_up_call
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.calls.transformed import FunctionName, name_of
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, InputError, OutputError, user_location
from funcdiff.interop.operation import Calculus, Function, Operation, Types
from funcdiff.numpy.border.values import concrete_value
from funcdiff.ops.user.bridged import call_bridged
from funcdiff.transforms.jvp import Mask


class Parts(NamedTuple):
    """A container without the arrays in it."""

    structure: pytree.Structure
    flags: Mask  # by leaf: whether it is an array
    others: list[Any]  # the leaves that are not

    def rebuild(self, xs: Sequence[Any]) -> Any:
        """Return the container with these arrays."""
        return rebuild(self.structure, self.flags, xs, self.others)


def take_apart(tree: Any, is_array: Callable[[Any], bool]) -> tuple[list[Any], Parts]:
    """Return the arrays in a container, and the rest."""
    leaves, structure = pytree.flatten(tree, is_array)
    flags = tuple(map(is_array, leaves))
    pairs = list(zip(leaves, flags, strict=True))
    others = [leaf for leaf, flag in pairs if not flag]
    return [leaf for leaf, flag in pairs if flag], Parts(structure, flags, others)


class Call:
    """A call of a function of its home's arrays, for arguments of one kind.

    Numbers of Python's, strings and flags are no operands: `f` gets them as they are.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        arguments: Parts,
        home: Calculus,
        result: Callable[..., Any] | None = None,
    ) -> None:
        self._name = FunctionName(f)
        self._arguments, self._home, self._declared = arguments, home, result
        self._result: Parts | None = None
        self._flat: Function = lambda *xs: self._call(f, xs)
        self.operation = Operation(self._flat, home, types=self._types)

    def _call(self, f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
        args, kwargs = self._arguments.rebuild(xs)
        ys, found = take_apart(f(*args, **kwargs), self._home.is_array)
        if self._result is None:
            self._result = found
        elif self._result[:2] != found[:2]:
            raise OutputError(
                f"{self._name} returned {found.structure} where it had returned, or declared, "
                f"{self._result.structure}. A bridged function must return the same container for "
                "arguments of the same shapes and dtypes."
            )
        return ys

    def _types(self, types: Types) -> Types:
        if self._declared is not None:
            ys = self._call(self._declared, [np.zeros(t.shape, t.dtype) for t in types])
            return tuple(ArrayType(np.shape(y), np.asarray(y).dtype) for y in ys)
        try:
            return self._home.types(self._flat, types)
        except ConcreteValueError as error:
            raise ConcreteValueError(
                f"what {self._name} returns is not known at {user_location()}: its arguments have "
                f"no values here, and it decides by them. Declare it: result=lambda *args: "
                f"np.empty(shape). What it asked for: {error}"
            ) from error

    def rebuild(self, ys: Sequence[Any]) -> Any:
        """Return the result, with these arrays in it."""
        assert self._result is not None, "the function has been called or traced"
        return self._result.rebuild(ys)


def register(cls: type, numpy_of: Callable[[Any], Any], array: Callable[[Any, Any], Any]) -> None:
    """Make another library's arrays containers of one of NumPy's, so that derivatives are theirs.

    ``numpy_of(x) -> (y, aux)`` gives the array of NumPy's, ``array(y, aux)`` the library's; what
    is traced stays what it is.
    """

    def flatten(x: Any) -> tuple[list[Any], Any]:
        y, aux = numpy_of(x)
        return [y], aux

    def unflatten(aux: Any, children: list[Any]) -> Any:
        (y,) = children
        if isinstance(y, Tracer) or not isinstance(y, np.ndarray | np.generic | float | complex):
            return y
        return array(y, aux)

    pytree.register(cls, flatten, unflatten)


def type_of_array(x: Any, dtype: Any) -> ArrayType:
    """Return the type of another library's array, whose dtype is this one in NumPy."""
    found = np.dtype(dtype)
    if found.kind not in "biufc":
        raise InputError(
            f"an array of {found} was given at {user_location()}, which NumPy does not compute "
            "with. Convert it to float32."
        )
    return ArrayType(tuple(x.shape), found)


# ---- functions of other libraries as operations here ---------------------------------------------

_RECENT: Final = 64
"""How many kinds of arguments a function is known for."""


class Used:
    """A function of another library's arrays, as one of NumPy's; made by `use`."""

    def __init__(
        self, g: Callable[..., Any], home: Calculus, result: Callable[..., Any] | None = None
    ) -> None:
        update_wrapper(self, g)
        self._function, self._home, self._result = g, home, result
        self._calls: dict[Any, Call] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in NumPy's arrays, or traced."""
        xs, parts = take_apart((args, kwargs), _is_array)
        kind, name = (parts.structure, parts.flags), name_of(self._function)
        key, call = look_up_call(self._calls, kind, tuple(parts.others), name)
        if call is None:
            if len(self._calls) >= _RECENT:
                self._calls.clear()
            call = self._calls[key] = Call(self._function, parts, self._home, self._result)
        xs, operation = [self._cast(x) for x in xs], call.operation
        if any_traced(xs):
            tracers = as_tracers(xs)
            try:
                operation.types(tuple(x.type for x in tracers))
            except ConcreteValueError as error:  # it decides by values, which an eager trace has
                try:
                    values = [np.asarray(concrete_value(x)) for x in tracers]
                except ConcreteValueError:
                    raise error from None
                operation.run(*values)
            return call.rebuild(call_bridged(operation, name, tracers))
        return call.rebuild([y[()] for y in operation.run(*map(np.asarray, xs))])

    def _cast(self, x: Any) -> Any:
        """Return an array in a dtype of the library's."""
        dtype = self._home.dtype(x.dtype)
        return x if dtype == x.dtype else x.astype(dtype)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, Tracer | np.ndarray | np.generic)
