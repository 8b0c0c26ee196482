"""Conversions of traced arrays to truth values, numbers, integers and text.

Where a derivative would be lost, or there is no value, these raise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.decisions import decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, calling_frame, user_location
from funcdiff.numpy.border.failures import fail_traces, is_shown
from funcdiff.numpy.border.promotion import as_number, fit
from funcdiff.numpy.border.values import (
    concrete_value,
    constant_value,
    has_value,
    index_value,
    is_constant,
    truth,
    value_for,
    value_or_decision,
    without_value,
)
from funcdiff.ops.elementwise.logic import (
    exact_decimals,
    exact_integer,
    exact_round,
    isfinite,
    isnan,
)
from funcdiff.ops.structure.structural import convert

# ---- Rounding of traced numbers to Python integers: `round`, `math.floor`, `ceil`, `trunc` -------
#
# The result is a traced Python integer.  It is constant almost everywhere, so no derivative is lost
# on the way; where the trace has values, it may be an index or the length of a ``range``.


_LIMIT: Final = 2.0**63
"""The first float that is no integer of 64 bits."""


def integer(x: Tracer, rounded: Callable[[Any], Any], name: str) -> Any:
    """Return a traced number of shape ``()``, rounded as NumPy does, as an integer of 64 bits.

    Raises `TypeError` if it is no real scalar, and where there are values, `ValueError` of NaN and
    `OverflowError` of infinities; messages call the function `name`.
    """
    _refuse_others(x, rounded, name)
    if x.type.dtype.kind not in "fu":
        return as_number(convert(x, INT))
    y = exact_integer(rounded(x) if x.type.dtype.kind == "f" else x)
    with suppress(ConcreteValueError):
        concrete_value(y)
    return as_number(y)


def to_int(x: Tracer) -> int:
    """Return what ``int(x)`` is of a number that has no derivative to lose, such as a floor.

    Where there is no value, it is decided by the integer, as by an index.
    """
    if x.type.dtype.kind == "f" and not x.type.shape and is_constant(x) and not has_value(x):
        fits = decided(x, _fits)
        found = decided(x, lambda x: convert(x, INT)) if fits else None
        if found is not None:
            return found
        if fits == 0:
            raise _unfit(x)
    return int(constant_value(x, "int(x)", int))


def _fits(x: Any) -> Any:
    """Record whether a number is an integer of 64 bits once it is rounded; NaN is none."""
    y: Any = convert(x, FLOAT)
    return abs(y) < _LIMIT


def _unfit(x: Tracer) -> Exception:
    """Return Python's error for NaN and infinities, and else ours, which nobody is to catch."""
    if decided(x, isnan):
        return ValueError(f"cannot convert float NaN to integer, at {user_location()}")
    error = OverflowError(
        f"cannot convert a float of {_LIMIT:.0e} or more, or an infinity, to an integer of 64 "
        f"bits, at {user_location()}. Compute with the float."
    )
    if decided(x, isfinite):
        fail_traces(x, error)
    return error


def to_decimals(x: Tracer, decimals: int | None) -> Any:
    """Return what Python's ``round(x, decimals)`` is: an integer without decimals."""
    if decimals is None:
        return integer(x, np.round, "round")
    _refuse_others(x, np.round, "round")
    if not x.weak:
        return np.round(x, decimals)  # type: ignore[call-overload]
    x, exact = (x, exact_decimals) if x.type.dtype is FLOAT else (convert(x, INT), exact_round)
    return as_number(exact(x, fit(decimals, ArrayType((), INT))))


def _refuse_others(x: Tracer, rounded: Callable[[Any], Any], name: str) -> None:
    if x.type.shape or x.type.dtype.kind == "c":
        raise TypeError(
            f"{name}(x) takes a real number, not {x.type}, at {user_location()}. Use "
            f"np.{rounded.__name__}(x)."
        )


# --------------------------------------------------------------------------------------------------
# Text of traced values: text of the value where it goes on into the computation, or an error.
#
# `str` and `format` give NumPy's text where the value is known and has no derivative. What has one
# is marked by a tilde, ``~2.500``, which people read and no parser takes: of ``float(f"{x}")`` the
# derivative would be lost without a word. Where there are no values, integers and booleans decide,
# as an index does. All else is its type then, and the trace is refused at its end: the message of
# an error that ends it may have such a text, what it computes may not. `repr` of what can have a
# derivative describes the traced value.


_CURE: Final = (
    "It would be the text of one call, for good. print(repr(x)) shows the type, and what the "
    "function returns has values to be shown. The message of an error that nobody catches may "
    "have text of x."
)


def description(x: Tracer) -> str:
    """Return what `repr` is: of integers and booleans that of the value, else value and type."""
    if x.type.differentiable:
        try:
            return f"traced({np.array2string(np.asarray(concrete_value(x)))}: {x.type})"
        except ConcreteValueError:
            return _type(x)
    if is_shown() or calling_frame() is not sys._getframe(2):  # in messages of ours
        return _type(x)
    return repr(_stood_for(x, value_for(x, "repr(x)", _CURE)))


