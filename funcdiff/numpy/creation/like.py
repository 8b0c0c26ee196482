"""Arrays made like others, and between traced end points.

NumPy sends the functions that take no array (``np.zeros``) here if they are called with
``like=x`` for a traced `x`; they then give traced arrays, into which traced values can go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import index as as_int
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import (
    Traced,
    broadcast_to,
    common_dtype,
    fit,
    program_dtype,
    promote,
)
from funcdiff.numpy.border.promotion import array as traced
from funcdiff.numpy.memory import views
from funcdiff.numpy.memory.array_copies import on_cpu
from funcdiff.numpy.shapes.shape import as_ints, normalize_axis
from funcdiff.ops.elementwise.mathematics import floor
from funcdiff.ops.structure.structural import concatenate, convert, iota, permute, reshape


def _type(shape: Any, dtype: Any) -> ArrayType:
    return ArrayType(as_ints(shape), FLOAT if dtype is None else program_dtype(dtype))


# ---- like another array ------------------------------------------------------------------------


def _fill_like(
    name: str, a: Any, value: Any, dtype: Any, order: str, shape: Any, device: Any
) -> Traced:
    on_cpu(name, device)
    x = traced(a)
    type_ = ArrayType(
        x.shape if shape is None else as_ints(shape),
        x.dtype if dtype is None else program_dtype(dtype),
    )
    y = views.fresh(fit(value, type_))
    views.note_layout_like(y, x, order)
    return y


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Traced:  # fmt: skip
    """Return zeros of the shape and dtype of an array."""
    return _fill_like("np.zeros_like", a, 0, dtype, order, shape, device)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Traced:  # fmt: skip
    """Return ones of the shape and dtype of an array."""
    return _fill_like("np.ones_like", a, 1, dtype, order, shape, device)


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Traced:  # fmt: skip
    """Return an array of the shape and dtype of another, holding zeros."""
    return _fill_like("np.empty_like", prototype, 0, dtype, order, shape, device)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Traced:  # fmt: skip
    """Return an array of the shape and dtype of another, filled with a (traced) value."""
    return _fill_like("np.full_like", a, fill_value, dtype, order, shape, device)


# ---- from values, with like= ---------------------------------------------------------------------


@implements(np.zeros, np.empty)
def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Traced:
    """Return zeros."""
    on_cpu("np.zeros", device)
    return views.copy_in_order(constant(0, _type(shape, dtype)), order)


@implements(np.ones)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Traced:
    """Return ones."""
    on_cpu("np.ones", device)
    return views.copy_in_order(constant(1, _type(shape, dtype)), order)


@implements(np.full)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Traced:
    """Return an array filled with a (traced) value."""
    on_cpu("np.full", device)
    value = fill_value if isinstance(fill_value, Tracer) else traced(fill_value)
    filled = fit(value, _type(shape, value.dtype if dtype is None else dtype))
    return views.copy_in_order(filled, order)


def _plain(function: Callable[..., Any]) -> None:
    """Enter a function of plain numbers: with ``like=``, its array becomes a traced one."""

    @implements(function)
    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Traced:
        return traced(function(*args, **kwargs))


for _function in (np.arange, np.eye, np.identity, np.fromiter, np.tri):
    _plain(_function)


# ---- between end points --------------------------------------------------------------------------


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return evenly spaced values; both ends may be traced arrays."""
    on_cpu("np.linspace", device)
    num = as_int(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    inexact = np.result_type(common_dtype([start, stop]), np.float16)
    inexact = inexact if common_dtype([start, stop]).kind in "fc" else FLOAT
    begin: Traced
    end: Traced
    begin, end = (convert(z, inexact) for z in promote(start, stop))
    target = inexact if dtype is None else program_dtype(dtype)
    delta = end - begin
    y: Traced = reshape(convert(iota((num,), 0), inexact), (num, *(1,) * delta.ndim))
    gaps = num - 1 if endpoint else num
    step: Any = np.nan
    if gaps > 0:
        step = delta / gaps
        # a step that underflows to zero: NumPy divides first (and so do we, for all elements)
        lost = np.any(step == 0)
        y = np.where(lost, y / gaps * delta, y * step)
    else:
        y = y * delta
    y = y + begin
    if endpoint and num > 1:
        y = concatenate([y[:-1], reshape(broadcast_to(end, y.shape[1:]), (1, *y.shape[1:]))], 0)
    y = _axis_moved(traced(y), axis)
    y = convert(floor(y) if target.kind in "iu" else y, target)
    return (y, step) if retstep else y


def _axis_moved(y: Tracer, axis: int) -> Traced:
    """Move the first axis to another place."""
    order = list(range(1, y.ndim))
    order.insert(normalize_axis(axis, y.ndim), 0)
    return permute(y, tuple(order))


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Traced:
    """Return values whose neighbours have a constant ratio."""
    begin: Traced = traced(start)
    end: Traced = traced(stop)
    error = ValueError("Geometric sequence cannot include zero")
    begin, end = (refuse_where(x == 0, error, x) for x in (begin, end))
    least = FLOAT if dtype is None else program_dtype(dtype)  # as NumPy has it: at least that
    wide = np.result_type(common_dtype([start, stop, float(num)]), least)
    begin, end = convert(begin, wide), convert(end, wide)
    sign = np.sign(begin)
    first, last = begin / sign, end / sign
    exponents = linspace(np.log10(first), np.log10(last), num, endpoint)
    y: Any = convert(traced(np.power(10.0, exponents)), wide)
    shape = (1, *y.shape[1:])
    parts = [y]
    if num > 0:
        parts = [reshape(broadcast_to(first, shape[1:]), shape), y[1:]]
    if num > 1 and endpoint:
        parts = [parts[0], y[1:-1], reshape(broadcast_to(last, shape[1:]), shape)]
    y = _axis_moved(traced(concatenate(parts, 0) * sign), axis)
    return convert(y, wide if dtype is None else program_dtype(dtype))
