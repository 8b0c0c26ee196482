"""Elementwise operations without a derivative: comparisons, logic, bits, checked integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Facts
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT
from funcdiff.ops.families import Elementwise, elementwise

_UNARY: Final = (
    np.isfinite, np.isinf, np.isnan, np.signbit, np.logical_not, np.invert, np.bitwise_count,
)  # fmt: skip
_BINARY: Final = (
    np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift,
    np.gcd, np.lcm,
)  # fmt: skip

operations: Final[dict[str, Elementwise]] = {
    **{f.__name__: elementwise(f.__name__, f, None) for f in _UNARY},
    **{f.__name__: elementwise(f.__name__, f, None, None) for f in _BINARY},
}
"""The operations by their NumPy names."""

equal: Final = operations["equal"]
greater: Final = operations["greater"]
less: Final = operations["less"]
less_equal: Final = operations["less_equal"]
isfinite: Final = operations["isfinite"]
isnan: Final = operations["isnan"]
logical_and: Final = operations["logical_and"]
logical_not: Final = operations["logical_not"]
logical_or: Final = operations["logical_or"]
not_equal: Final = operations["not_equal"]


def same(x: Tracer, y: Tracer) -> Tracer:
    """Return where elements are equal, NaN and NaN, too."""
    return logical_or(equal(x, y), logical_and(isnan(x), isnan(y)))


# ---- Checked integers: Python's values and errors, and another error where 64 bits overflow ------
#
# ``exact_add``, ``exact_mul`` and the others are operators without a derivative.


_BITS: Final = 63
_LIMIT: Final = 2.0**_BITS
"""The first float that is no integer of 64 bits."""


def _exact(
    operation: Callable[..., Any],
    count: int,
    *,
    raises: bool,
    name: str = "",
    dtype: Any = INT,
    plain: Callable[..., Any] | None = None,
    is_plain: Callable[..., Any] | None = None,
) -> Elementwise:
    """Declare an operator of so many numbers by that of Python's.

    `raises` says whether Python's may raise: beyond 64 bits it does not, and nobody is to catch.
    `plain` is NumPy's function of arrays, which does the same where `is_plain` of all elements.
    """

    def apply(*xs: Any) -> Any:
        if plain is not None and is_plain is not None and np.ndim(xs[0]) and is_plain(*xs).all():
            return plain(*xs)
        return _apply_exactly(operation, dtype, *xs)

    return elementwise(
        f"exact_{name or operation.__name__.strip('_')}",
        apply,
        *(None for _ in range(count)),
        dtypes=lambda *_: dtype,
        facts=Facts(raises=raises),
    )


def _apply_exactly(operation: Callable[..., Any], dtype: np.dtype[Any], *xs: Any) -> Any:
    """Return what an operator of Python's makes of numbers."""
    if not np.ndim(xs[0]):
        return dtype.type(_within(operation, dtype, *(x.item() for x in xs)))
    rows = zip(*(x.ravel().tolist() for x in xs), strict=True)
    results = [_within(operation, dtype, *numbers) for numbers in rows]
    return np.array(results, dtype).reshape(xs[0].shape)


def _within(operation: Callable[..., Any], dtype: np.dtype[Any], *numbers: Any) -> Any:
    """Return the result for numbers; raise if it is no integer of 64 bits where it should be."""
    if operation is operator.pow and dtype is INT and numbers[1] < 0:
        raise ValueError(
            f"{numbers[0]} ** {numbers[1]} is no integer, but it was traced where no value said so "
            "(in a scan, or for examples that differ). Make the base a float."
        )
    if not (operation in _LONG and dtype is INT and _LONG[operation](*numbers)):
        result = operation(*numbers)
        if dtype is not INT or -(2**_BITS) <= result < 2**_BITS:
            return result
    shown = ", ".join(map(str, numbers))
    raise OverflowError(
        f"operator.{operation.__name__}({shown}) is beyond the 64 bits that a traced Python "
        "integer has. Make it a float; under jit, an argument that is named in static_argnames "
        "stays a Python integer."
    )


_LONG: Final[dict[Any, Callable[[int, int], bool]]] = {
    operator.pow: lambda x, n: abs(x) > 1 and n > _BITS,
    operator.lshift: lambda x, n: x != 0 and n > _BITS,
}
"""Operators whose results may be too long even to be computed, and of which numbers they are."""

exact_add: Final = _exact(operator.add, 2, raises=False)
exact_subtract: Final = _exact(operator.sub, 2, raises=False)
exact_multiply: Final = _exact(operator.mul, 2, raises=False)
exact_power: Final = _exact(operator.pow, 2, raises=False)
exact_negative: Final = _exact(operator.neg, 1, raises=False)
exact_absolute: Final = _exact(operator.abs, 1, raises=False)
exact_divide: Final = _exact(
    operator.truediv, 2, raises=True, dtype=FLOAT,
    plain=np.divide, is_plain=lambda x, y: (y != 0) & _is_short(x) & _is_short(y),
)  # fmt: skip
exact_floor_divide: Final = _exact(
    operator.floordiv, 2, raises=True,
    plain=np.floor_divide, is_plain=lambda _, y: (y != 0) & (y != -1),
)  # fmt: skip
exact_remainder: Final = _exact(
    operator.mod, 2, raises=True, plain=np.remainder, is_plain=lambda _, y: y != 0
)
exact_left_shift: Final = _exact(operator.lshift, 2, raises=True)
exact_right_shift: Final = _exact(
    operator.rshift, 2, raises=True, plain=np.right_shift, is_plain=lambda _, n: n >= 0
)
exact_float_power: Final = _exact(operator.pow, 2, raises=True, name="float_pow", dtype=FLOAT)
exact_round: Final = _exact(round, 2, raises=False)
exact_decimals: Final = _exact(round, 2, raises=False, name="decimals", dtype=FLOAT)


def _is_short(n: Any) -> Any:
    """Return which integers are floats."""
    return (n <= 2**53) & (n >= -(2**53))


def _to_integers(x: Any) -> Any:
    """Return floats as integers, which int(x) is of whole ones."""
    if type(x) is np.float64:
        return np.int64(x) if -_LIMIT <= x < _LIMIT else _apply_exactly(int, INT, x)
    fits = (x >= -_LIMIT) & (x < _LIMIT)
    return x.astype(INT) if fits.all() else _apply_exactly(int, INT, x)


exact_integer: Final = elementwise(
    "exact_int", _to_integers, None, dtypes=lambda _: INT, facts=Facts(raises=True)
)


def _narrowing(dtype: np.dtype[Any]) -> Elementwise:
    """Declare the conversion of integers to fewer bits, which raises NumPy's error."""
    info = np.iinfo(dtype)

    def narrow(x: Any) -> Any:
        outside = (x < int(info.min)) | (x > int(info.max))
        if outside.any():
            dtype.type(int(np.extract(outside, x)[0]))  # raises
        return x.astype(dtype)

    return elementwise(
        f"exact_{dtype.name}", narrow, None, dtypes=lambda _: dtype, facts=Facts(raises=True)
    )


exact_narrowings: Final = {
    np.dtype(code): _narrowing(np.dtype(code))
    for code in ("i1", "i2", "i4", "u1", "u2", "u4", "u8")
}
"""By dtype, what makes a Python integer one of NumPy's."""
