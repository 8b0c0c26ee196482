"""Stacks of matrices, the last two axes: products, triangles, and symmetry by one triangle."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Facts, Params, Tracers
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.families import constant_op, symmetric, unary
from funcdiff.ops.products.contract import contract
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, iota, permute, select
from funcdiff.space import add, broadcast, mul, neg, reduce_sum, zeros


def matmul(x: Tracer, y: Tracer) -> Tracer:
    """Return the product of two stacks of one depth."""
    *stack, row, inner, column = range(x.ndim + 1)
    return contract(x, y, (*stack, row, inner), (*stack, inner, column), (*stack, row, column))


def matrix_transpose(x: Tracer) -> Tracer:
    """Return Xᵀ."""
    *stack, row, column = range(x.ndim)
    return permute(x, (*stack, column, row))


def adjoint(x: Tracer) -> Tracer:
    """Return the conjugate transpose Xᴴ."""
    return conj(matrix_transpose(x))


def hermitian(t: Tracer) -> Tracer:
    """Return (T + Tᴴ)/2."""
    return mul(add(t, adjoint(t)), constant(0.5, t.type))


def in_basis(v: Tracer, x: Tracer) -> Tracer:
    """Return Vᴴ·X·V."""
    return matmul(matmul(adjoint(v), x), v)


def commutator(x: Tracer, y: Tracer) -> Tracer:
    """Return X·Y - Y·X."""
    return add(matmul(x, y), neg(matmul(y, x)))


def scale_columns(x: Tracer, values: Tracer) -> Tracer:
    """Return X·diag(values)."""
    return mul(x, per_column(values, x.shape))


def per_column(values: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Return matrices of a shape that have value j in column j."""
    *stack, _row, column = range(len(shape))
    return broadcast(values, shape, (*stack, column))


def per_row(values: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Return matrices of a shape that have value i in row i."""
    return broadcast(values, shape, tuple(range(len(shape) - 1)))


def per_matrix(values: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Return arrays of a shape of which the first axes, those of `values`, tell the value."""
    return broadcast(values, shape, tuple(range(values.ndim)))


def rows(x: Tracer, start: int, stop: int) -> Tracer:
    """Return some rows."""
    return slice_along(x, x.ndim - 2, start, stop)


def columns(x: Tracer, start: int, stop: int) -> Tracer:
    """Return some columns."""
    return slice_along(x, x.ndim - 1, start, stop)


def block_matrix(*blocks: Tracers) -> Tracer:
    """Return a matrix made of rows of blocks."""
    last = blocks[0][0].ndim - 1
    return concatenate([concatenate(row, last) for row in blocks], last - 1)


def pad(x: Tracer, axis: int, length: int) -> Tracer:
    """Return an array with zeros at the end of an axis."""
    if x.shape[axis] == length:
        return x
    shape = (*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :])
    return concatenate([x, zeros(x.type.with_shape(shape))], axis)


def trace_of_product(x: Tracer, y: Tracer) -> Tracer:
    """Return tr(X·Y), without the product."""
    *stack, row, column = range(x.ndim)
    return contract(x, y, (*stack, row, column), (*stack, column, row), tuple(stack))


def on_diagonal(type_: ArrayType) -> Tracer:
    """Return the mask of the diagonal."""
    return equal(iota(type_.shape, type_.ndim - 2), iota(type_.shape, type_.ndim - 1))


class Part(Params):
    """Whether what is below and above the diagonal is kept, and what multiplies the diagonal."""

    below: bool
    diagonal: float
    above: bool


@lru_cache(maxsize=64)
def _mask_of_part(p: Part, rows: int, columns: int) -> Any:
    """Return the mask of what does not become zero."""
    offsets = np.subtract.outer(np.arange(rows), np.arange(columns))
    below, above = (offsets > 0) & p.below, (offsets < 0) & p.above
    return below | above | ((offsets == 0) & (p.diagonal != 0))


def _part_impl(p: Part) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        rows, columns = x.shape[-2:]
        y = np.where(_mask_of_part(p, rows, columns), x, x.dtype.type(0))
        if p.diagonal not in (0.0, 1.0):
            size = min(rows, columns)
            on_diagonal = np.einsum("...ii->...i", y[..., :size, :size])
            on_diagonal *= x.dtype.type(p.diagonal)
        return y

    return function


part_p: Final = symmetric(
    "part", Part, impl=Implementation(_part_impl, fresh=True), facts=Facts("scaled")
)


def _part(x: Tracer, p: Part) -> Tracer:
    return bind(part_p, p, x)[0]


def lower_half(x: Tracer) -> Tracer:
    """Return the lower triangle with half the diagonal."""
    return _part(x, Part(below=True, diagonal=0.5, above=False))


