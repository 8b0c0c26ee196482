"""The differential of the Cholesky factorisation and its adjoint, by blocks.

Of A = L·Lᵀ, dA = dL·Lᵀ + L·dLᵀ has one lower triangular solution dL, linear in dA.  Written as
L·Φ(L⁻¹·dA·L⁻ᵀ) it takes an inverse and three products, some 5 n³ operations; by blocks, as the
factorisation itself is done, it takes 2/3 n³, and so does its adjoint.  The algorithms are those of
I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.matrices import matmul, square, transposed, triangle
from funcdiff.space import add, neg, sum_tangents

LARGE: Final = 128
"""Rows from which blocks are faster than an inverse of the factor and products with it."""

_BLOCK: Final = 48
"""Rows of a block, of which the inverse is computed."""


class Way(Params):
    """Whether it is the differential, or its adjoint."""

    adjoint: bool


def _panels(*xs: Any, backwards: bool) -> Iterator[list[tuple[Any, ...]]]:
    """Yield parts of lower triangular matrices: a block on the diagonal, left of it, below both."""
    starts = range(0, xs[0].shape[-1], _BLOCK)
    for start in reversed(starts) if backwards else starts:
        left, rows, rest = slice(start), slice(start, start + _BLOCK), slice(start + _BLOCK, None)
        places = ((rows, rows), (rows, left), (rest, left), (rest, rows))
        yield [tuple([x[..., i, j] for i, j in places]) for x in xs]


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


@lru_cache(maxsize=64)
def _masks(size: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return 1 in the lower triangle, and the same with ½ on the diagonal."""
    ones = np.tri(size, dtype=dtype)
    return ones, ones - np.eye(size, dtype=dtype) / 2


def _push(factor: Any, tangent: Any) -> Any:
    """Return the lower triangular X with X·Lᵀ + L·Xᵀ = T, of which the lower triangle is read."""
    result = np.tril(tangent)
    for (block, left, corner, below), (x, x_left, x_corner, x_below) in _panels(
        factor, result, backwards=False
    ):
        lower, half = _masks(block.shape[-1], result.dtype)
        block = block * lower
        inverse = np.linalg.inv(block)
        moved = x_left @ _turned(left)
        t = (x - moved - _turned(moved)) * half
        x[...] = block @ ((inverse @ (t + _turned(t)) @ _turned(inverse)) * half)
        x_below -= x_corner @ _turned(left)
        x_below -= corner @ _turned(x_left)
        x_below -= below @ _turned(x)
        x_below[...] = x_below @ _turned(inverse)
    return result


def _pull(factor: Any, cotangent: Any) -> Any:
    """Return the lower triangular W with ⟨W, T⟩ = ⟨C, X⟩ for the X of every T, X·Lᵀ + L·Xᵀ = T.

    It is the solution for X in reverse, panels and statements.
    """
    result = np.tril(cotangent)
    for (block, left, corner, below), (w, w_left, w_corner, w_below) in _panels(
        factor, result, backwards=True
    ):
        lower, half = _masks(block.shape[-1], result.dtype)
        block = block * lower
        inverse = np.linalg.inv(block)
        w_below[...] = w_below @ inverse
        above = _turned(w_below)
        w_corner -= w_below @ left
        w_left -= above @ corner
        w -= (above @ below) * lower
        t = _turned(inverse) @ ((_turned(block) @ w) * half) @ inverse
        t = t + _turned(t)
        w_left -= t @ left
        np.multiply(t, half, out=w)
    return result


def _abstract(_p: Way, factor: ArrayType, t: ArrayType) -> Types:
    if square(factor) is not t or t.dtype.kind != "f":
        raise TypeError(f"a factor and a change of real matrices are needed, got {factor}, {t}")
    return (t,)


def _moved(p: Way, xs: Tracers, ts: Tangents) -> Pushed:
    """Differentiate dX·Lᵀ + L·dXᵀ = dT - X·dLᵀ - dL·Xᵀ, and the adjoint of that."""
    (factor, _), (tf, t) = xs, ts
    y, change = _solution(p, *xs), None
    if tf is not None:
        tf = triangle(tf, lower=True)
        if p.adjoint:
            change = neg(matmul(add(y, transposed(y)), tf))
        else:
            half = neg(matmul(y, transposed(tf)))
            change = add(half, transposed(half))
    rest = sum_tangents([t, change])
    assert rest is not None
    return [y], [_solution(p, factor, rest)]


def _transpose(p: Way, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    factor, _ = xs
    assert factor is not None, "the differential is linear in the change alone"
    return [None, _solution(Way(not p.adjoint), factor, cts[0])]


def _impl(p: Way) -> Callable[..., Any]:
    return _pull if p.adjoint else _push


cholesky_differential_p: Final = Primitive(
    "cholesky_differential",
    Way,
    _abstract,
    _impl,
    _moved,
    _transpose,
    access=signature("...??,...??->...??"),
    facts=Facts(linear=slice(1, 2), raises=True),
)


def _solution(p: Way, factor: Tracer, t: Tracer) -> Tracer:
    return bind(cholesky_differential_p, p, factor, t)[0]


def cholesky_differential(factor: Tracer, t: Tracer) -> Tracer:
    """Return the lower triangular X with X·Lᵀ + L·Xᵀ = T; the lower triangle of T is read.

    L is the lower triangle of a real factor.
    """
    return _solution(Way(adjoint=False), factor, t)
