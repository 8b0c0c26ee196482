"""Stacks of matrices, the last two axes: product, transposes, triangles, diagonal, trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import Facts, Params
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.families import symmetric
from funcdiff.ops.products.contract import contract
from funcdiff.ops.structure.structural import iota, permute, select
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
    return equal(iota(type_.shape, type_.ndim - 2), iota(type_.shape, type_.ndim - 1))


@dataclass(frozen=True, slots=True)
class Part(Params):
    """Whether what is below and above the diagonal is kept, and what multiplies the diagonal."""

    below: bool
    diagonal: float
    above: bool


@lru_cache(maxsize=64)
def _kept(p: Part, rows: int, columns: int) -> Any:
    """Return the mask of what does not become zero."""
    offsets = np.subtract.outer(np.arange(rows), np.arange(columns))
    below, above = (offsets > 0) & p.below, (offsets < 0) & p.above
    return below | above | ((offsets == 0) & (p.diagonal != 0))


def _part_impl(p: Part) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        rows, columns = x.shape[-2:]
        y = np.where(_kept(p, rows, columns), x, x.dtype.type(0))
        if p.diagonal not in (0.0, 1.0):
            size = min(rows, columns)
            on_diagonal = np.einsum("...ii->...i", y[..., :size, :size])
            on_diagonal *= x.dtype.type(p.diagonal)
        return y

    return function


part_p: Final = symmetric("part", Part, impl=_part_impl, facts=Facts(fresh=True, diagonal=True))


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
