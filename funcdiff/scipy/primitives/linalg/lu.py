"""The factorizations A = P·L·U with row exchanges, and A = L·D·Lᴴ of Hermitian matrices.

Of P·A = L·U and X = L⁻¹·P·dA·U⁻¹, what is below the diagonal belongs to L, the rest to U
(F. de Hoog, R. Anderssen, M. Lukas, "Differentiation of matrix functionals using triangular
factorization", Math. Comp. 80, 2011):

    dL = L·tril(X, -1),   dU = triu(X)·U = L⁻¹·P·dA - tril(X, -1)·U.

What is below the diagonal of X does not ask for the last pivot, which is zero where A is singular.
At an earlier zero the factors jump.

A matrix with more rows than columns, or more columns than rows, is one that is square with the
columns of the unit matrix, or the rows, added; what they add is left out again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.indexing import take_along
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.elementwise.logic import equal, logical_and
from funcdiff.ops.families import constant_op
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.matrices import (
    columns,
    factorizable,
    identity,
    matmul,
    matrix_transpose,
    on_diagonal,
    pad,
    per_column,
    per_row,
    rows,
    square,
    strictly_lower,
    symmetric_tangent,
    triangle,
)
from funcdiff.ops.linalg.routines import over_stack, routine
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import iota, select
from funcdiff.space import add, neg, zeros

_PIVOT: Final = np.dtype(np.int32)


def _abstract(_p: Params, a: ArrayType) -> Types:
    *stack, height, width = factorizable(a).shape
    return a, ArrayType((*stack, min(height, width)), _PIVOT)


def _jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (t,) = xs, ts
    assert t is not None
    lu, pivots = lu_factor(a)
    if a.type.size == 0:
        return [lu, pivots], [None, None]
    height, width = a.shape[-2:]
    size = max(height, width)
    moved = permute_rows(t, permutation(pivots, height))
    square, moved = (pad(pad(x, x.ndim - 1, size), x.ndim - 2, size) for x in (lu, moved))
    place: Any = iota(square.shape, square.ndim - 1)
    added = logical_and(on_diagonal(square.type), place >= min(height, width))
    square = select(added, constant(1, square.type), square)
    left, right = unit_lower(square), triangle(square, lower=False)
    inner = triangular_solve(left, moved, lower=True)
    one = constant(1, square.type)
    pivotless = logical_and(on_diagonal(square.type), equal(square, zeros(square.type)))
    missing = reduce_any(pivotless, (square.ndim - 2,))
    regular = select(pivotless, one, right)
    below = matrix_transpose(
        triangular_solve(matrix_transpose(regular), matrix_transpose(inner), lower=True)
    )
    below = require_zero(strictly_lower(below), per_column(missing, square.shape), "LU factors")
    below = strictly_lower(below)  # in reverse mode, too
    upper = triangle(add(inner, neg(matmul(below, right))), lower=False)
    turned = add(matmul(left, below), upper)
    return [lu, pivots], [columns(rows(turned, 0, height), 0, width), None]


lu_factor_p: Final = Primitive(
    "lu_factor",
    Params,
    abstract=_abstract,
    impl=lambda _p: routine("lu_factor"),
    jvp=_jvp,
    facts=Facts(raises=True),
)


def lu_factor(a: Tracer) -> tuple[Tracer, ...]:
    """Return L, without its diagonal of ones, and U in one matrix, and LAPACK's row exchanges."""
    return bind(lu_factor_p, NONE, a)


def unit_lower(lu: Tracer) -> Tracer:
    """Return the lower triangle with ones on the diagonal."""
    return add(strictly_lower(lu), identity(lu.type))


# ---- row exchanges -------------------------------------------------------------------------------


class Height(Params):
    """How many rows there are."""

    height: int


def _permutation(p: Height) -> Any:
    def one(pivots: Any) -> Any:
        order = np.arange(p.height)
        for k, other in enumerate(pivots):
            order[[k, other]] = order[[other, k]]
        return order

    return over_stack(one, 1)


permutation_p: Final = constant_op(
    "permutation",
    Height,
    abstract=lambda p, x: (ArrayType((*x.shape[:-1], p.height), INT),),
    impl=_permutation,
)


def permutation(pivots: Tracer, height: int) -> Tracer:
    """Return which row comes to each place by the exchanges, one after the other."""
    return bind(permutation_p, Height(height), pivots)[0]


def permute_rows(x: Tracer, order: Tracer) -> Tracer:
    """Return the rows of matrices in an order."""
    return take_along(x, per_row(order, x.shape), x.ndim - 2)


# ---- The factorization A = L·D·Lᴴ of Hermitian matrices, with L·D·Lᵀ of symmetric ones -----------
#
# D has blocks of one and two rows, and the rows of L are in an order that is constant. From X =
# L⁻¹·dA·L⁻ᴴ follow dD, its blocks, and dL = L·S, where S·D is what of X is below these blocks: as
# for a Cholesky factor (I. Murray, "Differentiation of the Cholesky decomposition",
# arXiv:1602.07527), with no diagonal to share.


class Symmetric(Params):
    """Which triangle counts, and whether the other one is its conjugate."""

    lower: bool
    hermitian: bool


def _abstract_ldl(_p: Symmetric, a: ArrayType) -> Types:
    return square(a), a, ArrayType(a.shape[:-1], INT)


def _jvp_ldl(p: Symmetric, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (given,) = xs, ts
    assert given is not None
    factors: Any = bind(ldl_p, p, a)
    outer, d, order = factors
    t: Any = symmetric_tangent(a, given, lower=p.lower, hermitian=p.hermitian)

    def flip(x: Any) -> Any:
        y: Any = matrix_transpose(x)
        return np.conj(y) if p.hermitian else y

    left: Any = np.linalg.inv(outer)
    x = left @ t @ flip(left)
    blocks = on_diagonal(d.type) | (d != 0)
    outside = np.where(blocks, 0, np.tril(x) if p.lower else np.triu(x))
    moved: Any = outer @ np.where(blocks, 0, _divide(outside, d))
    return [outer, d, order], [moved, np.where(blocks, x, 0), None]


def _divide(x: Any, d: Any) -> Any:
    """Return X·D⁻¹; what a block of one row that is zero divides stands in its column only."""
    diagonal: Any = np.diagonal(d, axis1=-2, axis2=-1)[..., None, :]
    itself: Any = on_diagonal(d.type)
    beside: Any = np.where(itself, 0, d)
    paired = np.any(beside != 0, axis=-2, keepdims=True)
    other = np.where(paired, diagonal @ np.where(beside != 0, 1, 0).astype(d.dtype), 1)
    determinant = diagonal * other - np.sum(
        beside * matrix_transpose(beside), axis=-2, keepdims=True
    )
    across = np.where(beside != 0, beside / np.where(paired, determinant, 1), 0)
    return x * (other / determinant) + x @ -across


ldl_p: Final = Primitive(
    "ldl",
    Symmetric,
    abstract=_abstract_ldl,
    impl=lambda p: routine("ldl", lower=p.lower, hermitian=p.hermitian),
    jvp=_jvp_ldl,
    facts=Facts(raises=True),
)


def ldl(a: Tracer, *, lower: bool, hermitian: bool) -> tuple[Tracer, ...]:
    """Return L with its rows in the order of `a`, D, and the order in which L is triangular."""
    return bind(ldl_p, Symmetric(lower, hermitian), a)
