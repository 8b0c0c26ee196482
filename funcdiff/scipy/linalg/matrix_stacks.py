"""Stacks of matrices and vectors as SciPy's functions take them, in one dtype of LAPACK's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.types import FLOAT, complex_dtype
from funcdiff.numpy.border.promotion import Traced, array, broadcast_shapes, broadcast_to, promote
from funcdiff.ops.structure.structural import convert, reshape


def inexact(x: Any) -> Traced:
    """Return an array of a dtype that LAPACK has: integers are doubles, half precision single."""
    found = array(x)
    if found.dtype.char in "fdFD":
        return found
    kind = {"e": np.dtype(np.float32), "G": complex_dtype(FLOAT)}.get(found.dtype.char, FLOAT)
    return convert(found, kind)


def stacks(*xs: Any, depths: tuple[int, ...] = ()) -> list[Traced]:
    """Return arrays of one dtype, broadcast to stacks of one shape.

    `*xs`: array-likes.
    `depths`: how many axes of each are no axes of the stack; by default two.

    Raises
    ------
    ValueError
        If an array has fewer axes, or stacks do not fit each other.
    """
    given = promote(*map(inexact, xs))
    depths = depths or (2,) * len(given)
    for x, depth in zip(given, depths, strict=True):
        if x.ndim < depth:
            raise ValueError(f"expected at least {depth} axes, got shape {x.shape}")
    cores = [x.shape[x.ndim - depth :] for x, depth in zip(given, depths, strict=True)]
    shapes = [x.shape[: x.ndim - depth] for x, depth in zip(given, depths, strict=True)]
    stack = broadcast_shapes(*shapes)
    return [broadcast_to(x, (*stack, *core)) for x, core in zip(given, cores, strict=True)]


def squares(*xs: Any) -> list[Traced]:
    """Return stacks of square matrices.

    Raises
    ------
    ValueError
        If there are others.
    """
    found = stacks(*xs)
    for x in found:
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(f"expected square matrices, got shape {x.shape}")
    return found


def system(a: Any, b: Any, depth: int = 2) -> tuple[Traced, Traced, Callable[[Any], Any]]:
    """Return the matrices and right-hand sides of systems, and what makes results like `b`.

    A right-hand side of one axis is a vector, any other a stack of matrices.

    Raises
    ------
    ValueError
        If they do not fit each other.
    """
    right = array(b)
    if right.ndim == 0:
        raise ValueError("the right-hand side has no axes")
    is_vector = right.ndim == 1
    left, right = stacks(
        a, reshape(right, (*right.shape, 1)) if is_vector else right, depths=(depth, 2)
    )
    return left, right, (lambda x: reshape(x, x.shape[:-1])) if is_vector else lambda x: x


def fitting(a: Any, b: Any) -> tuple[Traced, Traced, Callable[[Any], Any]]:
    """Return the same for square matrices of as many rows as the right-hand sides."""
    left, right, restored = system(a, b)
    if left.shape[-1] != left.shape[-2]:
        raise ValueError(f"expected square matrices, got shape {left.shape}")
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(f"shapes of a {left.shape} and b {np.shape(b)} are incompatible")
    return left, right, restored
