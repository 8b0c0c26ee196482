"""The traced array and the traced scalar, in place of NumPy's while a function is traced.

They have NumPy's operators and methods, and its protocols send every function of NumPy here.
Asked for their class, they answer with that of the value that they stand for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem
from threading import get_ident
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from funcdiff.core import scope
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.quiet import error_state
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border import calling, deferring, dispatch
from funcdiff.numpy.border.conversions import OF_NUMBERS
from funcdiff.numpy.border.deferring import (
    Stance,
    ask_operands,
    ask_operator,
    overrides,
    stance_of,
)
from funcdiff.numpy.border.failures import attempt
from funcdiff.numpy.border.values import key_value
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory import array_copies, index_expressions, mutation, views
from funcdiff.numpy.messages.mistakes import attribute_cure, is_called_through
from funcdiff.numpy.traced.array_methods import (
    Absent,
    Methods,
    NoMatricesError,
    StandsFor,
    UnsupportedAttributeError,
    namespace_of_traced,
)  # fmt: skip
from funcdiff.numpy.ufuncs import ufunc_calls, ufunc_methods

innermost: Final[Callable[[], Any]] = scope.innermost.get
"""The innermost builder, of type `Any`: a checker takes that of a tracer for another class.

Where every nanosecond counts, whose thread this is, is asked beside it, as `scope.current` does."""
NO_STANCE: Final = Stance.NONE
ITS_VALUES: Final = object()
"""In place of what the other operand gives: its values are taken."""


def _binary(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """Return an operator.  This is the hot path of tracing: see `Builder.direct`."""

    def operator(self: Array, other: Any) -> Any:
        builder = self.builder
        if (
            builder is not None and builder is innermost() and builder.thread == get_ident()
            and builder.state is error_state() and builder.filters is warnings.filters
        ):  # fmt: skip
            kind = type(other)
            if kind is NDArray or kind is Scalar:
                if other.builder is builder:
                    op = builder.direct.get((ufunc, self.type, other.type))
                    if op is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, self.atom, other.atom))
                        return op.handle(builder, number, op.result)
            elif kind is float or kind is int:
                op = builder.direct.get((ufunc, self.type, kind, True))
                if op is not None:
                    value = builder.numbers.get((other, self.type))
                    if value is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, self.atom, value))
                        return op.handle(builder, number, op.result)
        if ufunc is np.multiply and _repeats(self, other):
            return NotImplemented
        stance = stance_of(type(other))
        if stance is not NO_STANCE:
            left = _leave(stance, self, ufunc, (self, other))
            if left is not ITS_VALUES:
                return left
        return ufunc_calls.operate(ufunc, self, other)

    return operator


def _reflect(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any) -> Any:
        builder = self.builder
        if (
            builder is not None and builder is innermost() and builder.thread == get_ident()
            and builder.state is error_state() and builder.filters is warnings.filters
        ):  # fmt: skip
            kind = type(other)
            if kind is float or kind is int:
                op = builder.direct.get((ufunc, self.type, kind, False))
                if op is not None:
                    value = builder.numbers.get((other, self.type))
                    if value is not None:
                        entries = builder.entries
                        number = len(entries)
                        entries.append((op, value, self.atom))
                        return op.handle(builder, number, op.result)
        if ufunc is np.multiply and _repeats(self, other):
            return NotImplemented
        stance = stance_of(type(other))
        if stance is not NO_STANCE:
            left = _leave(stance, self, ufunc, (other, self))
            if left is not ITS_VALUES:
                return left
        return ufunc_calls.apply(ufunc, other, self)

    return operator


def _leave(stance: Stance, x: Array, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Leave an operator to the other operand: to its operator, or its way with ufuncs.

    Returns `ITS_VALUES` if neither is asked, or knows what to do.
    """
    if stance is Stance.SPARSE:
        return deferring.meet(ufunc, operands)
    if stance is Stance.TABLE:
        return deferring.meet_tables(ufunc, "__call__", operands, {})
    if stance is Stance.FOREIGN:
        if operands[0] is not x:  # it was asked before
            return ITS_VALUES
        given = ask_operator(ufunc, x, operands[1], is_array=type(x) is NDArray)
        return ITS_VALUES if given is NotImplemented else given
    if stance is Stance.REFUSES or x.weak:  # to Python's numbers it is not known
        return NotImplemented
    return ask_operands(ufunc, "__call__", operands, {})


