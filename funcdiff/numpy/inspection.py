"""NumPy functions whose results follow from shapes and dtypes alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements


def _blank(value: Any) -> Any:
    """Return an array of the shape and dtype of a traced one; it takes no memory of its own."""
    if not isinstance(value, Tracer):
        return value
    return np.broadcast_to(np.zeros((), value.dtype), value.shape)


def _asks_for_types(function: Callable[..., Any]) -> None:
    @implements(function)
    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        blanks = {name: _blank(value) for name, value in kwargs.items()}
        return function(*map(_blank, args), **blanks)


for _function in (
    np.common_type,
    np.diag_indices_from,
    np.result_type,
    np.tril_indices_from,
    np.triu_indices_from,
):
    _asks_for_types(_function)


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether a cast between dtypes is allowed by a rule."""
    source, target = (x.dtype if isinstance(x, Tracer) else x for x in (from_, to))
    return bool(np.can_cast(source, target, casting))
