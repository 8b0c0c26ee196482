"""Stacks of matrices, the last two axes: product, transposes, triangles, diagonal, trace."""

from __future__ import annotations

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.types import ArrayType
from funcdiff.ops.complex import conj
from funcdiff.ops.contract import contract
from funcdiff.ops.logic import equal, greater
from funcdiff.ops.structural import iota, permute, select
from funcdiff.space import add, broadcast, mul, reduce_sum, zeros


def matmul(x: Tracer, y: Tracer) -> Tracer:
    """Return the product of two stacks of one depth."""
    *stack, row, inner, column = range(x.ndim + 1)
    return contract(x, y, (*stack, row, inner), (*stack, inner, column), (*stack, row, column))


def transposed(x: Tracer) -> Tracer:
    """Return Xᵀ."""
    *stack, row, column = range(x.ndim)
    return permute(x, (*stack, column, row))


def adjoint(x: Tracer) -> Tracer:
    """Return the conjugate transpose Xᴴ."""
    return conj(transposed(x))


def hermitian(t: Tracer) -> Tracer:
    """Return (T + Tᴴ)/2."""
    return mul(add(t, adjoint(t)), constant(0.5, t.type))


def scaled_columns(x: Tracer, values: Tracer) -> Tracer:
    """Return X·diag(values)."""
    *stack, column = range(values.ndim)
    return mul(x, broadcast(values, x.shape, (*stack, column + 1)))


def trace_of_product(x: Tracer, y: Tracer) -> Tracer:
    """Return tr(X·Y), without the product."""
    *stack, row, column = range(x.ndim)
    return contract(x, y, (*stack, row, column), (*stack, column, row), tuple(stack))


def on_diagonal(type_: ArrayType) -> Tracer:
    """Return the mask of the diagonal."""
    rows, columns = _positions(type_)
    return equal(rows, columns)


def below_diagonal(type_: ArrayType) -> Tracer:
    """Return the mask of the strict lower triangle."""
    rows, columns = _positions(type_)
    return greater(rows, columns)


def _positions(type_: ArrayType) -> tuple[Tracer, Tracer]:
    return iota(type_.shape, type_.ndim - 2), iota(type_.shape, type_.ndim - 1)


def triangle(x: Tracer, *, lower: bool) -> Tracer:
    """Return one triangle, with the diagonal; the other is zero."""
    rows, columns = _positions(x.type)
    outside = greater(columns, rows) if lower else greater(rows, columns)
    return select(outside, zeros(x.type), x)


def identity(type_: ArrayType) -> Tracer:
    """Return the unit matrices of a type."""
    return select(on_diagonal(type_), constant(1, type_), zeros(type_))


def diagonal(x: Tracer) -> Tracer:
    """Return the diagonals of square matrices."""
    return reduce_sum(select(on_diagonal(x.type), x, zeros(x.type)), (x.ndim - 1,))


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
