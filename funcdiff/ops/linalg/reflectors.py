"""Householder's reflectors, by which LAPACK represents the Q of a factorization.

Q = H₁·H₂ ⋯ with Hₖ = 1 - τₖ·vₖ·vₖᴴ, and the first element of vₖ that is not 0 is a 1 in row k.
With the columns of V the vectors, E those of the unit matrix, and T upper triangular with diagonal
τ, that is Q = E - V·T·V₁ᴴ, V₁ the leading square block: Q - E has the LU factors V and
U = -T·V₁ᴴ (G. Ballard et al., "Reconstructing Householder Vectors from Tall-Skinny QR", 2014).
So V and τ = -diag U move as the factors of an LU decomposition do,

    V₁⁻¹·dV₁ = L,   dU = V₁⁻¹·dQ₁ - L·U,   L the strict lower triangle of V₁⁻¹·dQ₁·U⁻¹.
"""

from __future__ import annotations

from typing import Any, Final

from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import NONE, Params
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.families import DIAGONAL, symmetric
from funcdiff.ops.linalg.matrices import (
    diagonal,
    identity,
    matmul,
    on_diagonal,
    strictly_lower,
    transposed,
    triangle,
)
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, select
from funcdiff.space import add, broadcast, neg, zeros


def _reflected(x: Any, none: Any) -> Any:
    if (none & (x != 0)).any():
        raise NotDifferentiableError(
            "qr(mode='raw') of a matrix of which a column is zero below the diagonal after the "
            "reflections before: LAPACK does not reflect it, and does so next to it, so that h and "
            "tau jump. Pass mode='reduced', whose factors have a derivative."
        )
    return x


reflected_p: Final = symmetric("reflected", Params, impl=lambda _p: _reflected, facts=DIAGONAL)


def reflected(x: Tracer, none: Tracer) -> Tracer:
    """Return what is known of vectors as it is; only zeros may stand where there are none."""
    return bind(reflected_p, NONE, x, none)[0]


def moved_reflectors(
    h: Tracer, tau: Tracer, q: Tracer, dq: Tracer, dr: Tracer
) -> tuple[Tracer, Tracer]:
    """Return how LAPACK's representation of a matrix of M rows and N columns moves.

    Parameters
    ----------
    h
        As `numpy.linalg.qr` returns it for the mode "raw": transposed, (..., N, M).
    tau
        The factors, (..., K).
    q
        The reduced Q, (..., M, K) with K = min(M, N).
    dq, dr
        How the reduced Q moves, and R, (..., K, N).

    Returns
    -------
    tuple
        How `h` moves, and τ.
    """
    *_, rows, rank = q.shape
    v = _with_unit_diagonal(_columns(transposed(h), rank))
    head = _rows(v, 0, rank)
    u = triangle(triangular_solve(head, _rows(_less_unit(q), 0, rank), lower=True), lower=False)
    none = equal(tau, zeros(tau.type))
    regular = select(_below(none, u), identity(u.type), u)
    b = triangular_solve(head, _rows(dq, 0, rank), lower=True)
    turn = strictly_lower(_divided(b, regular))
    turn = strictly_lower(reflected(turn, _below(none, turn)))
    du = add(b, neg(matmul(turn, u)))
    dv = matmul(head, turn)
    if rows > rank:
        below = add(_rows(dq, rank, rows), neg(matmul(_rows(v, rank, rows), du)))
        below = _divided(below, regular)
        dv = concatenate([dv, reflected(below, _below(none, below))], dv.ndim - 2)
    upper, lower = _padded(dr, dr.ndim - 2, rows), _padded(dv, dv.ndim - 1, dr.shape[-1])
    return transposed(add(upper, lower)), neg(diagonal(du))


def _below(mask: Tracer, x: Tracer) -> Tracer:
    """Return a mask of columns as one of the elements of `x`."""
    *stack, column = range(mask.ndim)
    return broadcast(mask, x.shape, (*stack, column + 1))


def _columns(x: Tracer, count: int) -> Tracer:
    return slice_along(x, x.ndim - 1, 0, count)


def _rows(x: Tracer, start: int, stop: int) -> Tracer:
    return slice_along(x, x.ndim - 2, start, stop)


def _with_unit_diagonal(x: Tracer) -> Tracer:
    """Return the vectors: what is below the diagonal, which is 1."""
    return select(on_diagonal(x.type), constant(1, x.type), strictly_lower(x))


def _less_unit(q: Tracer) -> Tracer:
    return add(q, neg(select(on_diagonal(q.type), constant(1, q.type), zeros(q.type))))


def _divided(x: Tracer, u: Tracer) -> Tracer:
    """Return X·U⁻¹."""
    return transposed(triangular_solve(transposed(u), transposed(x), lower=True))


def _padded(x: Tracer, axis: int, length: int) -> Tracer:
    if x.shape[axis] == length:
        return x
    shape = (*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :])
    return concatenate([x, zeros(x.type.with_shape(shape))], axis)
