"""SciPy's Python functions for traced arrays: under its names, and SciPy's own for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import Traced, array, broadcast_shapes, fit, shape_of
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.covered import covers

F = TypeVar("F", bound=Callable[..., Any])


def for_traced(function: F) -> F:
    """Let the function of that name in ``scipy.special`` answer where nothing is traced."""
    return covers("scipy.special")(function)


def whole(x: Any, name: str, what: str) -> Any:
    """Return whole numbers, as SciPy's Python functions take them for orders and branches.

    Raises
    ------
    NotDifferentiableError
        If `x` is a traced array of numbers that are not.
    """
    if isinstance(x, Tracer) and x.type.differentiable:
        raise NotDifferentiableError(
            f"scipy.special.{name} was given a traced {what} of dtype {x.dtype} at "
            f"{user_location()}: it is a whole number. Keep it out of the differentiated "
            "arguments, as an int or an integer array."
        )
    return x if isinstance(x, Tracer) or type(x) is int else np.asarray(x, INT)


def broadcast_to(dtypes: Sequence[Any], *xs: Any) -> list[Tracer]:
    """Return array-likes in their common shape, each in its dtype."""
    shape = broadcast_shapes(*map(shape_of, xs))
    return [fit(x, ArrayType(shape, dtype)) for x, dtype in zip(xs, dtypes, strict=True)]


def widen(x: Any) -> Traced:
    """Return an array-like as SciPy's ufuncs take it: half precision becomes single."""
    x = floating(x)
    return convert(x, np.dtype(np.float32)) if x.dtype == np.float16 else x


def floating(x: Any) -> Traced:
    """Return an array-like as a traced floating or complex array."""
    x = array(x)
    return x if x.type.differentiable else convert(x, np.dtype(FLOAT))
