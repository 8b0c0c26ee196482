"""Linear systems and inverses of stacks of square matrices.

The leading axes are batch axes.  Solving is linear in the right-hand side, so that its transpose
is one more solve, with the transposed matrix; NumPy gives no access to the factors, so each solve
factorizes anew.  Differentials after M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.access import Access, signature
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import unary
from funcdiff.ops.linalg.matrices import matmul, matrix_transpose, square, triangle
from funcdiff.ops.structure.structural import permute, reshape
from funcdiff.space import align, neg, sum_tangents

P = TypeVar("P", bound=Params)


class Triangle(Params):
    """Which triangle of a matrix counts; the other one is not looked at."""

    lower: bool


# ---- A·X = B -----------------------------------------------------------------------------------


def _abstract_solve(_p: Params, a: ArrayType, b: ArrayType) -> Types:
    square(a)
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or b.dtype != a.dtype:
        raise TypeError(f"cannot solve a system of {a} for {b}")
    return (b,)


def _columns_apart(_p: Params, types: Types) -> Access:
    """Say that every right-hand side is solved for, by whatever tells the matrices of a stack."""
    a, b = types
    *stack, _, column = range(b.ndim)
    columns = (*stack, None, column)
    return Access((columns,), ((*stack, *[None for _ in range(len(stack), a.ndim)]), columns))


def solver(
    name: str,
    params: type[P],
    impl: Callable[[P], Callable[..., Any]],
    *,
    product: Callable[[P, Tracer, Tracer], Tracer],
    turned: Callable[[P, Tracer], tuple[P, Tracer]],
    abstract: Callable[..., Types] = _abstract_solve,
) -> Primitive[P]:
    """Declare X = A⁻¹·B, with dX = A⁻¹·(dB - dA·X).

    The first operand tells A, of which it may be a part, or the elements in an order of their own.
    ``product(p, a, x)`` is A·X, linear in `a`; ``turned(p, a)`` are the parameters and the operand
    that tell Aᵀ.
    """

    def solution(p: P, a: Tracer, b: Tracer) -> Tracer:
        return bind(primitive, p, a, b)[0]

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        (a, b), (ta, tb) = xs, ts
        x = solution(p, a, b)
        moved = None if ta is None else neg(product(p, ta, x))
        rest = sum_tangents([tb, moved])
        assert rest is not None
        return [x], [solution(p, a, rest)]

    def transpose(p: P, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
        (ct,), (a, _) = cts, xs
        assert a is not None, "solving is linear in the right-hand side alone"
        return [None, solution(*turned(p, a), ct)]

    def batch(p: P, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
        if batched[0]:
            return [solution(p, *align(size, xs, batched))]
        a, b = xs  # one matrix for all: the examples become columns
        *stack, row, column = range(1, b.ndim)
        wide = permute(b, (*stack, row, 0, column))
        x = solution(p, a, reshape(wide, (*b.shape[1:-1], size * b.shape[-1])))
        return [permute(reshape(x, wide.shape), (row, *range(row), column))]

    primitive = Primitive(
        name,
        params,
        abstract,
        impl,
        forward,
        transpose,
        batch,
        access=_columns_apart,
        facts=Facts(linear=slice(1, 2), raises=True),
    )
    return primitive


solve_p: Final = solver(
    "solve",
    Params,
    lambda _p: np.linalg.solve,
    product=lambda _p, a, x: matmul(a, x),
    turned=lambda p, a: (p, matrix_transpose(a)),
)


def solve(a: Tracer, b: Tracer) -> Tracer:
    """Return A⁻¹·B for stacks of matrices of one depth."""
    return bind(solve_p, NONE, a, b)[0]


_BLOCK: Final = 48
"""Rows of a triangular matrix up to which substitution is left to LAPACK's general solver."""


def _substitute(p: Triangle) -> Callable[..., Any]:
    return _forwards if p.lower else _backwards


def _forwards(a: Any, b: Any) -> Any:
    """Solve a lower triangular system by halves, so that most of it is matrix products.

    Upper triangular matrices are their own factors for LAPACK's general solver, which NumPy has,
    so that it only substitutes backwards; for that, small systems are put in reverse order.
    """
    n = a.shape[-1]
    if n <= _BLOCK:
        turned = (..., slice(None, None, -1), slice(None))
        return np.linalg.solve(np.tril(a)[..., ::-1, ::-1], b[turned])[turned]
    half = n // 2
    x = _forwards(a[..., :half, :half], b[..., :half, :])
    rest = b[..., half:, :] - a[..., half:, :half] @ x
    return np.concatenate([x, _forwards(a[..., half:, half:], rest)], axis=-2)


def _backwards(a: Any, b: Any) -> Any:
    """Solve an upper triangular system by halves."""
    n = a.shape[-1]
    if n <= _BLOCK:
        return np.linalg.solve(np.triu(a), b)
    half = n // 2
    x = _backwards(a[..., half:, half:], b[..., half:, :])
    rest = b[..., :half, :] - a[..., :half, half:] @ x
    return np.concatenate([_backwards(a[..., :half, :half], rest), x], axis=-2)


triangular_solve_p: Final = solver(
    "triangular_solve",
    Triangle,
    _substitute,
    product=lambda p, a, x: matmul(triangle(a, lower=p.lower), x),
    turned=lambda p, a: (Triangle(not p.lower), matrix_transpose(a)),
)


def triangular_solve(a: Tracer, b: Tracer, *, lower: bool) -> Tracer:
    """Return A⁻¹·B for the matrices that are one triangle of A, with the diagonal."""
    return bind(triangular_solve_p, Triangle(lower), a, b)[0]


# ---- the inverse -------------------------------------------------------------------------------


def _inverse(
    name: str, impl: Callable[..., Any], part: Callable[[Tracer], Tracer]
) -> Primitive[Params]:
    """Declare the inverse of a part of A: d(A⁻¹) = -A⁻¹·dA·A⁻¹."""
    return unary(
        name,
        Params,
        abstract=lambda _p, a: (square(a),),
        impl=lambda _p: impl,
        tangent=lambda _p, _a, y, t: neg(matmul(matmul(y, part(t)), y)),
        access=signature("...??->...??"),
        facts=Facts(raises=True),
    )


inv_p: Final = _inverse("inv", np.linalg.inv, lambda t: t)


def inv(a: Tracer) -> Tracer:
    """Return A⁻¹."""
    return bind(inv_p, NONE, a)[0]


# ---- the inverse of a triangular matrix ----------------------------------------------------------


def _invert(a: Any) -> Any:
    """Return the inverse of a lower triangular matrix, by halves as far as that pays."""
    n = a.shape[-1]
    if n <= _BLOCK // 2:
        return np.linalg.inv(np.tril(a))
    half = n // 2
    first, last = _invert(a[..., :half, :half]), _invert(a[..., half:, half:])
    result = np.zeros(a.shape, a.dtype)
    result[..., :half, :half], result[..., half:, half:] = first, last
    result[..., half:, :half] = -last @ (a[..., half:, :half] @ first)
    return result


triangular_inv_p: Final = _inverse("triangular_inv", _invert, lambda t: triangle(t, lower=True))


def triangular_inv(a: Tracer) -> Tracer:
    """Return the inverse of the lower triangle of A, with the diagonal."""
    return bind(triangular_inv_p, NONE, a)[0]
