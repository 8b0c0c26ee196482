"""Diagonals and triangles of matrices.

A diagonal is every (n+1)-th element of the flat matrix, so it is read by reshaping and slicing;
triangles are masks computed from the positions.  Nothing here needs array data of its own, so
derivative rules may use these functions too.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array, broadcast_to
from funcdiff.numpy.memory import views
from funcdiff.numpy.shapes.shape import normalize_axis, ravel
from funcdiff.ops.elementwise.logic import less
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.space import add, zeros


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
    rest = tuple(k for k in range(x.ndim) if k not in (first, second))
    matrices = ops.permute(x, (*rest, first, second))
    *stack, rows, columns = matrices.shape
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = ops.reshape(matrices, (*stack, rows * columns))
    start = max(offset, 0) + max(-offset, 0) * columns if count else 0
    stop = start + (count - 1) * (columns + 1) + 1 if count else 0
    result = slice_along(flat, len(stack), start, stop, columns + 1)
    return views.view(x, result, lambda b: np.diagonal(b, offset, axis1, axis2))


@implements(np.trace)
def trace(
    a: Any,
    offset: Any = 0,
    axis1: Any = 0,
    axis2: Any = 1,
    dtype: Any = None,
    out: Any = None,
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
