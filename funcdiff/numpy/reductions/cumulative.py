"""Along one axis: cumulative sums, differences, gradients, integrals and interpolation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, real_dtype
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Traced, array, fit
from funcdiff.numpy.reductions.sums_and_extrema import Member, accumulator, family, store_reduction
from funcdiff.numpy.shapes.shape import normalize_axes, normalize_axis
from funcdiff.ops.axes import reductions as ops
from funcdiff.ops.elementwise.complex import imaginary_part, join, real_part
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape


def _between(x: Any, axis: int, start: int | None, stop: int | None) -> Traced:
    """Return ``x[start:stop]`` along an axis."""
    first, last, _ = slice(start, stop).indices(x.shape[axis])
    return slice_along(array(x), axis, first, last)


# ---- cumulative sums and products ------------------------------------------------------------

_BEGINNINGS: Final = "all beginnings along an axis, or of the flattened array{}"
_EVERY: Final = "all beginnings along an axis, the empty one too if that is wanted"


@family(
    Member("cumsum", f"Return the sums of {_BEGINNINGS}.", ops.cumsum, 0),
    Member("cumprod", f"Return the products of {_BEGINNINGS}.", ops.cumprod, 1),
    operands=1,
)
def _scan(of: Member, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    x, _ = of.read(a)
    if axis is None or x.ndim == 0:
        along = 0 if axis is None else normalize_axis(axis, 1)
        x = reshape(x, (x.type.size,))
    else:
        along = normalize_axis(axis, x.ndim)
    y = of.operation(convert(x, accumulator(x, dtype, out)), along)
    return store_reduction(of.name, y, out)


# ---- differences -----------------------------------------------------------------------------


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Traced:
    """Return the differences of the flattened array, between what is put around them."""
    x = np.ravel(ary)
    middle: Any = array(np.subtract(x[1:], x[:-1]))
    parts = [middle]
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if value is None:
            continue
        edge: Any = array(value)
        if not np.can_cast(edge.dtype, middle.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        edge = convert(reshape(edge, (edge.type.size,)), middle.dtype)
        parts = [edge, *parts] if name == "to_begin" else [*parts, edge]
    return concatenate(parts, 0)


# ---- gradient --------------------------------------------------------------------------------


def _spacings(varargs: tuple[Any, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> list[Any]:
    """Return for each axis a number, or the distances between neighbours."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return list(varargs) * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_spacing_along(d, shape[axis]) for d, axis in zip(varargs, axes, strict=True)]


