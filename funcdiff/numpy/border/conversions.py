"""Conversions of traced arrays to truth values, numbers, integers and text.

Where a derivative would be lost, or there is no value, these raise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border import integers
from funcdiff.numpy.border.promotion import as_number
from funcdiff.numpy.border.text import description, format_value
from funcdiff.numpy.border.values import (
    concrete_value,
    constant_value,
    index_value,
    is_constant,
    truth,
)
from funcdiff.ops.structure.structural import convert

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
        return integers.to_int(self)

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
        return integers.to_decimals(self, ndigits)

    def __trunc__(self) -> Any:
        return integers.integer(self, np.trunc, "math.trunc")

    def __floor__(self) -> Any:
        return integers.integer(self, np.floor, "math.floor")

    def __ceil__(self) -> Any:
        return integers.integer(self, np.ceil, "math.ceil")

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
    ratio = constant_value(x, "x.as_integer_ratio(), as in Fraction(x),").as_integer_ratio()
    return ratio


def _hex(x: Tracer) -> str:
    return float(constant_value(x, "x.hex()")).hex()


def _is_integer(x: Any) -> bool:
    return truth(np.equal(x, np.floor(x)))


OF_NUMBERS: Final[dict[str, Callable[[Tracer], Any]]] = {
    "as_integer_ratio": _integer_ratio,
    "hex": _hex,
    "is_integer": _is_integer,
}
"""Methods of some classes of numbers, not of all: a traced one has those of its class."""
