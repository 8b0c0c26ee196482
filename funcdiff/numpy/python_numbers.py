"""The traced Python number, whose dtype gives way to that of an array, as NEP 50 has it.

What Python's operators make of Python numbers alone is such a number again; what a function of
NumPy returns is an array.  The values are NumPy's: ``a / 0`` is an infinity and
``(-8.0) ** (1 / 3)`` is NaN, where Python would raise or return a complex number, and integers
have 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.errors import user_location
from funcdiff.numpy.array import Array
from funcdiff.numpy.promotion import is_weak

_CLASSES: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
"""What traced numbers stand for, by the kind of their dtype."""


def _number(x: Any) -> Any:
    return Number(x.builder, x.atom, x.type)


def _cannot_be_set(part: str) -> NoReturn:
    raise AttributeError(
        f"attribute {part!r} of Python numbers is not writable, at {user_location()}. Make a new "
        "number: a.real + 1j * value."
    )


def _of_numbers(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator of `Number`: what Python makes of numbers alone is a number again."""

    def number_operator(self: Number, *others: Any) -> Any:
        result = operator(self, *others)
        if result is NotImplemented or not all(is_weak(x) or type(x) is bool for x in others):
            return result
        return _number(result)

    return number_operator


class Number(Array):
    """A traced Python number: promotion makes its dtype give way to that of an array."""

    __slots__ = ()
    weak = True
    _claimed = tuple(_CLASSES.values())

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return _CLASSES[self.type.dtype.kind]

    def __copy__(self) -> Any:
        return _number(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return _number(self)

    __add__, __radd__ = map(_of_numbers, (Array.__add__, Array.__radd__))
    __sub__, __rsub__ = map(_of_numbers, (Array.__sub__, Array.__rsub__))
    __mul__, __rmul__ = map(_of_numbers, (Array.__mul__, Array.__rmul__))
    __truediv__, __rtruediv__ = map(_of_numbers, (Array.__truediv__, Array.__rtruediv__))
    __floordiv__, __rfloordiv__ = map(_of_numbers, (Array.__floordiv__, Array.__rfloordiv__))
    __mod__, __rmod__ = map(_of_numbers, (Array.__mod__, Array.__rmod__))
    __and__, __rand__ = map(_of_numbers, (Array.__and__, Array.__rand__))
    __or__, __ror__ = map(_of_numbers, (Array.__or__, Array.__ror__))
    __xor__, __rxor__ = map(_of_numbers, (Array.__xor__, Array.__rxor__))
    __lshift__, __rlshift__ = map(_of_numbers, (Array.__lshift__, Array.__rlshift__))
    __rshift__, __rrshift__ = map(_of_numbers, (Array.__rshift__, Array.__rrshift__))
    __neg__, __pos__ = map(_of_numbers, (Array.__neg__, Array.__pos__))
    __abs__, __invert__ = map(_of_numbers, (Array.__abs__, Array.__invert__))
    __rpow__ = _of_numbers(Array.__rpow__)
    _power = _of_numbers(Array.__pow__)

    def __pow__(self, exponent: Any) -> Any:
        inverts = type(exponent) is int and exponent < 0 and self.type.dtype.kind == "i"
        return (self * 1.0 if inverts else self)._power(exponent)

    @property
    def real(self) -> Any:
        """The real part, a number."""
        return _number(np.real(self))

    @real.setter
    def real(self, value: Any) -> NoReturn:
        _cannot_be_set("real")

    @property
    def imag(self) -> Any:
        """The imaginary part, a number."""
        return _number(np.imag(self))

    @imag.setter
    def imag(self, value: Any) -> NoReturn:
        _cannot_be_set("imag")

    def conjugate(self, **keywords: Any) -> Any:
        """Return the conjugate, a number."""
        return _number(np.conjugate(self, **keywords))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


Builder.weak_handle = Number
