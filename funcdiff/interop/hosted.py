"""Functions of other libraries as operations here: how `use` of every library calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.arguments import look_up_call
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.calls.transformed import name_of
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.errors import ConcreteValueError
from funcdiff.interop.calls import Call, take_apart
from funcdiff.interop.operation import Calculus
from funcdiff.numpy.border.values import concrete_value
from funcdiff.ops.user.bridged import call_bridged

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
