"""NumPy's linear algebra: solving, inverses, determinants, powers and chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array, broadcast_shapes, broadcast_to, promote
from funcdiff.numpy.memory import mutation
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.linalg import determinants, systems
from funcdiff.ops.structure.structural import convert, permute, reshape

_SlogdetResult: Final[Any] = type(np.linalg.slogdet(np.eye(1)))


def inexact(x: Any) -> Tracer:
    """Return an array of a dtype that LAPACK has, integers as float64."""
    matrix: Tracer = array(x)
    if matrix.dtype.kind in "biu":
        return convert(matrix, FLOAT)
    if matrix.dtype.char not in "fdFD":
        raise TypeError(f"array type {matrix.dtype.name} is unsupported in linalg")
    return matrix


def matrix_stack(x: Any) -> Tracer:
    """Return a stack of matrices; raises NumPy's LinAlgError for fewer than two axes."""
    matrices = inexact(x)
    if matrices.ndim < 2:
        raise LinAlgError(
            f"{matrices.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    return matrices


def square_matrices(x: Any) -> Tracer:
    """Return a stack of square matrices; raises NumPy's LinAlgError for others."""
    matrices = matrix_stack(x)
    if matrices.shape[-1] != matrices.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return matrices


# ---- systems, inverse, determinant ---------------------------------------------------------------


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Tracer:
    """Return the solution of A·x = b; `b` is a vector only if it is 1-D, stacks broadcast."""
    left, right = promote(square_matrices(a), inexact(b))
    vector = right.ndim == 1
    if right.ndim == 0:
        raise ValueError("solve: the right-hand side is 0-d")
    if vector:
        right = reshape(right, (*right.shape, 1))
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"solve: matrices of shape {left.shape} do not fit a right-hand side of shape "
            f"{np.shape(b)}"
        )
    stack = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (broadcast_to(x, (*stack, *x.shape[-2:])) for x in (left, right))
    x = systems.solve(left, right)
    return reshape(x, x.shape[:-1]) if vector else x


@implements(np.linalg.inv)
def inv(a: Tracer) -> Tracer:
    """Return the inverse."""
    return systems.inv(square_matrices(a))


@implements(np.linalg.det)
def det(a: Tracer) -> Tracer:
    """Return the determinant."""
    return determinants.det(square_matrices(a))


@implements(np.linalg.slogdet)
def slogdet(a: Tracer) -> Any:
    """Return sign and logarithm of the modulus of the determinant."""
    return _SlogdetResult(*determinants.slogdet(square_matrices(a)))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tracer:
    """Return the solution of ``tensordot(a, x, x.ndim) = b``."""
    left, right = array(a), array(b)
    if axes is not None:
        moved = [normalize_axis(k, left.ndim) for k in axes]
        left = permute(left, (*(k for k in range(left.ndim) if k not in moved), *moved))
    shape = left.shape[right.ndim :]
    size = int(np.prod(shape, dtype=int))
    if left.type.size != size**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    x = solve(reshape(left, (size, size)), reshape(right, (right.type.size,)))
    return reshape(x, shape)


# ---- powers and chains ---------------------------------------------------------------------------


# ---- the array API's spellings -------------------------------------------------------------------


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """Return the product of a chain of matrices in the order of least cost."""
    xs: list[Any] = [array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return mutation.store("np.linalg.multi_dot", np.dot(*xs), out, casting="no")
    first, last = xs[0].ndim, xs[-1].ndim
    if first == 1:
        xs[0] = reshape(xs[0], (1, *xs[0].shape))
    if last == 1:
        xs[-1] = reshape(xs[-1], (*xs[-1].shape, 1))
    if any(x.ndim != 2 for x in xs):
        raise LinAlgError("arrays must be two-dimensional, but for vectors at the ends")
    product = _chain(xs, _best_splits([x.shape[0] for x in xs] + [xs[-1].shape[1]]))
    result = mutation.store("np.linalg.multi_dot", product, out, casting="no")
    kept = (*result.shape[:1] * (first > 1), *result.shape[1:] * (last > 1))
    return reshape(result, kept)


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return where to split each part of a chain (Cormen et al., chapter 15.2)."""
    count = len(sizes) - 1
    cost = {(k, k): 0 for k in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            k = i + length
            options = [
                (cost[i, m] + cost[m + 1, k] + sizes[i] * sizes[m + 1] * sizes[k + 1], m)
                for m in range(i, k)
            ]
            cost[i, k], splits[i, k] = min(options)
    return splits


def _chain(xs: list[Any], splits: dict[tuple[int, int], int]) -> Any:
    def product(i: int, k: int) -> Any:
        return xs[i] if i == k else product(i, splits[i, k]) @ product(splits[i, k] + 1, k)

    return product(0, len(xs) - 1)