def strictly_lower(x: Tracer) -> Tracer:
    """Return what is below the diagonal."""
    return _part(x, Part(below=True, diagonal=0.0, above=False))


def triangle(x: Tracer, *, lower: bool) -> Tracer:
    """Return one triangle, with the diagonal; the other is zero."""
    return _part(x, Part(below=lower, diagonal=1.0, above=not lower))


def identity(type_: ArrayType) -> Tracer:
    """Return the unit matrices of a type."""
    return select(on_diagonal(type_), constant(1, type_), zeros(type_))


def diagonal(x: Tracer) -> Tracer:
    """Return the diagonals of square matrices."""
    return reduce_sum(diagonal_part(x), (x.ndim - 1,))


def diagonal_part(x: Tracer) -> Tracer:
    """Return the matrices with the same diagonals, and zeros elsewhere."""
    return _part(x, Part(below=False, diagonal=1.0, above=False))


def square(type_: ArrayType) -> ArrayType:
    """Return the type of square matrices that LAPACK can factorize; raises TypeError otherwise."""
    if type_.ndim < 2 or type_.shape[-1] != type_.shape[-2]:
        raise TypeError(f"square matrices are needed, got {type_}")
    return factorizable(type_)


def factorizable(type_: ArrayType) -> ArrayType:
    """Return the type of matrices of one of LAPACK's dtypes; raises TypeError otherwise."""
    if type_.ndim < 2 or type_.dtype.char not in "fdFD":
        raise TypeError(f"matrices of f32, f64, c64 or c128 are needed, got {type_}")
    return type_


# ---- Symmetric and Hermitian matrices by convention: the value reads one triangle alone ----------
#
# What happens to such a matrix when all its elements change by T is
#
#     X + Xᴴ,   X = S∘T,
#
# S the shares of the elements. Where the matrix is symmetric, up to rounding errors of the rest of
# row and column, they are ½, so that gradients are symmetric, both triangles, whichever of them is
# read. Elsewhere they are 1 in the triangle that is read and 0 in the other, as the value has it:
# of ``[[p, 0], [q, r]]`` the lower one counts, except at ``q = 0``. Both are right for what changes
# symmetrically.


class OneTriangle(Params):
    """Which triangle is read, and whether the other one is its conjugate."""

    lower: bool
    hermitian: bool


@lru_cache(maxsize=64)
def _of_triangle(size: int, *, lower: bool) -> Any:
    """Return 1 in a triangle, ½ on the diagonal, and 0 in the other one."""
    half = np.tri(size, k=-1) + np.eye(size) / 2
    return half if lower else half.T


def _mirror(p: OneTriangle, a: Any) -> Any:
    turned = np.swapaxes(a, -1, -2)
    return turned.conj() if p.hermitian else turned


def _shares(p: OneTriangle) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        turned, size = _mirror(p, a), a.shape[-1]
        if (a == turned).all():
            return np.full(a.shape, 0.5, a.dtype)
        with np.errstate(invalid="ignore"):
            scale = np.sqrt(np.maximum(np.abs(a).max(axis=-1), np.abs(a).max(axis=-2)))
            error = 4 * size * np.finfo(a.dtype).eps * scale[..., :, None] * scale[..., None, :]
            differs = (np.abs(a - turned) > error).any(axis=(-1, -2), keepdims=True)
        return np.where(differs, _of_triangle(size, lower=p.lower), 0.5).astype(a.dtype)

    return function


shares_p: Final = constant_op(
    "triangle_shares", OneTriangle, abstract=lambda _p, a: (square(a),), impl=_shares
)


def symmetric_tangent(a: Tracer, t: Tracer, *, lower: bool, hermitian: bool = True) -> Tracer:
    """Return how the matrix that a triangle of `a` tells changes, as all elements change by `t`."""
    part = mul(bind(shares_p, OneTriangle(lower, hermitian), a)[0], t)
    return add(part, adjoint(part) if hermitian else matrix_transpose(part))


def _mirror_impl(p: OneTriangle) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        shares = _of_triangle(a.shape[-1], lower=p.lower).astype(a.dtype)
        part = np.multiply(a, shares, out=np.zeros_like(a), where=shares != 0)
        return part + _mirror(p, part)

    return function


mirrored_p: Final = unary(
    "mirrored",
    OneTriangle,
    abstract=lambda _p, a: (square(a),),
    impl=_mirror_impl,
    tangent=lambda p, a, _y, t: symmetric_tangent(a, t, lower=p.lower, hermitian=p.hermitian),
)


def mirrored(a: Tracer, *, lower: bool, hermitian: bool = True) -> Tracer:
    """Return the symmetric or Hermitian matrix that a triangle of `a` tells."""
    return bind(mirrored_p, OneTriangle(lower, hermitian), a)[0]
