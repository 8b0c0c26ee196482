"""Rearrangements: turned, shifted and repeated arrays, diagonals, triangles and windows."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.numpy.border.dispatch import implements, refusal_error
from funcdiff.numpy.border.promotion import array, broadcast_to
from funcdiff.numpy.memory import views
from funcdiff.numpy.memory.index_expressions import positions, take
from funcdiff.numpy.shapes.joining import concrete_index
from funcdiff.numpy.shapes.shape import (
    as_ints,
    broadcast_arrays,
    normalize_axes,
    normalize_axis,
    ravel,
    reshape,
    with_axis,
)
from funcdiff.ops.axes.indexing import spread
from funcdiff.ops.elementwise.logic import less
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along, sliding_windows
from funcdiff.space import add, kept_axes, zeros

WHOLE = slice(None)

# ---- turning -----------------------------------------------------------------------------------


@implements(np.flip, operands=1)
def flip(m: Any, axis: Any = None) -> Any:
    """Return a view with the elements in reverse order along some axes."""
    x = array(m)
    turned = normalize_axes(axis, x.ndim)
    return take(x, tuple(slice(None, None, -1) if k in turned else WHOLE for k in range(x.ndim)))


@implements(np.roll, operands=1)
def roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    """Shift the elements along axes; what leaves at one end comes in at the other."""
    x = array(a)
    if axis is None:
        return reshape(roll(ravel(x), sum(as_ints(shift)), 0), x.shape)
    axes, shifts = as_ints(axis), as_ints(shift)
    count = max(len(axes), len(shifts))
    if min(len(axes), len(shifts)) not in (1, count):
        raise ValueError(f"'shift' {shift} and 'axis' {axis} do not match in length")
    pairs = zip(
        axes * (count // (len(axes) or 1)), shifts * (count // (len(shifts) or 1)), strict=True
    )
    for one, by in pairs:
        x = _roll(x, normalize_axis(one, x.ndim), by)
    y = views.fresh(x)
    views.note_layout_like(y, array(a), "K")
    return y


def _roll(x: Tracer, axis: int, shift: int) -> Tracer:
    length = x.shape[axis]
    cut = -shift % length if length else 0
    if cut == 0:
        return x
    tail, head = slice_along(x, axis, cut, length), slice_along(x, axis, 0, cut)
    return ops.concatenate([tail, head], axis)


# ---- repeating ---------------------------------------------------------------------------------


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat each element along an axis, by default of the flat array."""
    x, axis = with_axis(array(a), axis)
    counts = np.asarray(positions(concrete_index(repeats)))
    if counts.size == 1 and counts.ndim < 2:
        count = as_int(np.ravel(counts)[0])
        if count < 0 < x.shape[axis]:
            raise ValueError("counts cannot be negative")
        count = max(count, 0)
        repeated = spread(x, axis + 1, count)
        target = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
        return views.fresh(ops.reshape(repeated, target))
    places = np.repeat(np.arange(x.shape[axis]), counts)
    return take(x, (*(WHOLE,) * axis, places))


# ---- grids and trimming ------------------------------------------------------------------------


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: Any = "xy"
) -> tuple[Tracer, ...]:
    """Return the coordinates of a grid, one array for each axis.

    NumPy's own code sets shapes in place, for which the layout of matrices would have to be known.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for `indexing` are 'xy' and 'ij', not {indexing!r}")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = 1, 0
    along = [[-1 if k == place else 1 for k in range(len(xi))] for place in order]
    axes = [reshape(x, target) for x, target in zip(xi, along, strict=True)]
    grids = tuple(axes) if sparse else broadcast_arrays(*axes)
    return tuple(map(views.fresh, grids)) if copy else grids


# ---- Diagonals and triangles of matrices ---------------------------------------------------------
#
# A diagonal is every (n+1)-th element of the flat matrix, so it is read by reshaping and slicing;
# triangles are masks computed from the positions.  Nothing here needs array data of its own, so
# derivative rules may use these functions too.


@implements(np.diagonal)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Tracer:
    """Return a read-only view of a diagonal over two axes, which becomes the last axis."""
    x = array(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = (normalize_axis(axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = as_int(offset)
    matrices = ops.permute(x, (*kept_axes(x.ndim, (first, second)), first, second))
    *stack, rows, columns = matrices.shape
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = ops.reshape(matrices, (*stack, rows * columns))
    start = max(offset, 0) + max(-offset, 0) * columns if count else 0
    stop = start + (count - 1) * (columns + 1) + 1 if count else 0
    result = slice_along(flat, len(stack), start, stop, columns + 1)
    return views.view(x, result, lambda b: np.diagonal(b, offset, axis1, axis2))


@implements(np.trace)
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """Return the sum of a diagonal."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)  # type: ignore[call-overload]


