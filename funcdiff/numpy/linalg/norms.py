"""Norms of vectors and matrices: zero has the derivative zero, and ties share theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_constant
from funcdiff.numpy.linalg.singular import svdvals
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.axes.reductions import reduce_max, reduce_min
from funcdiff.ops.elementwise.complex import imaginary_part, real_part
from funcdiff.ops.elementwise.mathematics import root_of_squares
from funcdiff.ops.structure.structural import convert, permute, reshape
from funcdiff.ops.structure.unknown import unknown
from funcdiff.space import reduce_sum


@implements(np.linalg.norm, operands=1)
def norm(x: Tracer, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """Return a norm of vectors (one axis) or matrices (two axes)."""
    x = array(x)
    if x.dtype.kind in "biu":
        x = convert(x, FLOAT)
    is_traced = isinstance(ord, Tracer)
    if axis is None and (ord is None or (not is_traced and ord in ("f", "fro") and x.ndim == 2)):
        return _put_back(_length(x), x, tuple(range(x.ndim)), keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    places = tuple(normalize_axis(_as_axis(k), x.ndim) for k in axes)
    if len(places) == 1:
        if axis is None and not is_traced and ord == 2:
            return _put_back(_length(x), x, places, keepdims)
        return _put_back(_of_vectors(x, ord, places[0]), x, places, keepdims)
    if len(places) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if places[0] == places[1]:
        raise ValueError("Duplicate axes given.")
    return _put_back(_of_matrices(x, ord, *places), x, places, keepdims)


def _as_axis(axis: Any) -> int:
    try:
        return int(axis)
    except (TypeError, ValueError):
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from None


def _put_back(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """Put the axes that were reduced back, with length 1."""
    if not keepdims:
        return y
    return reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def _root(powers: Any, root: Callable[[Any], Any], at_zero: Any) -> Any:
    """Return the root of a sum of powers, with the derivative 0 where the sum is 0."""
    zero = powers == 0
    return np.where(zero, at_zero, root(np.where(zero, 1, powers)))


def _length(x: Tracer) -> Any:
    """Return the Euclidean norm of all elements."""
    flat = reshape(x, (x.type.size,))
    if x.dtype.kind != "c":
        return root_of_squares(flat @ flat)  # type: ignore[operator]
    a: Any = real_part(flat)
    b: Any = imaginary_part(flat)
    return root_of_squares(a @ a + b @ b)


def _euclidean(x: Any, axes: tuple[int, ...]) -> Any:
    return root_of_squares(reduce_sum((np.conjugate(x) * x).real, axes))


def _of_vectors(x: Any, ord: Any, axis: int) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    sizes: Any = np.absolute(x)
    if isinstance(ord, Tracer) and not is_constant(ord):
        return _of_traced_order(sizes, ord, axis)
    if ord is None or ord == 2:
        return _euclidean(x, (axis,))
    if ord == np.inf:
        return _largest(sizes, axis)
    if ord == -np.inf:
        return reduce_min(sizes, (axis,))
    if ord == 0:
        return reduce_sum((x != 0).astype(sizes.dtype), (axis,))
    if ord == 1:
        return reduce_sum(sizes, (axis,))
    return _of_finite_order(sizes, ord, axis)


def _of_traced_order(sizes: Any, ord: Any, axis: int) -> Any:
    """Return a norm that depends on its order: one formula, and its limits at both infinities.

    The number of nonzero elements, of order 0, is no limit: it has no derivative there.
    """
    zero, upper, lower = ord == 0, ord == np.inf, ord == -np.inf
    found: Any = _of_finite_order(sizes, np.where(zero | upper | lower, 1, ord), axis)
    count: Any = reduce_sum(array((sizes != 0).astype(sizes.dtype)), (axis,))
    found = np.where(zero, count + unknown(array(np.where(zero, ord, 0))), found)
    if not sizes.shape[axis]:
        return found
    largest: Any = reduce_max(sizes, (axis,))
    smallest: Any = reduce_min(sizes, (axis,))
    return np.where(upper, largest, np.where(lower, smallest, found))


def _of_finite_order(sizes: Any, ord: Any, axis: int) -> Any:
    zero = sizes == 0  # where |x|ᵖ is 0 or infinite, the derivative is that of |x|, which is 0
    at_zero = np.where(np.real(ord) > 0, 0.0, np.inf).astype(sizes.dtype)
    powers = np.where(zero, at_zero, np.where(zero, 1, sizes) ** ord)
    total: Any = reduce_sum(array(powers), (axis,))
    return _root(total, lambda z: z ** np.reciprocal(ord, dtype=total.dtype), at_zero)


def _largest(x: Tracer, axis: int) -> Tracer:
    """Return the maximum of non-negative numbers, 0 of none."""
    return reduce_max(x, (axis,)) if x.shape[axis] else reduce_sum(x, (axis,))


def _of_matrices(x: Any, ord: Any, row: int, column: int) -> Any:
    if ord is None or ord in ("fro", "f"):
        return _euclidean(x, tuple(sorted((row, column))))
    if ord in (2, -2, "nuc"):
        s = svdvals(_matrices_last(x, row, column))
        last = s.ndim - 1
        if ord == "nuc":
            return reduce_sum(s, (last,))
        return _largest(s, last) if ord == 2 else reduce_min(s, (last,))
    if ord in (1, -1):
        summed, left = row, column - (column > row)
    elif ord in (np.inf, -np.inf):
        summed, left = column, row - (row > column)
    else:
        raise ValueError("Invalid norm order for matrices.")
    sums = reduce_sum(array(np.absolute(x)), (summed,))
    return _largest(sums, left) if ord > 0 else reduce_min(sums, (left,))


def _matrices_last(x: Tracer, row: int, column: int) -> Tracer:
    rest = tuple(k for k in range(x.ndim) if k not in (row, column))
    return permute(x, (*rest, row, column))
