"""Products of vectors, matrices and tensors: every one is a `contract`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import (
    Shape,
    broadcast_shapes,
    broadcast_to,
    promote_arrays,
)
from funcdiff.numpy.memory import mutation
from funcdiff.numpy.shapes.shape import (
    as_ints,
    expand_dims,
    normalize_axis,
    ravel,
    squeeze,
)
from funcdiff.numpy.ufuncs.arithmetic import conjugate
from funcdiff.ops.products.contract import (
    Contraction,
    contract,
    contract_p,
    contraction,
)

F = TypeVar("F", bound=Callable[..., Any])


# ---- stacks of vectors and matrices ------------------------------------------------------------


@implements(np.matmul, operands=2)
def matmul(x: Any, y: Any) -> Tracer:
    """Return the matrix product; stacks of matrices broadcast."""
    x, y = promote_arrays(x, y)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"matmul: an operand is 0-d, at {user_location()}; use * instead")
    inner_left, inner_right = x.shape[-1], y.shape[max(-2, -y.ndim)]
    if inner_left != inner_right:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} do not match: {inner_left} is not "
            f"{inner_right}"
        )
    depth = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if x.ndim > 2 and y.ndim > 2:
        x, y = (broadcast_to(z, (*depth, *z.shape[-2:])) for z in (x, y))
    return multiply_stacks(x, y)


def multiply_stacks(x: Tracer, y: Tracer) -> Tracer:
    """Return the matrix product of stacks of equal depth, or of which one is not a stack."""
    depth = max(x.ndim, y.ndim, 2) - 2
    labels = tuple(range(depth))
    row, inner, column = depth, depth + 1, depth + 2
    left = (*(labels if x.ndim > 2 else ()), *((row,) if x.ndim > 1 else ()), inner)
    right = (*(labels if y.ndim > 2 else ()), inner, *((column,) if y.ndim > 1 else ()))
    out = (*labels, *((row,) if x.ndim > 1 else ()), *((column,) if y.ndim > 1 else ()))
    return contract(x, y, left, right, out)


@implements("vecdot")
def vecdot(x: Any, y: Any) -> Tracer:
    """Return the inner products of stacks of vectors, conjugating the first."""
    x, y = _cores("vecdot", x, y, 1, 1)
    _check_sizes("vecdot", x.shape, y.shape, x.shape[-1], y.shape[-1])
    depth = broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (broadcast_to(z, (*depth, z.shape[-1])) for z in (x, y))
    labels = tuple(range(len(depth)))
    inner = (*labels, len(depth))
    return contract(_conjugate(x), y, inner, inner, labels)


@implements("matvec")
def matvec(x: Any, y: Any) -> Tracer:
    """Return the products of stacks of matrices with stacks of vectors."""
    x, y = _cores("matvec", x, y, 2, 1)
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


@implements("vecmat")
def vecmat(x: Any, y: Any) -> Tracer:
    """Return the products of stacks of vectors, conjugated, with stacks of matrices."""
    x, y = _cores("vecmat", x, y, 1, 2)
    return squeeze(matmul(expand_dims(_conjugate(x), -2), y), -2)


def _cores(name: str, x: Any, y: Any, left: int, right: int) -> list[Tracer]:
    """Return promoted operands that have as many axes as the product needs."""
    operands = promote_arrays(x, y)
    for k, (z, needed) in enumerate(zip(operands, (left, right), strict=True)):
        if z.ndim < needed:
            raise ValueError(
                f"{name}: Input operand {k} does not have enough dimensions (has {z.ndim}, needs "
                f"{needed})"
            )
    return operands


def _check_sizes(name: str, x: Shape, y: Shape, left: int, right: int) -> None:
    if left != right:
        raise ValueError(f"{name}: shapes {x} and {y} not aligned: {left} is not {right}")


# ---- tensors -----------------------------------------------------------------------------------


@implements(np.dot, operands=2)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the product over the last axis of `a` and the last but one of `b`."""
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        return mutation.store("np.dot", np.multiply(x, y), out)
    return mutation.store("np.dot", _over("np.dot", x, y, [-1], [max(-2, -y.ndim)]), out)


@implements(np.inner, operands=2)
def inner(a: Any, b: Any, /) -> Any:
    """Return the product over the last axes."""
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        return np.multiply(x, y)
    return _over("np.inner", x, y, [-1], [-1])


def _conjugate(x: Tracer) -> Tracer:
    """Return the conjugate of a complex array; of booleans NumPy would make integers."""
    return conjugate(x) if x.dtype.kind == "c" else x


@implements(np.vdot, operands=2)
def vdot(a: Any, b: Any, /) -> Tracer:
    """Return the inner product of the flat arrays, conjugating the first."""
    x, y = (ravel(z) for z in promote_arrays(a, b))
    return _over("np.vdot", _conjugate(x), y, [0], [0])


@implements(np.tensordot, operands=2)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    """Return the product over the given axes: a number of adjacent ones, or two lists."""
    x, y = promote_arrays(a, b)
    if np.iterable(axes):
        left, right = (as_ints(side) for side in axes)
    else:
        count = int(axes)
        left, right = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    if len(left) != len(right):
        raise ValueError(f"shape-mismatch for sum: axes {axes}")
    for side, z in ((left, x), (right, y)):
        if len({normalize_axis(axis, z.ndim) for axis in side}) < len(side):
            raise ValueError("duplicate axes are not allowed in tensordot")
    return _over("np.tensordot", x, y, left, right)


def _over(
    name: str, x: Tracer, y: Tracer, left_axes: Sequence[int], right_axes: Sequence[int]
) -> Tracer:
    """Return the product over pairs of axes; those left over follow each other."""
    product = _product_over(name, x.shape, y.shape, tuple(left_axes), tuple(right_axes))
    return bind(contract_p, product, x, y)[0]


@lru_cache(maxsize=4096)
def _product_over(
    name: str, x: Shape, y: Shape, left_axes: Shape, right_axes: Shape
) -> Contraction:
    """Return how arrays of two shapes are multiplied over pairs of axes."""
    left, right = list(range(len(x))), list(range(len(x), len(x) + len(y)))
    summed = []
    for i, j in zip(left_axes, right_axes, strict=True):
        i, j = normalize_axis(i, len(x)), normalize_axis(j, len(y))
        _check_sizes(name, x, y, x[i], y[j])
        right[j] = left[i]
        summed.append(left[i])
    kept = tuple(k for k in (*left, *right) if k not in summed)
    return contraction(tuple(left), tuple(right), kept)


@implements(np.outer, operands=2)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the products of all pairs of elements, as a matrix."""
    x, y = (ravel(z) for z in promote_arrays(a, b))
    return mutation.store("np.outer", contract(x, y, (0,), (1,), (0, 1)), out)


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    """Return the vector product of stacks of vectors in space."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        raise ValueError("At least one array has zero dimension")
    x, y = np.moveaxis(x, axisa, -1), np.moveaxis(y, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"np.cross needs vectors of dimension 3, got {x.shape[-1]} and {y.shape[-1]}, "
            f"at {user_location()}. In the plane write a[0]*b[1] - a[1]*b[0]."
        )
    u: Any = np.moveaxis(x, -1, 0)
    v: Any = np.moveaxis(y, -1, 0)
    product = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
    return np.stack(product, axis=axisc)
