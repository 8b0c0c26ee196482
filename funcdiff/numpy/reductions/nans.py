"""Reductions that leave NaN out: it is replaced by what does not count, and counted apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.types import INT
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.masks import holds
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.reductions.cumulative import cumprod, cumsum
from funcdiff.numpy.reductions.reductions import (
    all_,
    argmax,
    argmin,
    given,
    max_,
    min_,
    prod,
    stored,
    sum_,
)
from funcdiff.numpy.reductions.statistics import divided, root, std, var
from funcdiff.numpy.reductions.statistics import mean as mean_of
from funcdiff.ops.elementwise.logic import isnan, logical_not
from funcdiff.ops.structure.structural import select


def without_nan(a: Any, value: Any) -> tuple[Any, Any]:
    """Return an array with NaN replaced, and where NaN was; None for dtypes without NaN."""
    x = array(a)
    if not x.type.differentiable:
        return x, None
    mask = isnan(x)
    return select(mask, constant(value, x.type), x), mask


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Sum over axes, NaN counting as zero."""
    x, _ = without_nan(a, 0)
    return sum_(x, axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Multiply over axes, NaN counting as one."""
    x, _ = without_nan(a, 1)
    return prod(x, axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """Return the sums of all beginnings, NaN counting as zero."""
    return cumsum(without_nan(a, 0)[0], axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """Return the products of all beginnings, NaN counting as one."""
    return cumprod(without_nan(a, 1)[0], axis, dtype, out)


def _nan_extremum(
    function: Callable[..., Any],
    worst: float,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Traced:
    x, mask = without_nan(a, worst)
    chosen: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "where": where}
    if mask is None or given(initial):
        return function(x, out=out, initial=initial, **chosen)
    value = np.where(all_(mask, **chosen), np.nan, function(x, **chosen))
    return stored(f"np.nan{function.__name__.rstrip('_')}", array(value), out)


@implements(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Return the largest entry over axes that is not NaN; NaN where there is none."""
    return _nan_extremum(max_, -np.inf, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Return the smallest entry over axes that is not NaN; NaN where there is none."""
    return _nan_extremum(min_, np.inf, a, axis, out, keepdims, initial, where)


def _nan_position(
    function: Callable[..., Any], worst: float, a: Any, axis: Any, out: Any, keepdims: Any
) -> Traced:
    x, mask = without_nan(a, worst)
    if mask is not None and mask.type.size and holds(all_(mask, axis=axis)):
        raise ValueError(f"All-NaN slice encountered, at {user_location()}")
    return function(x, axis, out, keepdims=keepdims)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = default) -> Traced:
    """Return the position of the largest entry that is not NaN."""
    return _nan_position(argmax, -np.inf, a, axis, out, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = default) -> Traced:
    """Return the position of the smallest entry that is not NaN."""
    return _nan_position(argmin, np.inf, a, axis, out, keepdims)


def _check_inexact(dtype: Any, out: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    *,
    where: Any = default,
) -> Traced:
    """Return the mean over axes of the entries that are not NaN."""
    x, mask = without_nan(a, 0)
    if mask is None:
        return mean_of(x, axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    total = sum_(x, axis, dtype, None, keepdims, where=where)
    count = sum_(logical_not(mask), axis, INT, None, keepdims, where=where)
    return stored("np.nanmean", divided(total, count), out)


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = default,
    *,
    where: Any = default,
    mean: Any = default,
    correction: Any = default,
) -> Traced:
    """Return the variance over axes of the entries that are not NaN."""
    return _nan_spread(var, a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = default,
    *,
    where: Any = default,
    mean: Any = default,
    correction: Any = default,
) -> Traced:
    """Return the standard deviation over axes of the entries that are not NaN."""
    return _nan_spread(std, a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def _nan_spread(
    function: Callable[..., Any],
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    centre: Any,
    correction: Any,
) -> Traced:
    """Return ``var`` or ``std`` of the numbers, NaN where ddof leaves nothing to divide by."""
    x, mask = without_nan(a, 0)
    if mask is None:
        given_on = {"where": where, "mean": centre, "correction": correction}
        return function(x, axis, dtype, out, ddof, keepdims, **given_on)
    _check_inexact(dtype, out)
    if correction is not default:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    numbers = logical_not(mask)
    if not given(centre):
        total = sum_(x, axis, dtype, None, True, where=where)
        centre = divided(total, sum_(numbers, axis, INT, None, True, where=where))
    deviation = np.where(mask, 0, (x - centre).astype(x.dtype))
    square = np.real(deviation * np.conjugate(deviation))
    degrees = sum_(numbers, axis, INT, None, keepdims, where=where) - ddof
    value: Traced = divided(sum_(square, axis, dtype, None, keepdims, where=where), degrees)
    value = np.where(degrees <= 0, np.nan, value)
    return stored(f"np.nan{function.__name__}", root(value) if function is std else value, out)
