"""The traced Python number, whose dtype gives way to that of an array, as NEP 50 has it.

What Python's operators make of Python numbers alone is such a number again, a bool where they
compare; what a function of NumPy returns is an array.  The values of floats are NumPy's: ``a / 0``
is an infinity and ``(-8.0) ** (1 / 3)`` is NaN, where Python would raise or return a complex
number.  Integers raise what Python's do.  They have 64 bits, and one that needs more is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import index
from typing import Any, Final, NoReturn

import numpy as np

from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.quiet import errors_are_heard, without_warnings
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border import deferring
from funcdiff.numpy.border.promotion import as_number, fit, is_weak, remember
from funcdiff.numpy.border.values import fact
from funcdiff.numpy.traced.array import Array, innermost
from funcdiff.numpy.ufuncs.ufunc_calls import power_operator
from funcdiff.ops.elementwise.complex import imaginary_part, real_part
from funcdiff.ops.elementwise.logic import (
    exact_absolute,
    exact_add,
    exact_divide,
    exact_float_power,
    exact_floor_divide,
    exact_left_shift,
    exact_multiply,
    exact_negative,
    exact_power,
    exact_remainder,
    exact_right_shift,
    exact_subtract,
)
from funcdiff.ops.structure.structural import convert

_CLASSES: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
"""What traced numbers stand for, by the kind of their dtype."""


_LISTS: Final = (list, tuple, range)
"""Of which numbers of Python's know nothing: it is the list itself that is asked."""


def _cannot_be_set(part: str) -> NoReturn:
    raise AttributeError(
        f"attribute {part!r} of Python numbers is not writable, at {user_location()}. Make a new "
        "number: a.real + 1j * value."
    )


def _is_number(x: Any) -> bool:
    return is_weak(x) or type(x) is bool


def _is_bool(x: Any) -> bool:
    return x.type.dtype is BOOL if isinstance(x, Tracer) else type(x) is bool


def _as_integer(x: Any) -> Any:
    """Return a bool as the integer that it is to Python's arithmetic, another number as it is."""
    if not _is_bool(x):
        return x
    return as_number(convert(x, INT)) if isinstance(x, Tracer) else int(x)


def _as_it_is(x: Any) -> Any:
    return x


def _of_numbers(
    operator: Callable[..., Any],
    operand: Callable[[Any], Any] = _as_integer,
    *,
    exact: Callable[..., Any] | None = None,
    is_reflected: bool = False,
) -> Callable[..., Any]:
    """Return an operator of `Number`: what Python makes of numbers alone is a number again.

    `operand` says what it makes of each of them first, and `exact` is that of integers.  What one
    equation recorded is recorded directly the next time (see `Builder.direct`).
    """

    def number_operator(self: Number, other: Any) -> Any:
        builder = self.builder
        if builder is None or builder is not innermost():
            return anew(self, other)
        kind = type(other)
        if kind is Number:
            key: Any = (operator, self.type, other.type)
            ref = other.atom if other.builder is builder else None
        else:
            key = (operator, self.type, kind)
            is_plain = kind is float or kind is int
            ref = builder.numbers.get((other, self.type)) if is_plain else None
        op = builder.direct.get(key)
        if op is not None and ref is not None:
            entries = builder.entries
            number = len(entries)
            entries.append((op, ref, self.atom) if is_reflected else (op, self.atom, ref))
            return Number(builder, number, op.result)
        result = anew(self, other)
        if ref is not None and isinstance(result, Number):
            operands = (ref, self.atom) if is_reflected else (self.atom, ref)
            _remember(key, result, operands)
        return result

    def anew(self: Number, other: Any) -> Any:
        if isinstance(other, _LISTS):
            return NotImplemented
        if not _is_number(other):
            return operator(self, other)
        a, b = operand(self), operand(other)
        if exact is not None and _is_integer(a) and _is_integer(b):
            return _of_integers(exact, b, a) if is_reflected else _of_integers(exact, a, b)
        # Python's arithmetic knows no floating-point errors
        result = without_warnings(operator, (a, b)) if errors_are_heard() else operator(a, b)
        return result if result is NotImplemented else as_number(result)

    return number_operator


def _remember(key: Any, result: Number, operands: tuple[Any, ...]) -> None:
    """Let it be recorded directly, if the result is that of one equation of these operands."""
    builder, atom = result.builder, result.atom
    if builder is None or builder.policy.shares or not isinstance(atom, int):
        return
    op, *refs = builder.entries[atom]
    is_alone = atom == len(builder.entries) - 1 and tuple(refs) == operands
    if is_alone and not op.may_raise:  # which may have to be found out at once
        remember(key, op)


def _of_integers(exact: Callable[..., Any], *xs: Any) -> Any:
    return as_number(exact(*(fit(x, ArrayType((), INT)) for x in xs)))