def _repeats(count: Array, other: Any) -> bool:
    """Whether ``other * count`` repeats a list or a text, as it would for an integer at least."""
    return type(count) is not NDArray and isinstance(other, list | tuple | str | bytes)


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any) -> Any:
        if overrides((other,)):
            return ask_operands(ufunc, "__call__", (self, other), {"out": (self,)})
        given = ask_operator(ufunc, self, other, is_array=type(self) is NDArray)
        if given is not NotImplemented:
            return given
        return mutation.update(self, ufunc, other)

    return operator


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def operator(self: Array) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self)

    return operator


class Array(Methods, metaclass=StandsFor):
    """What traced arrays, scalars and Python numbers have in common."""

    __slots__ = ()
    __array_priority__ = 1e4  # above that of pandas' tables, which is 1000
    __pandas_priority__ = 1e4
    _stands_for: ClassVar[type[Any]] = object
    _claimed: ClassVar[tuple[type[Any], ...]] = ()

    def __hash__(self) -> int:
        if type(self) is not NDArray and self.type.dtype.kind in "biu":
            return hash(key_value(self))
        raise TypeError(
            f"unhashable type: a traced array cannot be a key of a dict, a member of a set or an "
            f"argument of a cached function, as at {user_location()}. Its value is known for this "
            "call only: use a key that is not traced, or leave the cache out."
        )

    # ---- NumPy's protocols -----------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if len(inputs) > 1 or kwargs:
            out = kwargs.get("out") or ()
            if overrides((*inputs, *out)):
                return ask_operands(ufunc, method, inputs, kwargs)
        if kwargs or method != "__call__":
            return ufunc_methods.call_method(ufunc, method, inputs, kwargs)
        builder = self.builder
        if (
            builder is not None and builder is innermost() and builder.thread == get_ident()
            and builder.state is error_state() and builder.filters is warnings.filters
        ):  # fmt: skip
            op = builder.direct.get((ufunc, self.type)) if len(inputs) == 1 else None
            if op is not None:
                entries = builder.entries
                number = len(entries)
                entries.append((op, self.atom))
                return op.handle(builder, number, op.result)
        return ufunc_calls.apply(ufunc, *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return calling.call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return array_copies.plain_array(self, dtype, copy)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        np.empty(0).__array_namespace__(api_version=api_version)  # raises where NumPy does
        return namespace_of_traced()

    # ---- attributes ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.type.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        mutation.set_shape(self, value)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self.type.dtype

    @dtype.setter
    def dtype(self, value: Any) -> NoReturn:
        assignment.cannot_be_set("dtype", "x.astype(value)")

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
        return self.type.nbytes

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The stack of matrices, each transposed."""
        if len(self.type.shape) < 2:
            raise AttributeError("mT")  # for which __getattr__ has words
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
    def flat(self) -> assignment.Flat:
        """The elements in C order."""
        return assignment.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        assignment.write(self, slice(None), value)

    def __getattr__(self, name: str) -> Any:
        if name in deferring.COLUMN:
            return deferring.column(self, name)
        if name in OF_NUMBERS and hasattr(self.__class__, name):
            return partial(OF_NUMBERS[name], self)
        if name.startswith("_") or not hasattr(np.ndarray, name):
            # code that asks which protocols there are needs no place
            where = "" if name.startswith("_") else f", at {user_location()}"
            if name in array_copies.PROTOCOLS:
                raise AttributeError(
                    f"a traced array has no {name}: it stands for a value without memory. Give "
                    "np.array(x), a copy of the value of an array that has no derivative"
                )
            raise AttributeError(
                f"a traced array, like an ndarray, has no attribute {name!r}{where}"
                f"{attribute_cure(name)}"
            )
        if name == "mT":
            raise NoMatricesError(
                f"mT needs two axes, and the array has {len(self.type.shape)}, at {user_location()}"
            )
        if name == "view" and is_called_through("matrixlib"):
            raise UnsupportedNumPyError(
                f"a matrix met a traced array at {user_location()}: its * is @, which would be "
                "lost. Use np.asarray(x), and write @ for products."
            )
        raise UnsupportedAttributeError(str(dispatch.refusal_error(f"ndarray.{name}")))

    # ---- operators -------------------------------------------------------------------------

    __add__, __radd__ = _binary(np.add), _reflect(np.add)
    __sub__, __rsub__ = _binary(np.subtract), _reflect(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply), _reflect(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.divide), _reflect(np.divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _reflect(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder), _reflect(np.remainder)
    __divmod__, __rdivmod__ = _binary(np.divmod), _reflect(np.divmod)
    __matmul__, __rmatmul__ = _binary(np.matmul), _reflect(np.matmul)
    __and__, __rand__ = _binary(np.bitwise_and), _reflect(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or), _reflect(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor), _reflect(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift), _reflect(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift), _reflect(np.right_shift)
    __lt__, __le__ = _binary(np.less), _binary(np.less_equal)
    __gt__, __ge__ = _binary(np.greater), _binary(np.greater_equal)
    __eq__, __ne__ = _binary(np.equal), _binary(np.not_equal)
    __neg__, __pos__ = _unary(np.negative), _unary(np.positive)
    __abs__, __invert__ = _unary(np.absolute), _unary(np.invert)
    __rpow__ = _reflect(np.power)

    def __pow__(self, exponent: Any) -> Any:
        stance = stance_of(type(exponent))
        if stance is not NO_STANCE:
            left = _leave(stance, self, np.power, (self, exponent))
            if left is not ITS_VALUES:
                return left
        return ufunc_calls.power_operator(self, exponent)


class NDArray(Array):
    """A traced array; without axes, one that NumPy, too, has as an array."""

    __slots__ = ()
    _stands_for = np.ndarray
    _claimed = (np.ndarray,)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return NDArray if deferring.asks_for_class() else np.ndarray

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError(
                f"a 0-d array has no len(), at {user_location()}. Use np.size(x), or "
                "np.atleast_1d(x)."
            )
        return self.type.shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        if not self.type.shape:
            raise TypeError(
                f"a 0-d array cannot be iterated over, at {user_location()}. Use np.atleast_1d(x)."
            )
        return (self[k] for k in range(self.type.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        y = index_expressions.take(self, index)
        calling.note_call(getitem, (self, index), {}, y)
        return y

    def __setitem__(self, index: Any, value: Any) -> None:
        assignment.put(self, index, value)

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self == item))

    __iadd__ = _in_place(np.add)
    __isub__ = _in_place(np.subtract)
    __imul__ = _in_place(np.multiply)
    __itruediv__ = _in_place(np.divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __imod__ = _in_place(np.remainder)
    __imatmul__ = _in_place(np.matmul)
    __iand__ = _in_place(np.bitwise_and)
    __ior__ = _in_place(np.bitwise_or)
    __ixor__ = _in_place(np.bitwise_xor)
    __ilshift__ = _in_place(np.left_shift)
    __irshift__ = _in_place(np.right_shift)

    __ipow__ = _in_place(np.power)


class Scalar(Array):
    """A traced scalar, such as an element of an array, a sum, or what a ufunc makes of both."""

    __slots__ = ()
    _stands_for = np.generic
    _claimed = (np.generic,)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        asked = deferring.asks_for_class() or deferring.is_wrapped()
        return Scalar if asked else self.type.dtype.type

    __len__ = Absent("a 0-d array has no len()", "Use np.size(x), or np.atleast_1d(x).")
    __setitem__ = Absent("a NumPy scalar does not support item assignment", "Write x = value.")

    def __iter__(self) -> NoReturn:  # with `__getitem__` alone, Python would try x[0], x[1], ...
        raise TypeError(
            f"a 0-d array cannot be iterated over, at {user_location()}. Use np.atleast_1d(x)."
        )

    def __getitem__(self, index: Any) -> Any:
        return index_expressions.take(self, index)

    def copy(self, order: Any = "C") -> Any:
        """Return the scalar."""
        return views.fresh(self)


Builder.array_handle, Builder.scalar_handle = NDArray, Scalar
Builder.attempt = staticmethod(attempt)
