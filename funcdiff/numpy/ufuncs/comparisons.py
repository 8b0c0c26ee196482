"""Comparisons of traced values with None, texts, and objects that have a way of their own.

NumPy answers for the value of the traced operand or, where no value matters, for any of its type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import WEAK
from funcdiff.numpy.border.swallowing import remember
from funcdiff.numpy.border.values import concrete_value, is_traced
from funcdiff.numpy.messages.subclasses import lost_by_tracing
from funcdiff.numpy.messages.wrong_calls import explain

OPERATORS: Final[dict[np.ufunc, Callable[[Any, Any], Any]]] = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


def is_comparable(x: Any) -> bool:
    """Return whether an operand holds numbers, traced ones among them, or is refused elsewhere."""
    if isinstance(x, Tracer) or type(x) in WEAK or is_traced(x) or lost_by_tracing(x):
        return True
    dtype = _dtype_of(x)
    return dtype is not None and dtype.newbyteorder("=") in DTYPE_NAMES


def answer(compare: Callable[[Any, Any], Any], *operands: Any, name: str) -> Any:
    """Return what a comparison, an operator or a ufunc, gives for the values of traced operands.

    Raises `ConcreteValueError` if the answer depends on a value and there is none.
    """
    is_of_types = all(isinstance(x, Tracer) or _is_unlike_numbers(x) for x in operands)
    values = [_value(x, is_of_types) if isinstance(x, Tracer) else x for x in operands]
    try:
        return compare(*values)
    except Exception as error:
        explain(error, name, operands)
        raise


def _dtype_of(x: Any) -> np.dtype[Any] | None:
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype
    try:
        return np.asarray(x).dtype
    except Exception:  # whatever an object raises when it is asked for its numbers
        return None


def _is_unlike_numbers(x: Any) -> bool:
    """Whether the answer for a number is the same whichever it is: texts, what knows no numbers."""
    dtype = _dtype_of(x)
    if dtype is None or dtype.kind in "SU":
        return True
    kind: Any = type(x)
    return np.ndim(x) == 0 and all(
        getattr(kind, f"__{compare.__name__}__")(x, 1.0) is NotImplemented
        for compare in OPERATORS.values()
    )


def _value(x: Tracer, any_will_do: bool) -> Any:
    """Return the value of a traced operand, or any of its type, as what it stands for."""
    if any_will_do:
        value: Any = np.zeros(x.type.shape, x.type.dtype)
    else:
        try:
            value = np.asarray(concrete_value(x))
        except ConcreteValueError:
            missing = ConcreteValueError(
                f"a traced value was compared with an object that decides by values, at "
                f"{user_location()}, and there are no values (inside cond, scan, jit or vmap). "
                "Compare with a number, or before the function is traced."
            )
            remember(x, missing)
            raise missing from None
    if x.weak:
        return value.item()
    return value if isinstance(x, np.ndarray) else value[()]
