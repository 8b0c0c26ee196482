"""Shape functions: the same elements, axes arranged or repeated; and the types of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from operator import index as as_int
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import copy_mode, implements, refusal_error
from funcdiff.numpy.border.promotion import (
    array,
    broadcast_shapes,
    model_of,
    program_dtype,
)
from funcdiff.numpy.border.promotion import broadcast_to as broadcast
from funcdiff.numpy.memory import views
from funcdiff.ops.structure import structural as ops


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front; raises NumPy's AxisError."""
    position = as_int(axis)
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(position, ndim)
    return position % ndim


def with_axis(x: Tracer, axis: Any) -> tuple[Tracer, int]:
    """Return an array and the axis to go along: None flattens, and a number is a vector of one."""
    if axis is None or not x.ndim:
        return ravel(x), normalize_axis(0 if axis is None else axis, 1)
    return x, normalize_axis(axis, x.ndim)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return None, an int or a tuple as ascending axes."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(_distinct_axes(axis, ndim)))


def _distinct_axes(axis: Any, ndim: int) -> list[int]:
    """Return an int or several as axes counted from the front, in the order given."""
    axes = [normalize_axis(a, ndim) for a in as_ints(axis)]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in {axis}")
    return axes


def as_ints(value: Any) -> tuple[int, ...]:
    """Return an int or a sequence of ints as a tuple."""
    return tuple(map(as_int, value)) if np.iterable(value) else (as_int(value),)


# ---- reshape -----------------------------------------------------------------------------------


@implements(np.reshape, operands=1)
def reshape(a: Any, /, shape: Any = None, order: Any = "C", *, copy: bool | None = None) -> Tracer:
    """Return the elements in another shape."""
    x = array(a)
    target = _complete(x.shape, as_ints(shape))
    order = _upper(order)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    # columns first: they are read like that, and the result is filled like that
    if order == "F" or _axes_read(x, order, "np.reshape") != tuple(range(x.ndim)):
        result = _reverse_axes(ops.reshape(_reverse_axes(x), target[::-1]))
    else:
        result = ops.reshape(x, target)
    copy = copy_mode(copy)
    if copy is False:
        model = views.layout(x, settle=True)
        if model is None:
            raise refusal_error("np.reshape(copy=False)", f"{_UNKNOWN_LAYOUT} Leave copy out.")
        np.reshape(model, target, order=order, copy=False)  # raises where there is no view
    if copy:
        return views.fresh(result)
    return views.view(x, result, lambda b: np.reshape(b, target, order=order))


_UNKNOWN_LAYOUT: Final = (
    "How this traced array lies in memory is not known, as it is of copies in a given order, "
    "x.copy() and np.copy(x, 'F'), and of their views."
)


def _upper(order: Any) -> Any:
    return order.upper() if isinstance(order, str) else order


