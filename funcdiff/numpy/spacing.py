"""Evenly spaced numbers between traced ends, by NumPy's own order of operations."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy import joining, shape
from funcdiff.numpy.array import concrete_value
from funcdiff.numpy.creation import is_traced
from funcdiff.numpy.dispatch import implements
from funcdiff.numpy.masks import holds
from funcdiff.numpy.promotion import array, fit, matched, promoted
from funcdiff.ops import structural as ops

_BOUNDS: Final = {0: (), 1: ("stop",), 2: ("start", "stop"), 3: ("start", "stop", "step")}


def arange(*bounds: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Return evenly spaced numbers ``start + k*step`` below `stop`.

    Parameters
    ----------
    *bounds
        ``stop``, ``start, stop`` or ``start, stop, step``.  Where they are traced, the length of
        the result is taken from their values and the elements follow start and step.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.
    **keywords
        Those of `numpy.arange`; `start`, `stop` and `step` among them.

    Returns
    -------
    array
        NumPy's own if no bound is traced.
    """
    given = {**dict(zip(_BOUNDS[len(bounds)], bounds, strict=True)), **keywords}
    if not is_traced(list(given.values())):
        return np.arange(*bounds, dtype=dtype, **keywords)
    start, step = given.get("start", 0), given.get("step", 1)
    values = [concrete_value(array(z)) for z in (start, given["stop"], step)]
    length = len(np.arange(*values))
    first, second, _ = promoted(start, start + step, given["stop"])
    counts = np.arange(length, dtype=first.dtype)
    numbers = fit(first, first.type.with_shape((length,))) + counts * (second - first)
    # NumPy, too, takes the first two as they are and goes on by their difference
    result = joining.concatenate([ops.reshape(z, (1,)) for z in (first, second)] + [numbers[2:]])
    result = ops.slice_along(result, 0, 0, length)
    return result if dtype is None else ops.convert(result, np.dtype(dtype))



@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    """Return numbers evenly spaced from start to stop."""
    count = int(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative, at {user_location()}")
    gaps = count - 1 if endpoint else count
    first, last = promoted(start, stop)
    floating = np.result_type(first.dtype, 1.0)
    delta = np.subtract(ops.convert(last, floating), ops.convert(first, floating))
    places = np.arange(count, dtype=floating).reshape(-1, *(1,) * delta.ndim)
    step = delta / gaps if gaps > 0 else np.nan
    if gaps <= 0:
        numbers = places * delta
    elif holds(step == 0):  # it may underflow
        numbers = places / gaps * delta
    else:
        numbers = places * step
    numbers = numbers + first
    if endpoint and count > 1:
        end = fit(last, numbers.type.with_shape((1, *numbers.shape[1:])))
        numbers = joining.concatenate([numbers[:-1], end])
    numbers = shape.moveaxis(numbers, 0, axis)
    result_dtype = floating if dtype is None else np.dtype(dtype)
    if result_dtype.kind in "iu":
        numbers = np.floor(numbers)
    result = ops.convert(numbers, result_dtype)
    return (result, step) if retstep else result


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Return powers of a base with evenly spaced exponents."""
    if np.ndim(base):
        ndim = max(map(np.ndim, (start, stop, base)))
        start, stop, base = (
            np.reshape(z, (*(1,) * (ndim - np.ndim(z)), *np.shape(z))) for z in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    numbers = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return numbers if dtype is None else np.astype(numbers, np.dtype(dtype))


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: Any = 0
) -> Any:
    """Return numbers in geometric progression from start to stop."""
    first, last = promoted(start, stop)
    if holds(np.equal(first, 0)) or holds(np.equal(last, 0)):
        raise ValueError(f"Geometric sequence cannot include zero, at {user_location()}")
    floating = np.result_type(first.dtype, float(num))
    first, last = matched(*(ops.convert(z, floating) for z in (first, last)))
    sign = np.sign(first)
    first, last = np.divide(first, sign), np.divide(last, sign)
    numbers = logspace(np.log10(first), np.log10(last), num, endpoint, dtype=floating)
    if num > 0:  # powers of logarithms miss the ends by rounding
        ends = [np.expand_dims(first, 0), numbers[1:]]
        if num > 1 and endpoint:
            ends = [ends[0], numbers[1:-1], np.expand_dims(last, 0)]
        numbers = joining.concatenate(ends)
    numbers = shape.moveaxis(np.multiply(numbers, sign), 0, axis)
    return ops.convert(numbers, floating if dtype is None else np.dtype(dtype))