def _of_number(
    operator: Callable[..., Any], exact: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return an operator that makes a number of one; of integers, `exact` does."""

    def number_operator(self: Number) -> Any:
        x = _as_integer(self)
        is_exact = exact is not None and _is_integer(x)
        return _of_integers(exact, x) if exact and is_exact else as_number(operator(x))

    return number_operator


def _require_order(x: Any) -> Any:
    if type(x) is complex or (isinstance(x, Tracer) and x.type.dtype.kind == "c"):
        raise TypeError(
            f"complex numbers have no order, at {user_location()}. Compare z.real or abs(z)."
        )
    return x


_comparison: Final = partial(_of_numbers, operand=_as_it_is)
"""A comparison, which takes bools as they are."""
_order: Final = partial(_of_numbers, operand=_require_order)
"""A comparison of which Python has none for complex numbers."""
_reflect: Final = partial(_of_numbers, is_reflected=True)
"""An operator of which the number is the right operand."""


def _of_bits(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that makes a bool of two bools, and else an integer of integers."""
    of_bools, of_integers = _of_numbers(operator, _as_it_is), _of_numbers(operator)

    def number_operator(self: Number, other: Any) -> Any:
        return (of_bools if _is_bool(self) and _is_bool(other) else of_integers)(self, other)

    return number_operator


def _is_negative(exponent: Any) -> bool:
    """Whether an integer is negative, as far as anybody knows; if only a guard does, it decides."""
    with suppress(ConcreteValueError):
        return bool(fact(exponent, lambda n: n < 0))
    return False


def _is_integer(x: Any) -> bool:
    return x.type.dtype.kind == "i" if isinstance(x, Tracer) else type(x) is int


def _power(base: Any, exponent: Any) -> Any:
    """Return a power of numbers: that of an integer by a negative one is a float."""
    base, exponent = _as_integer(base), _as_integer(exponent)
    if _is_integer(base) and _is_integer(exponent):
        exact = exact_float_power if _is_negative(exponent) else exact_power
        return _of_integers(exact, base, exponent)
    if isinstance(base, Tracer):
        return as_number(power_operator(base, exponent))
    return as_number(Array.__rpow__(exponent, base))


class Number(Array):
    """A traced Python number: promotion makes its dtype give way to that of an array.

    One of booleans is a Python bool: an integer to arithmetic, except to ``& | ^`` with another.
    """

    __slots__ = ()
    weak = True
    _claimed = tuple(_CLASSES.values())

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        asked = deferring.asks_for_class() or deferring.is_wrapped()
        return Number if asked else _CLASSES[self.type.dtype.kind]

    def __copy__(self) -> Any:
        return as_number(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return as_number(self)

    __hash__ = Array.__hash__

    __add__ = _of_numbers(Array.__add__, exact=exact_add)
    __radd__ = _reflect(Array.__radd__, exact=exact_add)
    __sub__ = _of_numbers(Array.__sub__, exact=exact_subtract)
    __rsub__ = _reflect(Array.__rsub__, exact=exact_subtract)
    __mul__ = _of_numbers(Array.__mul__, exact=exact_multiply)
    __rmul__ = _reflect(Array.__rmul__, exact=exact_multiply)
    __truediv__ = _of_numbers(Array.__truediv__, exact=exact_divide)
    __rtruediv__ = _reflect(Array.__rtruediv__, exact=exact_divide)
    __floordiv__ = _of_numbers(Array.__floordiv__, exact=exact_floor_divide)
    __rfloordiv__ = _reflect(Array.__rfloordiv__, exact=exact_floor_divide)
    __mod__ = _of_numbers(Array.__mod__, exact=exact_remainder)
    __rmod__ = _reflect(Array.__rmod__, exact=exact_remainder)
    __and__, __rand__ = map(_of_bits, (Array.__and__, Array.__rand__))
    __or__, __ror__ = map(_of_bits, (Array.__or__, Array.__ror__))
    __xor__, __rxor__ = map(_of_bits, (Array.__xor__, Array.__rxor__))
    __lshift__ = _of_numbers(Array.__lshift__, exact=exact_left_shift)
    __rlshift__ = _reflect(Array.__rlshift__, exact=exact_left_shift)
    __rshift__ = _of_numbers(Array.__rshift__, exact=exact_right_shift)
    __rrshift__ = _reflect(Array.__rrshift__, exact=exact_right_shift)
    __lt__, __le__ = map(_order, (Array.__lt__, Array.__le__))
    __gt__, __ge__ = map(_order, (Array.__gt__, Array.__ge__))
    __eq__, __ne__ = map(_comparison, (Array.__eq__, Array.__ne__))
    __neg__, __pos__ = _of_number(Array.__neg__, exact_negative), _of_number(Array.__pos__)
    __abs__, __invert__ = _of_number(Array.__abs__, exact_absolute), _of_number(Array.__invert__)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(*map(index, (self, exponent, modulus)))
        if isinstance(exponent, _LISTS):
            return NotImplemented
        return _power(self, exponent) if _is_number(exponent) else Array.__pow__(self, exponent)

    def __rpow__(self, base: Any) -> Any:
        if isinstance(base, _LISTS):
            return NotImplemented
        return _power(base, self) if _is_number(base) else Array.__rpow__(self, base)

    @property
    def real(self) -> Any:
        """The real part, a number."""
        return as_number(real_part(_as_integer(self)))

    @real.setter
    def real(self, value: Any) -> NoReturn:
        _cannot_be_set("real")

    @property
    def imag(self) -> Any:
        """The imaginary part, a number."""
        return as_number(imaginary_part(_as_integer(self)))

    @imag.setter
    def imag(self, value: Any) -> NoReturn:
        _cannot_be_set("imag")

    def conjugate(self, **keywords: Any) -> Any:
        """Return the conjugate, a number."""
        return as_number(np.conjugate(_as_integer(self), **keywords))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


Builder.weak_handle = Number
