"""Elementwise operations without a derivative: comparisons, logic, bits, checked integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
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


# ---- Checked integer arithmetic: unbounded integers, with an error where 64 bits overflow --------
#
# ``exact_add``, ``exact_mul`` and the others are operators of integers without a derivative.


_BITS: Final = 63


def _exact(operation: Callable[..., Any], count: int) -> Elementwise:
    """Declare an operator of so many integers by that of Python's."""
    checked = partial(_apply_exactly, operation)
    name = operation.__name__.strip("_")
    return elementwise(f"exact_{name}", checked, *(None for _ in range(count)))


def _apply_exactly(operation: Callable[..., Any], *xs: Any) -> Any:
    """Return what an operator of Python's makes of integers."""
    if not np.ndim(xs[0]):
        return np.int64(_within(operation, *map(int, xs)))
    results = [_within(operation, *numbers) for numbers in zip(*(x.flat for x in xs), strict=True)]
    return np.array(results, np.int64).reshape(xs[0].shape)


def _within(operation: Callable[..., Any], *numbers: Any) -> int:
    """Return the result for numbers; raise if it is no integer of 64 bits."""
    numbers = tuple(map(int, numbers))
    is_power = operation is operator.pow
    if is_power and numbers[1] < 0:
        raise ValueError(
            f"{numbers[0]} ** {numbers[1]} is no integer, but it was traced where no value said so "
            "(in a scan, or for examples that differ). Make the base a float."
        )
    if not (is_power and abs(numbers[0]) > 1 and numbers[1] > _BITS):
        result: int = operation(*numbers)
        if -(2**_BITS) <= result < 2**_BITS:
            return result
    shown = ", ".join(map(str, numbers))
    raise OverflowError(
        f"operator.{operation.__name__}({shown}) is beyond the 64 bits that a traced Python "
        "integer has. Make it a float; under jit, an argument that is named in static_argnames "
        "stays a Python integer."
    )


exact_add: Final = _exact(operator.add, 2)
exact_subtract: Final = _exact(operator.sub, 2)
exact_multiply: Final = _exact(operator.mul, 2)
exact_power: Final = _exact(operator.pow, 2)
exact_negative: Final = _exact(operator.neg, 1)
exact_absolute: Final = _exact(operator.abs, 1)
