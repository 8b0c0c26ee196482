"""Converts arguments of network functions: arrays, traced or not, floating and of one dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import array as traced_array
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import array as array_of
from funcdiff.numpy.messages.foreign import describe_class, lost_by_tracing
from funcdiff.ops.structure.structural import convert

P = ParamSpec("P")
Float = TypeVar("Float", bound=np.floating[Any])

Countable = NDArray[np.integer[Any]] | NDArray[np.bool_]
"""Arrays whose numbers become float64."""


def operand(value: Any, name: str, parameter: str = "x") -> Any:
    """Return an array-like as an array, traced or not; lists of traced numbers are joined.

    Raises `TypeError`, with function and parameter, if it holds no numbers, or is masked or a
    matrix.
    """
    if is_traced(value):
        return traced_array(array_of(value) if isinstance(value, list | tuple) else value)
    lost = lost_by_tracing(value)
    if lost:
        raise TypeError(
            f"{name}: {parameter} is {describe_class(value)}, at {user_location()}: {lost}."
        )
    x = np.asarray(value)
    if x.dtype.kind not in "biufc":
        raise TypeError(
            f"{name}: {parameter} has dtype {x.dtype}, but must hold numbers, at {user_location()}"
        )
    return x


def floating(value: Any, name: str, *, complex_too: bool = False) -> Any:
    """Return an array-like as a floating array: integers and booleans become float64.

    Raises `TypeError` if it is complex and may not be.
    """
    x = operand(value, name)
    if x.dtype.kind == "c" and not complex_too:
        raise TypeError(
            f"{name} is a function of real numbers, but x has dtype {x.dtype}, at "
            f"{user_location()}. Apply it to x.real and x.imag, or to np.absolute(x)."
        )
    return x if x.dtype.kind in "fc" else cast(x, np.dtype(FLOAT))


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array of another dtype."""
    return convert(x, dtype) if isinstance(x, Tracer) else x.astype(dtype, copy=False)


def apply_op(op: Any, x: Any) -> Any:
    """Return an elementwise operation of an array: recorded if that is traced."""
    return op(x) if isinstance(x, Tracer) else op.ufunc(x)


def in_single(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a function, to half precision in single precision, with one rounding at the end."""
    if x.dtype != np.float16:
        return function(x)
    return cast(function(cast(x, np.dtype(np.float32))), x.dtype)


class OfFloats(Protocol[P]):
    """A real function that keeps floating dtypes; integers become float64."""

    __name__: str

    @overload
    def __call__(self, x: NDArray[Float], *args: P.args, **kwargs: P.kwargs) -> NDArray[Float]: ...
    @overload
    def __call__(self, x: Float, *args: P.args, **kwargs: P.kwargs) -> Float: ...
    @overload
    def __call__(self, x: float, *args: P.args, **kwargs: P.kwargs) -> np.float64: ...
    @overload
    def __call__(
        self, x: Countable | Sequence[float], *args: P.args, **kwargs: P.kwargs
    ) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, x: ArrayLike, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def of_floats(function: Callable[Concatenate[Any, P], Any]) -> OfFloats[P]:
    """Show a function to checkers as `OfFloats`; it is the function that it was."""
    shown: Any = public(function)
    return shown  # type: ignore[no-any-return]


def elementwise(function: Callable[[Any], Any]) -> OfFloats[[]]:
    """Let a function of a floating array take all that `OfFloats` says."""

    @wraps(function)
    def wrapper(x: Any) -> Any:
        return function(floating(x, f"nn.{function.__name__}"))

    return of_floats(wrapper)
