"""The methods that traced arrays and scalars have of ndarray, most of them functions of NumPy."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from funcdiff.errors import LostDerivativeError, user_location
from funcdiff.numpy.border.conversions import Convertible
from funcdiff.numpy.border.dispatch import refuse
from funcdiff.numpy.border.promotion import program_dtype
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.from_values import on_cpu
from funcdiff.numpy.messages.wrong_calls import explain
from funcdiff.ops.structure.structural import convert

_FLAGS: Final = np.frombuffer(bytes(8)).flags


def _method(function: Any) -> Any:
    def method(self: Methods, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``np.{function.__name__}``."
    return method


def _conjugate(x: Any, *out: Any, **keywords: Any) -> Any:
    """Return the conjugate; a real array itself, as the method of an ndarray does."""
    is_itself = not out and not keywords and x.dtype.kind != "c"
    return x if is_itself else np.conjugate(x, *out, **keywords)


class Methods(Convertible):
    """What traced arrays and scalars have of ndarray's methods."""

    __slots__ = ()

    @property
    def device(self) -> str:
        """Where the array is: NumPy has one device."""
        return "cpu"

    @property
    def flags(self) -> Any:
        """What NumPy says of memory that may not be written to: a traced array has none."""
        return _FLAGS

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """Return the array, which is on the only device."""
        on_cpu("ndarray.to_device", device)
        if stream is not None:
            refuse("ndarray.to_device", stream=stream)
        return self

    all, any, argmax, argmin = map(_method, (np.all, np.any, np.argmax, np.argmin))
    argpartition, argsort = map(_method, (np.argpartition, np.argsort))
    put = _method(np.put)
    conj = conjugate = _conjugate
    cumprod, cumsum, diagonal, dot = map(_method, (np.cumprod, np.cumsum, np.diagonal, np.dot))
    max, mean, min, prod = map(_method, (np.max, np.mean, np.min, np.prod))
    nonzero, ravel, repeat, round = map(_method, (np.nonzero, np.ravel, np.repeat, np.round))
    searchsorted, squeeze, std, sum = map(_method, (np.searchsorted, np.squeeze, np.std, np.sum))
    swapaxes, take, trace, var = map(_method, (np.swapaxes, np.take, np.trace, np.var))

    def astype(
        self: Any,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Convert to another dtype."""
        try:
            target = np.dtype(dtype)
        except TypeError as error:
            explain(error, "x.astype", (dtype,))
            raise
        if not np.can_cast(self.type.dtype, target, casting):
            raise TypeError(
                f"Cannot cast array data from {self.type.dtype!r} to {target!r} according to the "
                f"rule {casting!r}, at {user_location()}"
            )
        target = program_dtype(target)
        is_array = isinstance(self, np.ndarray)
        if not is_array:
            return convert(self, target)
        if copy or target != self.dtype:
            return views.copy_in_order(views.as_array(convert(self, target)), order)
        return views.make_in_order(self, lambda b: b.astype(target, order, copy=False), order)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
        """Do what ``np.clip`` does; either bound may be left out."""
        return np.clip(self, min, max, out, **keywords)

    def choose(self: Any, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        """Do what ``np.choose`` does; the choices may be given as several arrays."""
        return np.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Do what ``np.compress`` does."""
        return np.compress(condition, self, axis, out)

    def copy(self: Any, order: Any = "C") -> Any:
        """Return a copy, laid out in memory in the given order."""
        return np.copy(self, order)

    def flatten(self: Any, order: Any = "C") -> Any:
        """Return a copy collapsed to one axis."""
        return np.copy(np.ravel(self, order))

    def reshape(self: Any, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """Do what ``np.reshape`` does; the shape may be given as several ints."""
        target = shape[0] if len(shape) == 1 else shape
        wanted = {} if copy is None else {"copy": copy}  # a keyword of NumPy 2.1
        return np.reshape(self, target, order, **wanted)

    def transpose(self: Any, *axes: Any) -> Any:
        """Do what ``np.transpose`` does; the axes may be given as several ints."""
        order = (axes[0] if len(axes) == 1 else axes) if axes else None
        return np.transpose(self, order)

    def fill(self: Any, value: Any) -> None:
        """Set every element to a value, in place."""
        assignment.put(self, ..., value)

    def sort(
        self: Any, axis: Any = -1, kind: Any = None, order: Any = None, **keywords: Any
    ) -> None:
        """Sort in place along an axis."""
        result: Any = np.sort(self, axis, kind, order, **keywords)
        mutation.assign(self, result)

    def partition(
        self: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        """Put the kth smallest elements where they belong along an axis, in place."""
        result: Any = np.partition(self, kth, axis, kind, order)
        mutation.assign(self, result)

    # ---- copies ----------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise LostDerivativeError(
            f"a traced array was pickled at {user_location()}. Pickle the result of the derivative "
            "instead; a traced array lives only while its function is being traced."
        )
