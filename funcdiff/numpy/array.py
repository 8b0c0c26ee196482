"""The traced array: what stands for an ndarray while a function is being traced.

It has ndarray's operators and methods; NumPy's own protocols send every function of NumPy here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from funcdiff.core.builder import Builder, current_builder
from funcdiff.errors import LostDerivativeError, user_location
from funcdiff.numpy import (
    assignment,
    dispatch,
    flat,
    indexing,
    mutation,
    ufunc_methods,
    ufuncs,
)
from funcdiff.numpy.conversions import Convertible
from funcdiff.numpy.mistakes import attribute_cure
from funcdiff.numpy.values import constant_value
from funcdiff.numpy.wrong_calls import explain
from funcdiff.ops.structural import convert


def _binary(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """Return an operator.  This is the hot path of tracing: see `Builder.direct`."""

    def operator(self: Array, other: Any) -> Any:
        builder = self.builder
        if builder is not None and builder is current_builder():
            kind = type(other)
            if kind is Array:
                if other.builder is builder:
                    op = builder.direct.get((ufunc, self.type, other.type))
                    if op is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, self.atom, other.atom))
                        return Array(builder, number, op.result)
            elif kind is float or kind is int:
                op = builder.direct.get((ufunc, self.type, kind, True))
                if op is not None:
                    value = builder.numbers.get((other, self.type))
                    if value is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, self.atom, value))
                        return Array(builder, number, op.result)
        if _unknown(other):
            return NotImplemented
        return ufuncs.apply(ufunc, self, other)

    return operator


def _reflected(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any) -> Any:
        builder = self.builder
        if builder is not None and builder is current_builder():
            kind = type(other)
            if kind is float or kind is int:
                op = builder.direct.get((ufunc, self.type, kind, False))
                if op is not None:
                    value = builder.numbers.get((other, self.type))
                    if value is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, value, self.atom))
                        return Array(builder, number, op.result)
        if _unknown(other):
            return NotImplemented
        return ufuncs.apply(ufunc, other, self)

    return operator


def _unknown(other: Any) -> bool:
    """Whether an operand that overrides NumPy in a way of its own is to be asked first."""
    return getattr(other, "__array_ufunc__", ufuncs) is None


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any) -> Any:
        return mutation.update(self, ufunc, other)

    return operator


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def operator(self: Array) -> Any:
        return ufuncs.apply(ufunc, self)

    return operator


def _method(function: Any) -> Any:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``np.{function.__name__}``."
    return method


def _conjugated(x: Any, **keywords: Any) -> Any:
    """Return the conjugate; a real array itself, as the method of an ndarray does."""
    return x if not keywords and x.dtype.kind != "c" else np.conjugate(x, **keywords)


class Array(Convertible):
    """A traced array."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: a traced array cannot be a key of a dict, a member of a set or an "
            f"argument of a cached function, as at {user_location()}. Its value is known for this "
            "call only: use a key that is not traced, or leave the cache out."
        )

    # ---- NumPy's protocols -----------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs or method != "__call__":
            return ufunc_methods.call_method(ufunc, method, inputs, kwargs)
        builder = self.builder
        if len(inputs) == 1 and builder is not None and builder is current_builder():
            op = builder.direct.get((ufunc, self.type))
            if op is not None:
                entries = builder.entries
                number = len(entries)
                entries.append((op, self.atom))
                return Array(builder, number, op.result)
        return ufuncs.apply(ufunc, *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return dispatch.call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = constant_value(self, "np.asarray(x), or a function that NumPy cannot dispatch,")
        return np.array(value, dtype)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return np

    # ---- attributes ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.type.shape

    @shape.setter
    def shape(self, value: Any) -> NoReturn:
        mutation.cannot_be_set("shape", "x.reshape(value)")

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self.type.dtype

    @dtype.setter
    def dtype(self, value: Any) -> NoReturn:
        mutation.cannot_be_set("dtype", "x.astype(value)")

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.type.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.type.size * self.type.dtype.itemsize

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The stack of matrices, each transposed."""
        return np.matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return np.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        assignment.put_part(self, np.real, value)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return np.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        assignment.put_part(self, np.imag, value)

    @property
    def flat(self) -> flat.Flat:
        """The elements in C order."""
        return flat.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        flat.write(self, slice(None), value)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            # code that asks which protocols there are needs no place
            where = "" if name.startswith("_") else f", at {user_location()}"
            raise AttributeError(
                f"a traced array, like an ndarray, has no attribute {name!r}{where}"
                f"{attribute_cure(name)}"
            )
        raise dispatch.unsupported(f"ndarray.{name}")

    # ---- sequences -------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError(
                f"a 0-d array has no len(), at {user_location()}. Use np.size(x), or "
                "np.atleast_1d(x)."
            )
        return self.type.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.type.shape:
            raise TypeError(
                f"a 0-d array cannot be iterated over, at {user_location()}. Use np.atleast_1d(x)."
            )
        return (self[k] for k in range(self.type.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        return indexing.take(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        assignment.put(self, index, value)

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self == item))

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

    # ---- operators -------------------------------------------------------------------------

    __add__, __radd__, __iadd__ = _binary(np.add), _reflected(np.add), _in_place(np.add)
    __sub__, __rsub__ = _binary(np.subtract), _reflected(np.subtract)
    __isub__ = _in_place(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply), _reflected(np.multiply)
    __imul__ = _in_place(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.divide), _reflected(np.divide)
    __itruediv__ = _in_place(np.divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder), _reflected(np.remainder)
    __imod__ = _in_place(np.remainder)
    __divmod__, __rdivmod__ = _binary(np.divmod), _reflected(np.divmod)
    __matmul__, __rmatmul__ = _binary(np.matmul), _reflected(np.matmul)
    __imatmul__ = _in_place(np.matmul)
    __and__, __rand__ = _binary(np.bitwise_and), _reflected(np.bitwise_and)
    __iand__ = _in_place(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or), _reflected(np.bitwise_or)
    __ior__ = _in_place(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor), _reflected(np.bitwise_xor)
    __ixor__ = _in_place(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift), _reflected(np.left_shift)
    __ilshift__ = _in_place(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift), _reflected(np.right_shift)
    __irshift__ = _in_place(np.right_shift)
    __lt__, __le__ = _binary(np.less), _binary(np.less_equal)
    __gt__, __ge__ = _binary(np.greater), _binary(np.greater_equal)
    __eq__, __ne__ = _binary(np.equal), _binary(np.not_equal)
    __neg__, __pos__ = _unary(np.negative), _unary(np.positive)
    __abs__, __invert__ = _unary(np.absolute), _unary(np.invert)
    __rpow__ = _reflected(np.power)

    def __pow__(self, exponent: Any) -> Any:
        return ufuncs.power_operator(self, exponent)

    def __ipow__(self, exponent: Any) -> Any:
        return mutation.update(self, np.power, exponent)

    # ---- methods ---------------------------------------------------------------------------

    all, any, argmax, argmin = map(_method, (np.all, np.any, np.argmax, np.argmin))
    argpartition, argsort = map(_method, (np.argpartition, np.argsort))
    choose, put = map(_method, (np.choose, np.put))
    conj = conjugate = _conjugated
    cumprod, cumsum, diagonal, dot = map(_method, (np.cumprod, np.cumsum, np.diagonal, np.dot))
    max, mean, min, prod = map(_method, (np.max, np.mean, np.min, np.prod))
    nonzero, ravel, repeat, round = map(_method, (np.nonzero, np.ravel, np.repeat, np.round))
    searchsorted, squeeze, std, sum = map(_method, (np.searchsorted, np.squeeze, np.std, np.sum))
    swapaxes, take, trace, var = map(_method, (np.swapaxes, np.take, np.trace, np.var))

    def astype(
        self,
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
        if copy or target != self.dtype:
            return mutation.copied(convert(self, target), order)
        return mutation.required(self, order)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
        """Do what ``np.clip`` does; either bound may be left out."""
        return np.clip(self, min, max, out, **keywords)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Do what ``np.compress`` does."""
        return np.compress(condition, self, axis, out)

    def copy(self, order: Any = "C") -> Any:
        """Return a copy, laid out in memory in the given order."""
        return np.copy(self, order)

    def flatten(self, order: Any = "C") -> Any:
        """Return a copy collapsed to one axis."""
        return np.copy(np.ravel(self, order))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """Do what ``np.reshape`` does; the shape may be given as several ints."""
        target = shape[0] if len(shape) == 1 else shape
        wanted = {} if copy is None else {"copy": copy}  # a keyword of NumPy 2.1
        return np.reshape(self, target, order, **wanted)

    def transpose(self, *axes: Any) -> Any:
        """Do what ``np.transpose`` does; the axes may be given as several ints."""
        order = (axes[0] if len(axes) == 1 else axes) if axes else None
        return np.transpose(self, order)

    def fill(self, value: Any) -> None:
        """Set every element to a value, in place."""
        assignment.put(self, ..., value)

    def sort(self, axis: Any = -1, kind: Any = None, order: Any = None, **keywords: Any) -> None:
        """Sort in place along an axis."""
        result: Any = np.sort(self, axis, kind, order, **keywords)
        mutation.assign(self, result)

    def partition(
        self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        """Put the kth smallest elements where they belong along an axis, in place."""
        result: Any = np.partition(self, kth, axis, kind, order)
        mutation.assign(self, result)


Builder.handle = Array
