"""NumPy's linear algebra: solving, inverses, determinants, powers and chains."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array, broadcast_shapes, broadcast_to, promote
from funcdiff.ops.linalg import determinants, systems
from funcdiff.ops.structure.structural import convert, reshape

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
