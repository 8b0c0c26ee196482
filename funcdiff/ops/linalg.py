"""Linear systems and inverses of stacks of square matrices.

The leading axes are batch axes.  Solving is linear in the right-hand side, so that its transpose
is one more solve, with the transposed matrix; NumPy gives no access to the factors, so each solve
factorizes anew.  Differentials after M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.builder import Tracer, bind
from funcdiff.core.primitive import NONE, Params, Primitive, Types
from funcdiff.core.types import ArrayType
from funcdiff.ops.matrices import matmul, square, transposed, triangle
from funcdiff.ops.structural import permute, reshape
from funcdiff.space import Maybe, align, neg, sum_tangents

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Triangle(Params):
    """Which triangle of a matrix counts; the other one is not looked at."""

    lower: bool


# ---- A·X = B -----------------------------------------------------------------------------------


def _abstract_solve(_p: Params, a: ArrayType, b: ArrayType) -> Types:
    square(a)
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or b.dtype != a.dtype:
        raise TypeError(f"cannot solve a system of {a} for {b}")
    return (b,)


def _solver(
    name: str,
    params: type[P],
    impl: Callable[[P], Callable[..., Any]],
    *,
    part: Callable[[P, Tracer], Tracer],
    flipped: Callable[[P], P],
) -> Primitive[P]:
    """Declare X = A⁻¹·B, with dX = A⁻¹·(dB - dA·X).

    `part` is what counts of the matrix, and `flipped` gives the parameters for its transpose.
    """

    def solution(p: P, a: Tracer, b: Tracer) -> Tracer:
        return bind(primitive, p, a, b)[0]

    def forward(
        p: P, xs: Sequence[Tracer], ts: Sequence[Maybe]
    ) -> tuple[list[Tracer], list[Maybe]]:
        (a, b), (ta, tb) = xs, ts
        x = solution(p, a, b)
        moved = None if ta is None else neg(matmul(part(p, ta), x))
        rest = sum_tangents([tb, moved])
        assert rest is not None
        return [x], [solution(p, a, rest)]

    def transpose(p: P, _types: Types, cts: Sequence[Any], xs: Sequence[Maybe]) -> Sequence[Maybe]:
        (ct,), (a, _) = cts, xs
        assert a is not None, "solving is linear in the right-hand side alone"
        return [None, solution(flipped(p), transposed(a), ct)]

    def batch(p: P, size: int, xs: Sequence[Tracer], batched: Sequence[bool]) -> Sequence[Tracer]:
        if batched[0]:
            return [solution(p, *align(size, xs, batched))]
        a, b = xs  # one matrix for all: the examples become columns
        *stack, row, column = range(1, b.ndim)
        wide = permute(b, (*stack, row, 0, column))
        x = solution(p, a, reshape(wide, (*b.shape[1:-1], size * b.shape[-1])))
        return [permute(reshape(x, wide.shape), (row, *range(row), column))]

    primitive = Primitive(name, params, _abstract_solve, impl, forward, transpose, batch)
    return primitive


solve_p: Final = _solver(
    "solve",
    Params,
    lambda _p: np.linalg.solve,
    part=lambda _p, a: a,
    flipped=lambda p: p,
)


def solve(a: Tracer, b: Tracer) -> Tracer:
    """Return A⁻¹·B for stacks of matrices of one depth."""
    return bind(solve_p, NONE, a, b)[0]


def _substitute(p: Triangle) -> Callable[..., Any]:
    """Solve a triangular system by LAPACK's general solver, which NumPy has.

    Upper triangular matrices are their own factors, so that it only substitutes backwards; the
    rows and columns of a lower triangular one are put in reverse order for that.
    """
    if not p.lower:
        return lambda a, b: np.linalg.solve(np.triu(a), b)
    turned = (..., slice(None, None, -1), slice(None))
    return lambda a, b: np.linalg.solve(np.tril(a)[..., ::-1, ::-1], b[turned])[turned]


triangular_solve_p: Final = _solver(
    "triangular_solve",
    Triangle,
    _substitute,
    part=lambda p, a: triangle(a, lower=p.lower),
    flipped=lambda p: Triangle(not p.lower),
)


def triangular_solve(a: Tracer, b: Tracer, *, lower: bool) -> Tracer:
    """Return A⁻¹·B for the matrices that are one triangle of A, with the diagonal."""
    return bind(triangular_solve_p, Triangle(lower), a, b)[0]


# ---- the inverse -------------------------------------------------------------------------------


def _inv_jvp(
    _p: Params, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """d(A⁻¹) = -A⁻¹·dA·A⁻¹."""
    (a,), (t,) = xs, ts
    assert t is not None
    x = inv(a)
    return [x], [neg(matmul(matmul(x, t), x))]


inv_p: Final = Primitive(
    "inv",
    Params,
    abstract=lambda _p, a: (square(a),),
    impl=lambda _p: np.linalg.inv,
    jvp=_inv_jvp,
    batch=lambda _p, _size, xs, _batched: [inv(xs[0])],
)


def inv(a: Tracer) -> Tracer:
    """Return A⁻¹."""
    return bind(inv_p, NONE, a)[0]
