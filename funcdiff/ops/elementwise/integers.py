"""Checked integer arithmetic: unbounded integers, with an error where 64 bits overflow.

``exact_add``, ``exact_mul`` and the others are operators of integers without a derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.ops.families import Elementwise, elementwise

_BITS: Final = 63


def _exact(operation: Callable[..., Any], count: int) -> Elementwise:
    """Declare an operator of so many integers by that of Python's."""
    checked = partial(_checked, operation)
    name = operation.__name__.strip("_")
    return elementwise(f"exact_{name}", checked, *(None for _ in range(count)))


def _checked(operation: Callable[..., Any], *xs: Any) -> Any:
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