def _spacing_along(distances: Any, length: int) -> Any:
    if np.ndim(distances) == 0:
        return distances
    if np.ndim(distances) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(distances) != length:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if isinstance(distances, Tracer):
        wide: Any = convert(distances, FLOAT) if distances.dtype.kind in "iu" else distances
        return np.diff(wide)
    coordinates = np.asarray(distances)
    if coordinates.dtype.kind in "iu":
        coordinates = coordinates.astype(np.float64)
    steps = np.diff(coordinates)
    return steps[0] if (steps == steps[0]).all() else steps


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return central differences inside and one-sided ones at the ends, for each axis.

    Traced coordinates are never taken for evenly spaced: their distances may vary.
    """
    x = array(f)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        given = axis if isinstance(axis, tuple | list) else (axis,)
        normalize_axes(tuple(given), x.ndim)
        axes = tuple(normalize_axis(k, x.ndim) for k in given)
    spacings = _spacings(varargs, x.shape, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if x.dtype.kind in "iu":
        x = convert(x, FLOAT)
    results = []
    for along, spacing in zip(axes, spacings, strict=True):
        if x.shape[along] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        parts = _one_gradient(x, along, spacing, edge_order)
        dtype = x.dtype if x.type.differentiable else FLOAT
        results.append(concatenate([convert(array(p), dtype) for p in parts], along))
    return results[0] if len(results) == 1 else tuple(results)


def _one_gradient(x: Any, axis: int, spacing: Any, edge_order: int) -> tuple[Any, Any, Any]:
    """Return first entry, interior and last entry of the gradient along one axis."""
    n = x.shape[axis]
    column = tuple(-1 if k == axis else 1 for k in range(x.ndim))
    left, middle, right = (_between(x, axis, k, n - 2 + k) for k in range(3))
    if np.ndim(spacing) == 0:
        inner = (right - left) / (2.0 * spacing)
        steps = [spacing] * 4
        edges = (-1.5 / spacing, 2.0 / spacing, -0.5 / spacing)
        ends = (0.5 / spacing, -2.0 / spacing, 1.5 / spacing)
    else:
        before, after = np.reshape(spacing[:-1], column), np.reshape(spacing[1:], column)
        a = -after / (before * (before + after))
        b = (after - before) / (before * after)
        c = before / (after * (before + after))
        inner = a * left + b * middle + c * right
        steps = [spacing[0], spacing[min(1, n - 2)], spacing[max(n - 3, 0)], spacing[n - 2]]
        edges, ends = _edge_weights(*steps)
    if edge_order == 1:
        first = (_between(x, axis, 1, 2) - _between(x, axis, 0, 1)) / steps[0]
        last = (_between(x, axis, n - 1, n) - _between(x, axis, n - 2, n - 1)) / steps[-1]
        return first, inner, last
    first, last = (
        w[0] * _between(x, axis, at, at + 1)
        + w[1] * _between(x, axis, at + 1, at + 2)
        + w[2] * _between(x, axis, at + 2, at + 3)
        for w, at in ((edges, 0), (ends, n - 3))
    )
    return first, inner, last


def _edge_weights(p: Any, q: Any, r: Any, s: Any) -> tuple[Any, Any]:
    """Return the weights of the second-order differences at both ends for uneven distances."""
    first = (-(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q)))
    last = (s / (r * (r + s)), -(s + r) / (r * s), (2.0 * s + r) / (s * (r + s)))
    return first, last


# ---- trapezoid and interpolation -------------------------------------------------------------


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Traced:
    """Interpolate linearly between points; constant outside, the right slope at a point."""
    x, xp, fp = (array(z) for z in (x, xp, fp))
    for name, dtype in (("x", x.dtype), ("xp", xp.dtype), ("fp", real_dtype(fp.dtype))):
        if dtype.kind == "c" or (period is None and not np.can_cast(dtype, FLOAT)):
            raise TypeError(
                f"np.interp computes in float64, and {name} is {dtype}, at {user_location()}. "
                "Convert it first, or take its real part."
            )
    if fp.dtype.kind == "c":
        real, imaginary = (
            [None if z is None else part(array(z)) for z in (fp, left, right)]
            for part in (real_part, imaginary_part)
        )
        return join(
            _interpolate_part(x, xp, real, period, inverts=True),
            _interpolate_part(x, xp, imaginary, period, inverts=True),
        )
    return _interpolate_part(x, xp, [fp, left, right], period, inverts=False)


def _interpolate_part(x: Any, xp: Any, values: list[Any], period: Any, *, inverts: bool) -> Traced:
    """Interpolate real values, given with those on the left and right.

    If `inverts`, slopes are differences times the inverse of a distance, as for complex values.
    """
    fp, left, right = values
    x, xp, fp = (convert(z, FLOAT) for z in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if xp.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    return _interpolate(x, xp, fp, left, right, inverts=inverts)


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return positions within one period, and the points continued by one at both ends."""
    if not isinstance(period, Tracer) and period == 0:
        raise ValueError("period must be a non-zero value")
    period = np.abs(period)
    x, xp = x % period, xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
    return x, xp, np.concatenate((fp[-1:], fp, fp[:1]))


def _interpolate(x: Any, xp: Any, fp: Any, left: Any, right: Any, *, inverts: bool) -> Traced:
    last = xp.shape[0] - 1
    position = np.searchsorted(xp, x, side="right") - 1
    before, behind, unknown = x < xp[0], x > xp[last], np.isnan(x)
    # a point that is NaN is neither before nor behind, and makes what lies next to it NaN
    inside = np.logical_and(np.logical_or(position >= 0, ~before), position < last)
    here = np.clip(position, 0, max(last - 1, 0))
    there = np.minimum(here + 1, last)
    x0, x1, y0, y1 = xp[here], xp[there], fp[here], fp[there]
    distance = np.where(inside, x1 - x0, 1)
    slope = (y1 - y0) * (1.0 / distance) if inverts else (y1 - y0) / distance
    # with infinite values the line may be NaN: NumPy tries from the other end, then a plateau
    undefined = np.isnan(slope * (x - x0) + y0)
    flat = np.logical_and(np.isnan(slope * (x - x1) + y1), y0 == y1)
    plateau = np.logical_and(undefined, np.logical_or(x == x0, flat))
    line = slope * (x - np.where(undefined, x1, x0)) + np.where(undefined, y1, y0)
    edge = np.where(before, fp[0] if left is None else fit(left, fp[0].type), fp[last])
    edge = np.where(behind, fp[last] if right is None else fit(right, fp[0].type), edge)
    edge = np.where(unknown, x, edge)
    outside = np.logical_or(np.logical_or(before, behind), unknown)
    between = np.logical_and(inside, np.logical_not(outside))
    return array(np.where(between, np.where(plateau, y0, line), edge))
