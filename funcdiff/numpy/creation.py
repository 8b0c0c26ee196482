"""New arrays: like another, put together from elements, or filled with a value.

What NumPy cannot dispatch (`array`, `asarray`, `full`) is here for `funcdiff.numpy`: with no
traced argument these functions are NumPy's own.
"""

from __future__ import annotations

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
    return constant(0, _like(a, dtype, shape))


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
    return constant(1, _like(a, dtype, shape))


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


# ---- put together from elements ----------------------------------------------------------------


def array(object: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Return an array of nested lists, whose elements may be traced.

    Parameters
    ----------
    object
        Anything array-like, or lists and tuples of traced and other numbers and arrays of one
        shape, nested to any depth.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.
    **keywords
        Those of `numpy.array` (`copy`, `order`, `subok`, `ndmin`).  Of a traced array, `order`
        and `subok` make no difference and `copy=False` is refused.

    Returns
    -------
    array
        A new array; NumPy's own if nothing in `object` is traced.

    Raises
    ------
    ValueError
        If the elements differ in shape.

    Examples
    --------
    >>> import funcdiff as fd
    >>> import funcdiff.numpy as fnp
    >>> print(fd.grad(lambda x: fnp.array([x, 2 * x, 1.0]) @ fnp.array([1.0, 10.0, 5.0]))(3.0))
    21.0
    """
    if not is_traced(object):
        return np.array(object, dtype, **keywords)
    ndmin = keywords.get("ndmin", 0)
    if keywords.get("copy", True) is False:
        raise unsupported("funcdiff.numpy.array(copy=False)", "Leave copy out.")
    x = _nested(object)
    x = x if dtype is None else ops.convert(x, np.dtype(dtype))
    return mutation.fresh(ops.reshape(x, (*(1,) * (ndmin - x.ndim), *x.shape)))


def asarray(a: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Return the argument as an array: a traced array itself, unless its dtype changes.

    Parameters
    ----------
    a
        Anything that `array` takes.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.
    **keywords
        Those of `numpy.asarray`.

    Returns
    -------
    array
        NumPy's own if nothing in `a` is traced.
    """
    if not is_traced(a):
        return np.asarray(a, dtype, **keywords)
    if isinstance(a, Tracer) and dtype in (None, a.dtype) and not keywords.get("copy"):
        return a
    return array(a, dtype, **keywords)


def is_traced(value: Any) -> bool:
    """Return whether a value is a traced array, or holds one in nested lists or tuples."""
    if isinstance(value, list | tuple):
        return any(map(is_traced, value))
    return isinstance(value, Tracer)


def _nested(value: Any) -> Tracer:
    """Return nested lists as an array; where they hold no tracer, NumPy makes it."""
    if not is_traced(value):
        return as_array(value)
    if isinstance(value, Tracer):
        return value
    rows = promoted(*map(_nested, value))
    if len({row.shape for row in rows}) != 1:
        shapes = ", ".join(str(row.shape) for row in rows)
        raise ValueError(
            f"the elements of an array must have one shape, got {shapes}, at {user_location()}"
        )
    return joining.stack(rows)


# ---- filled ------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Return an array filled with a value, which may be traced.

    Parameters
    ----------
    shape
        An int or a tuple of ints.
    fill_value
        A number, or an array that broadcasts to the shape.
    dtype
        Dtype of the result; by default that of the value.
    **keywords
        Those of `numpy.full`.

    Returns
    -------
    array
        NumPy's own if the value is not traced.
    """
    if not is_traced(fill_value):
        return np.full(shape, fill_value, dtype, **keywords)
    value = array(fill_value, dtype)
    return full_like(value, value, shape=shape)
