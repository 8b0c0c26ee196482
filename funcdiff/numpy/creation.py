"""New arrays: like another, filled with a number, evenly spaced, or put together from elements.

What NumPy cannot dispatch (`array`, `full`, `arange`, ...) is here for `funcdiff.numpy`: with no
traced argument these functions are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.types import ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy import joining, mutation, shape
from funcdiff.numpy.dispatch import implements, unsupported
from funcdiff.numpy.promotion import array as as_array
from funcdiff.numpy.promotion import fit, promoted
from funcdiff.ops import structural as ops

# ---- like another array ------------------------------------------------------------------------


def _like(a: Any, dtype: Any, shape_: Any) -> ArrayType:
    x = as_array(a)
    lengths = x.shape if shape_ is None else shape.as_ints(shape_)
    return ArrayType(lengths, x.dtype if dtype is None else np.dtype(dtype))


@implements(np.zeros_like)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tracer:
    """Return zeros of the shape and dtype of an array."""
    return mutation.owned(constant(0, _like(a, dtype, shape)))


@implements(np.ones_like)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tracer:
    """Return ones of the shape and dtype of an array."""
    return mutation.owned(constant(1, _like(a, dtype, shape)))


@implements(np.empty_like)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tracer:
    """Return an array of the shape and dtype of another, which is zero."""
    return zeros_like(prototype, dtype, shape=shape)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tracer:
    """Return an array of the shape and dtype of another, filled with a value."""
    return mutation.fresh(fit(fill_value, _like(a, dtype, shape)))
