"""Moments: mean, average, variance, standard deviation, covariance and correlation.

The order of operations is that of NumPy's own, so that values agree bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.masks import count_of, refuse_where, sum_of
from funcdiff.numpy.border.promotion import (
    Traced,
    array,
    broadcast_to,
    common_dtype,
    program_dtype,
    promote_and_broadcast,
)
from funcdiff.numpy.reductions.sums_and_extrema import (
    Member,
    accumulator,
    family,
    is_given,
    reduction_axes,
    with_kept,
)
from funcdiff.numpy.shapes.shape import normalize_axes, normalize_axis
from funcdiff.ops.elementwise.complex import conj, imag, real
from funcdiff.ops.elementwise.logic import logical_not
from funcdiff.ops.elementwise.mathematics import div, mul, root_of_squares
from funcdiff.ops.structure.structural import concatenate, convert, permute, reshape, select
from funcdiff.space import zeros

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def divide(total: Tracer, count: Any) -> Traced:
    """Return total/count in the dtype of `total`, computed in double precision as NumPy does."""
    wide: Traced = convert(total, np.result_type(total.dtype, FLOAT))
    if isinstance(count, Tracer):
        return convert(wide / count, total.dtype)
    return convert(div(wide, constant(count, wide.type)), total.dtype)


def _accumulator(x: Tracer, dtype: Any, out: Any) -> np.dtype[Any]:
    """Return the dtype of a mean's sum: float64 for integers."""
    return FLOAT if dtype is None and x.dtype.kind in "biu" else accumulator(x, dtype, out)


# ---- mean and average ----------------------------------------------------------------------------


def _entries(of: Member, a: Any, axis: Any, dtype: Any, out: Any) -> tuple[Any, Any, Any]:
    """Return the array, where it was NaN, and the axes."""
    x, nan = of.read(a)
    if nan is None:
        return x, nan, normalize_axes(axis, x.ndim)
    for name, kind in (("dtype", dtype), ("out", None if out is None else out.dtype)):
        if kind is not None and np.dtype(kind).kind not in "fc":
            raise TypeError(f"If a is inexact, then {name} must be inexact")
    return x, nan, reduction_axes(axis, x.ndim)


def _count(x: Tracer, nan: Tracer | None, axes: tuple[int, ...], where: Any) -> Any:
    """Return how many entries are taken."""
    if nan is None:
        return count_of(x, axes, where)
    return sum_of(convert(logical_not(nan), INT), axes, where)


@family(Member("mean", "Return the mean over axes{}; of float16, computed in float32."), operands=1)
def _mean(
    of: Member,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    *,
    where: Any = default,
) -> Traced:
    x, nan, axes = _entries(of, a, axis, dtype, out)
    half = dtype is None and x.dtype == HALF and nan is None
    total = sum_of(convert(x, SINGLE if half else _accumulator(x, dtype, out)), axes, where)
    value = divide(total, _count(x, nan, axes, where))
    if half and out is None:
        value = convert(value, HALF)
    return of.finish(value, x, axes, keepdims, out)