def _axes_read(x: Tracer, order: Any, name: str) -> tuple[int, ...]:
    """Return the axes in the order in which elements are read: along the last one first."""
    axes = tuple(range(x.ndim))
    long = [k for k in axes if x.shape[k] != 1]
    if order is None or order == "C" or (len(long) < 2 and order in ("F", "A", "K")):
        return axes
    if order == "F":
        return axes[::-1]
    if order not in ("A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    model = views.layout(x, settle=True)
    if model is None or (order == "K" and any(model.strides[k] == 0 for k in long)):
        raise refusal_error(
            f"{name}(order={order!r})", f"{_UNKNOWN_LAYOUT} Say order='C' or order='F'."
        )
    if model.flags.c_contiguous:
        return axes
    if order == "A" or model.flags.f_contiguous:
        return axes[::-1] if model.flags.f_contiguous else axes
    return tuple(sorted(axes, key=lambda k: -abs(model.strides[k])))


def _reverse_axes(x: Tracer) -> Tracer:
    return ops.permute(x, tuple(reversed(range(x.ndim))))


def _complete(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Fill in the -1 of a target shape."""
    size = math.prod(shape)
    rest = math.prod(n for n in target if n != -1)
    holes = target.count(-1)
    if holes == 1 and rest and size % rest == 0:
        target = tuple(size // rest if n == -1 else n for n in target)
        rest = size
    if rest != size or holes > 1 or min(target, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {size} into shape {target}")
    return target


@implements(np.ravel, operands=1)
def ravel(a: Any, order: Any = "C") -> Tracer:
    """Return the elements along one axis."""
    x, order = array(a), _upper(order)
    result = ops.reshape(ops.permute(x, _axes_read(x, order, "np.ravel")), (x.type.size,))
    return views.view(x, result, lambda b: np.ravel(b, order))


# ---- order of the axes -------------------------------------------------------------------------


@implements(np.transpose, np.permute_dims, operands=1)
def transpose(a: Any, axes: Any = None) -> Tracer:
    """Return the array with its axes reordered, by default reversed."""
    x = array(a)
    order = (
        tuple(reversed(range(x.ndim)))
        if axes is None
        else tuple(normalize_axis(k, x.ndim) for k in as_ints(axes))
    )
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"axes {axes} don't match array of shape {x.shape}")
    return views.view(x, ops.permute(x, order), lambda b: np.transpose(b, order))


@implements(np.swapaxes, operands=1)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Tracer:
    """Return the array with two axes interchanged."""
    x = array(a)
    order = list(range(x.ndim))
    i, j = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    order[i], order[j] = j, i
    return transpose(x, order)


# ---- axes of length 1 --------------------------------------------------------------------------


@implements(np.expand_dims, operands=1)
def expand_dims(a: Any, axis: Any) -> Tracer:
    """Insert axes of length 1 at the given places of the result."""
    x = array(a)
    places = as_ints(axis)
    new = _distinct_axes(places, x.ndim + len(places))
    lengths = iter(x.shape)
    return reshape(x, [1 if k in new else next(lengths) for k in range(x.ndim + len(new))])


@implements(np.squeeze, operands=1)
def squeeze(a: Any, axis: Any = None) -> Tracer:
    """Remove axes of length 1."""
    x = array(a)
    if axis is None:
        gone = [k for k, n in enumerate(x.shape) if n == 1]
    else:
        gone = list(normalize_axes(axis, x.ndim))
    if any(x.shape[k] != 1 for k in gone):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one: axis "
            f"{axis} of shape {x.shape}"
        )
    return reshape(x, [n for k, n in enumerate(x.shape) if k not in gone])


# ---- broadcasting ------------------------------------------------------------------------------


@implements(np.broadcast_to, operands=1)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Tracer:
    """Return a read-only view of the array, repeated to a shape."""
    return _repeat(array, as_ints(shape))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Tracer, ...]:
    """Return the arguments, repeated to their common shape."""
    xs = [array(x) for x in args]
    target = broadcast_shapes(*(x.shape for x in xs))
    return tuple(_repeat(x, target) for x in xs)


def _repeat(value: Any, shape: tuple[int, ...]) -> Tracer:
    x = array(value)
    return views.view(x, broadcast(x, shape), lambda b: np.broadcast_to(b, shape))


# ---- copies ------------------------------------------------------------------------------------


@implements(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Tracer:
    """Return a copy."""
    return views.copy_in_order(array(a), order)


@implements("astype")
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tracer:
    """Convert to another dtype."""
    x = array(x)
    result = ops.convert(x, program_dtype(dtype))
    fresh = views.as_array if isinstance(x, np.ndarray) else views.fresh
    return fresh(result) if copy or result is not x else x


# ---- results that follow from shapes and dtypes alone --------------------------------------------


def _blank(value: Any) -> Any:
    """Return what is of the shape and dtype of a traced array, without memory; a weak number."""
    if not isinstance(value, Tracer):
        return value
    if value.weak:
        return model_of(value)
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
