"""Norms of vectors and matrices: zero has the derivative zero, and ties share theirs."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.dispatch import implements
from funcdiff.numpy.linalg import svdvals
from funcdiff.numpy.promotion import array
from funcdiff.numpy.shape import normalized_axes, normalized_axis
from funcdiff.ops.complex import imaginary_part, real_part
from funcdiff.ops.structural import convert, permute, reshape


@implements(np.linalg.norm)
def norm(x: Tracer, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """Return a norm of vectors (one axis) or matrices (two axes)."""
    if x.dtype.kind in "biu":
        x = convert(x, FLOAT)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2)):
        return _kept(_length(x), x, tuple(range(x.ndim)), keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    places = tuple(normalized_axis(_as_axis(k), x.ndim) for k in axes)
    if len(places) == 1:
        if axis is None and ord == 2:
            return _kept(_length(x), x, places, keepdims)
        return _kept(_of_vectors(x, ord, places[0]), x, places, keepdims)
    if len(places) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if places[0] == places[1]:
        raise ValueError("Duplicate axes given.")
    return _kept(_of_matrices(x, ord, *places), x, places, keepdims)


def _as_axis(axis: Any) -> int:
    try:
        return int(axis)
    except (TypeError, ValueError):
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from None


def _kept(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """Put the axes that were reduced back, with length 1."""
    if not keepdims:
        return y
    return reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def _root(squares: Any, power: Callable[[Any], Any] = np.sqrt) -> Any:
    """Return the root of a sum of powers, with the derivative 0 where the sum is 0."""
    zero = squares == 0
    return np.where(zero, 0, power(np.where(zero, 1, squares)))


def _length(x: Tracer) -> Any:
    """Return the Euclidean norm of all elements."""
    flat = reshape(x, (x.type.size,))
    if x.dtype.kind != "c":
        return _root(flat @ flat)  # type: ignore[operator]
    a: Any = real_part(flat)
    b: Any = imaginary_part(flat)
    return _root(a @ a + b @ b)


def _euclidean(x: Any, axes: int | tuple[int, ...]) -> Any:
    return _root(np.add.reduce((np.conjugate(x) * x).real, axis=axes))


def _of_vectors(x: Any, ord: Any, axis: int) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return _euclidean(x, axis)
    if ord == np.inf:
        return _largest(np.absolute(x), axis)
    if ord == -np.inf:
        return np.min(np.absolute(x), axis=axis)
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), axis=axis)
    if ord == 1:
        return np.add.reduce(np.absolute(x), axis=axis)
    sizes = np.absolute(x)
    total = np.add.reduce(sizes**ord, axis=axis)
    return _root(total, lambda z: z ** np.reciprocal(ord, dtype=total.dtype))


def _largest(x: Any, axis: int) -> Any:
    """Return the maximum of non-negative numbers, 0 of none."""
    if x.shape[axis] == 0:
        return np.sum(x, axis=axis)
    return np.max(x, axis=axis)


def _of_matrices(x: Any, ord: Any, row: int, column: int) -> Any:
    if ord is None or ord in ("fro", "f"):
        return _euclidean(x, (row, column))
    if ord in (2, -2, "nuc"):
        s: Any = svdvals(_matrices_last(x, row, column))
        if ord == "nuc":
            return np.sum(s, axis=-1)
        return _largest(s, -1) if ord == 2 else np.min(s, axis=-1)
    if ord in (1, -1):
        summed, left = row, column - (column > row)
    elif ord in (np.inf, -np.inf):
        summed, left = column, row - (row > column)
    else:
        raise ValueError("Invalid norm order for matrices.")
    sums: Any = np.add.reduce(np.absolute(x), axis=summed)
    return _largest(sums, left) if ord > 0 else np.min(sums, axis=left)


def _matrices_last(x: Tracer, row: int, column: int) -> Tracer:
    rest = tuple(k for k in range(x.ndim) if k not in (row, column))
    return permute(x, (*rest, row, column))


@implements(np.linalg.vector_norm)
def vector_norm(
    x: Tracer, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Tracer:
    """Return a norm of vectors, which may lie along several axes."""
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(x.ndim)) if axis is None else axis
        places = tuple(normalized_axis(k, x.ndim) for k in axes)
        normalized_axes(axes, x.ndim)
        rest = tuple(k for k in range(x.ndim) if k not in places)
        size = prod(x.shape[k] for k in places)
        flat = reshape(permute(x, (*places, *rest)), (size, *(x.shape[k] for k in rest)))
        return _kept(norm(flat, ord, 0), x, places, keepdims)
    return norm(x, ord, axis, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Tracer, /, *, keepdims: bool = False, ord: Any = "fro") -> Tracer:
    """Return a norm of matrices."""
    return norm(array(x), ord, (-2, -1), keepdims)