def weights_along(x: Tracer, weights: Any, axis: Any) -> Traced:
    """Return weights in a shape that broadcasts against `x`."""
    w = array(weights)
    if w.shape == x.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    given_axes = [normalize_axis(k, x.ndim) for k in (axis if np.iterable(axis) else (axis,))]
    if w.shape != tuple(x.shape[k] for k in given_axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = permute(w, tuple(sorted(range(w.ndim), key=given_axes.__getitem__)))
    return reshape(w, tuple(n if k in given_axes else 1 for k, n in enumerate(x.shape)))


@implements(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = default,
) -> Any:
    """Return the weighted mean over axes, with the sum of the weights if that is wanted."""
    x: Traced = array(a)
    axes = normalize_axes(axis, x.ndim)
    scale: Any
    if weights is None:
        value = np.mean(x, axis, keepdims=keepdims)
        scale = constant(count_of(x, axes, None), value.type)
    else:
        w: Traced = weights_along(x, weights, axis)
        dtype = np.result_type(x.dtype, w.dtype, *([FLOAT] if x.dtype.kind in "biu" else []))
        scale = np.sum(w, axes, dtype, keepdims=keepdims)
        error = ZeroDivisionError("Weights sum to zero, can't be normalized")
        scale = refuse_where(scale == 0, error, scale)
        product: Traced = mul(*promote_and_broadcast(convert(x, dtype), convert(w, dtype)))
        value = array(np.true_divide(np.sum(product, axes, keepdims=keepdims), scale))
    return (value, broadcast_to(scale, value.shape)) if returned else value


# ---- variance and standard deviation -------------------------------------------------------------


@family(
    Member(
        "var",
        "Return the variance over axes{}: the mean of |x - mean(x)|², with n - ddof for n.",
        array,
    ),
    Member(
        "std",
        "Return the standard deviation over axes{}; where it is 0, so is its derivative.",
        lambda v: root_of_squares(v) if v.type.differentiable else np.sqrt(v),
    ),
    operands=1,
)
def _var_and_std(
    of: Member,
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
    """Return a variance or its root; with NaN left out, NaN where ddof leaves nothing."""
    if correction is not default:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x, nan, axes = _entries(of, a, axis, dtype, out)
    widest = _accumulator(x, dtype, None)
    count = _count(x, nan, axes, where)
    if not is_given(mean):
        total = sum_of(convert(x, widest), axes, where)
        mean = with_kept(divide(total, count), x, axes, True)
    square = _squared_deviations(x - mean, x, nan)
    if dtype is None and isinstance(out, Tracer) and x.dtype.kind not in "biu":
        widest = out.dtype
    elif dtype is None and x.dtype.kind == "c":
        widest = square.dtype
    total = sum_of(convert(square, widest), axes, where)
    degrees = count - ddof
    value = divide(total, np.maximum(degrees, 0))
    if nan is not None:
        value = np.where(degrees <= 0, np.nan, value)
    return of.finish(of.operation(value), x, axes, keepdims, out)


def _squared_deviations(deviation: Traced, x: Tracer, nan: Tracer | None) -> Traced:
    """Return |x - mean(x)|², computed in either case as NumPy does."""
    if nan is not None:
        deviation = select(nan, zeros(x.type), convert(deviation, x.dtype))
        return np.real(deviation * np.conjugate(deviation))
    if deviation.dtype.kind != "c":
        return np.square(deviation)
    parts: list[Traced] = [real(deviation), imag(deviation)]
    return np.square(parts[0]) + np.square(parts[1])


# ---- covariance and correlation ------------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Traced:
    """Return the covariance matrix of variables in rows (or columns)."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    ddof = (0 if bias else 1) if ddof is None else int(ddof)
    values = [m] if y is None else [m, y]
    wide = common_dtype([*values, np.float64(0)]) if dtype is None else program_dtype(dtype)
    X: Traced = concatenate([_rows(z, wide, rowvar, "my"[k]) for k, z in enumerate(values)], 0)
    if X.shape[0] == 0:
        return constant(0, ArrayType((0, 0), FLOAT))
    w = _sample_weights(fweights, aweights, X.shape[1])
    if w is None:
        centre = np.mean(X, 1)
        degrees: Traced = constant(max(X.shape[1] - ddof, 0), ArrayType((), FLOAT))
    else:
        centre, total = average(X, 1, w, True)
        degrees = _degrees_of_freedom(total[0], ddof, w, aweights)
    X = X - np.reshape(centre, (-1, 1))
    products = X @ conj(permute(X if w is None else X * w, (1, 0)))
    result: Traced = convert(products * (1 / degrees), products.dtype)
    return np.squeeze(result)


def _rows(z: Any, dtype: np.dtype[Any], rowvar: bool, name: str) -> Traced:
    """Return observations as a matrix with one variable a row."""
    x = convert(array(z), dtype)
    if x.ndim > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    if x.ndim < 2:
        return reshape(x, (1, x.type.size))
    # NumPy leaves a y of one row as it is even where variables are columns
    return x if rowvar or (name == "y" and x.shape[0] == 1) else permute(x, (1, 0))


def _sample_weights(fweights: Any, aweights: Any, count: int) -> Traced:
    """Return the product of frequencies and weights as float64, None without either."""
    product: Any = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        w: Any = convert(array(weights), FLOAT)
        if name == "fweights":
            w = refuse_where(w != np.round(w), TypeError("fweights must be integer"), w)
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != count:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        w = refuse_where(w < 0, ValueError(f"{name} cannot be negative"), w)
        product = w if product is None else product * w
    return product


def _degrees_of_freedom(total: Any, ddof: int, w: Any, aweights: Any) -> Traced:
    if ddof == 0:
        degrees = total
    elif aweights is None:
        degrees = total - ddof
    else:
        degrees = total - ddof * np.sum(w * aweights) / total
    return array(np.where(degrees <= 0, 0, degrees))