@implements(np.diag)
def diag(v: Any, k: Any = 0) -> Tracer:
    """Return the matrix with the given diagonal, or the diagonal of a matrix."""
    x = array(v)
    if x.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d")
    if x.ndim == 1:
        return _diagonal_matrix(x, as_int(k))
    return diagonal(x, k)


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Tracer:
    """Return the matrix whose diagonal holds the elements of an array."""
    return _diagonal_matrix(ravel(v), as_int(k))


def _diagonal_matrix(x: Tracer, offset: int) -> Tracer:
    """Lay each element before a row of zeros: in the flat matrix they are that far apart."""
    n = x.shape[0]
    side = n + abs(offset)
    before = max(offset, 0) + max(-offset, 0) * side

    def gap(*shape: int) -> Tracer:
        return zeros(x.type.with_shape(shape))

    spaced = ops.concatenate([ops.reshape(x, (n, 1)), gap(n, side)], 1)
    behind = gap(side * abs(offset))
    flat = ops.concatenate([gap(before), ops.reshape(spaced, (n * (side + 1),)), behind], 0)
    return ops.reshape(slice_along(flat, 0, 0, side * side), (side, side))


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> Tracer:
    """Return the array with zeros above the k-th diagonal."""
    x = _matrices(m)
    return ops.select(_at_or_below(x, as_int(k)), x, zeros(x.type))


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> Tracer:
    """Return the array with zeros below the k-th diagonal."""
    x = _matrices(m)
    return ops.select(_at_or_below(x, as_int(k) - 1), zeros(x.type), x)


def _matrices(m: Any) -> Any:
    """Return an array with two axes at least; a vector becomes the row of a square matrix."""
    x = array(m)
    if x.ndim == 0:
        raise TypeError("tril and triu need an array with at least one axis")
    return x if x.ndim > 1 else broadcast_to(x, x.shape * 2)


def _at_or_below(x: Tracer, offset: int) -> Any:
    """Return the mask of the elements whose column is at most their row plus the offset."""
    grid = ArrayType(x.shape[-2:], INT)
    rows, columns = ops.iota(grid.shape, 0), ops.iota(grid.shape, 1)
    mask = less(columns, add(rows, constant(offset + 1, grid)))
    return broadcast_to(mask, x.shape)


# ---- ``np.lib.stride_tricks``: windows that slide over an array ----------------------------------


@implements(sliding_window_view)
def windows(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tracer:
    """Return the windows of a shape at all places where they fit, read-only.

    The axes of a window come last.  An axis may be given more than once.
    """
    del subok  # traced arrays have no subclasses
    if writeable:
        raise refusal_error(
            "np.lib.stride_tricks.sliding_window_view(writeable=True)",
            "An element belongs to several windows: write into the array itself.",
        )
    base = result = array(x)
    lengths = as_ints(window_shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"window_shape {lengths} has a negative length")
    axes = tuple(range(base.ndim)) if axis is None else as_ints(axis)
    if len(axes) != len(lengths):
        raise ValueError(
            f"window_shape {lengths} has {len(lengths)} lengths for {len(axes)} axes of an array "
            f"of shape {base.shape}"
        )
    for place, length in zip(axes, lengths, strict=True):
        along = normalize_axis(place, base.ndim)
        if length > result.shape[along]:
            raise ValueError(
                f"window shape {lengths} is larger than the array of shape {base.shape} along "
                f"axis {along}"
            )
        result = sliding_windows(result, along, length)
    return views.view(base, result, lambda b: sliding_window_view(b, lengths, axes))
