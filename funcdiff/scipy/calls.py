"""SciPy's Python functions for traced arrays: under its names, and SciPy's own for others."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from funcdiff.core.types import FLOAT
from funcdiff.numpy.construction import array as array_of
from funcdiff.numpy.construction import is_traced
from funcdiff.numpy.promotion import Traced, array
from funcdiff.ops.special.family import scipy_function
from funcdiff.ops.structural import convert

F = TypeVar("F", bound=Callable[..., Any])


def for_traced(function: F) -> F:
    """Let the function of that name in ``scipy.special`` answer where nothing is traced.

    Lists of traced numbers are joined to arrays.
    """

    @wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        if not is_traced([*args, *kwargs.values()]):
            return scipy_function(function.__name__)(*args, **kwargs)
        joined = {name: _joined(value) for name, value in kwargs.items()}
        return function(*map(_joined, args), **joined)

    return cast(F, chosen)


def _joined(value: Any) -> Any:
    return array_of(value) if isinstance(value, list | tuple) and is_traced(value) else value


def widened(x: Any) -> Traced:
    """Return an array-like as SciPy's ufuncs take it: half precision becomes single."""
    x = floating(x)
    return convert(x, np.dtype(np.float32)) if x.dtype == np.float16 else x


def floating(x: Any) -> Traced:
    """Return an array-like as a traced floating or complex array."""
    x = array(x)
    return x if x.type.differentiable else convert(x, np.dtype(FLOAT))
