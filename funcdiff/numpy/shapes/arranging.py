"""Rearrangements: turned, shifted and repeated arrays."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.memory import views
from funcdiff.numpy.memory.indexing import take
from funcdiff.numpy.memory.indices import positions
from funcdiff.numpy.shapes.joining import concatenate, concrete_index
from funcdiff.numpy.shapes.shape import (
    as_ints,
    broadcast_arrays,
    expand_dims,
    normalize_axes,
    normalize_axis,
    ravel,
    reshape,
    with_axis,
)
from funcdiff.ops.axes.indexing import spread
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along

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


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Return the Vandermonde matrix, whose columns are the powers of a vector."""
    x = array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence")
    x = ops.convert(x, np.promote_types(x.dtype, int))
    count = x.shape[0] if N is None else as_int(N)
    columns = expand_dims(x, 1)
    powers = [np.ones_like(columns)][:count]
    if count > 1:
        powers.append(np.cumprod(repeat(columns, count - 1, axis=1), axis=1))
    matrix = concatenate(powers, 1) if powers else slice_along(columns, 1, 0, 0)
    return matrix if increasing else flip(matrix, 1)