def format_value(x: Tracer, spec: str) -> str:
    """Return the value of an array as text."""
    try:
        value = concrete_value(x) if is_shown() else value_or_decision(x)
    except ConcreteValueError:
        what = f"the format {spec!r}" if spec else "the text of x, as print(x) shows it,"
        fail_traces(x, without_value(x, what, _CURE))
        return _type(x)
    if is_constant(x):
        return format(_stood_for(x, value), spec)
    if not spec and np.ndim(value):
        return f"~{np.array2string(value, prefix='~')}"
    shown = format(value, spec)
    number = shown.lstrip(" ")
    return f"{'~':>{len(shown) - len(number)}}{number}"


def _type(x: Tracer) -> str:
    return f"traced({x.type})"


def _stood_for(x: Tracer, value: Any) -> Any:
    """Return a value as what NumPy or Python would have in its place: array, scalar or number."""
    if x.weak:
        return value.item()
    return np.asarray(value) if isinstance(x, Builder.array_handle) else value


_OWN_CODE: Final = ("numpy.linalg._linalg", "numpy.linalg.linalg")
"""NumPy's modules whose functions compare numbers that no protocol tells us of."""


class Convertible(Tracer):
    """The methods of a traced array by which Python converts it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        asking = sys._getframe(1)
        if asking.f_globals.get("__name__") in _OWN_CODE:
            name = asking.f_code.co_name.lstrip("_")
            raise UnsupportedNumPyError(
                f"np.linalg.{name} got a traced number beside ordinary arrays, at "
                f"{user_location()}. NumPy's own code runs then, and its shortcuts for some "
                "numbers, such as the orders 1 and 2, lose the derivative. Write import "
                "funcdiff.numpy as np, or make the array a traced one."
            )
        return truth(self)

    def __int__(self) -> int:
        return to_int(self)

    def __index__(self) -> int:
        if self.type.dtype.kind not in "iu" or self.type.shape:
            raise TypeError(
                "only integer scalar arrays can be converted to a scalar index, not "
                f"{self.type}, at {user_location()}. Convert it with .astype(int)."
            )
        return index_value(self)

    def __float__(self) -> float:
        what = "float(x), math.sin(x), or storing x into an ordinary array,"
        return float(constant_value(self, what, float))

    def __complex__(self) -> complex:
        return complex(constant_value(self, "complex(x)", complex))

    def __round__(self, ndigits: int | None = None) -> Any:
        return to_decimals(self, ndigits)

    def __trunc__(self) -> Any:
        return integer(self, np.trunc, "math.trunc")

    def __floor__(self) -> Any:
        return integer(self, np.floor, "math.floor")

    def __ceil__(self) -> Any:
        return integer(self, np.ceil, "math.ceil")

    def item(self: Any, *args: Any) -> Any:
        """Return an element as a Python number, traced if a derivative would be lost otherwise."""
        np.broadcast_to(np.zeros((), self.type.dtype), self.type.shape).item(*args)  # or its error
        if not _stays_traced(self):
            return constant_value(self, "x.item()").item(*args)
        if len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
        element = self[args] if len(args) > 1 else np.ravel(self)[args[0] if args else 0]
        return _as_pythons(element)

    def tolist(self) -> Any:
        """Return nested lists of Python numbers, traced as those of `item`."""
        if not _stays_traced(self):
            return constant_value(self, "x.tolist()").tolist()
        return _to_list(self)

    def __repr__(self) -> str:
        return description(self)

    def __str__(self) -> str:
        return format_value(self, "")

    def __format__(self, spec: str) -> str:
        return format_value(self, spec)


def _stays_traced(x: Tracer) -> bool:
    """Whether numbers of an array have a derivative to lose, or no value."""
    if not x.type.differentiable or not is_constant(x):
        return x.type.differentiable
    try:
        concrete_value(x)
    except ConcreteValueError:
        return True
    return False


def _as_pythons(x: Tracer) -> Any:
    """Return a scalar as the Python number that it would be."""
    return as_number(convert(x, np.dtype(complex) if x.type.dtype.kind == "c" else FLOAT))


def _to_list(x: Any) -> Any:
    return [_to_list(row) for row in x] if x.type.shape else _as_pythons(x)


# ---- what floats have beside it --------------------------------------------------------------


def _integer_ratio(x: Tracer) -> tuple[int, int]:
    ratio: tuple[int, int]
    ratio = constant_value(x, "x.as_integer_ratio(), as in Fraction(x),").item().as_integer_ratio()
    return ratio


def _is_integer(x: Any) -> bool:
    return truth(np.isfinite(x) & np.equal(x, np.floor(x)))


OF_NUMBERS: Final[dict[str, Callable[[Tracer], Any]]] = {
    "as_integer_ratio": _integer_ratio,
    "bit_count": lambda x: index_value(x).bit_count(),
    "bit_length": lambda x: index_value(x).bit_length(),
    "hex": lambda x: float(constant_value(x, "x.hex()")).hex(),
    "is_integer": _is_integer,
}
"""Methods of some classes of numbers, not of all: a traced one has those of its class."""
