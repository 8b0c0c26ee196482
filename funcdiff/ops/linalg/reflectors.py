"""Householder's reflectors, by which LAPACK represents the Q of a factorization.

Q = H₁·H₂ ⋯ with Hₖ = 1 - τₖ·vₖ·vₖᴴ, and the first element of vₖ that is not 0 is a 1 in row k.
With the columns of V the vectors, E those of the unit matrix, and T upper triangular with diagonal
τ, that is Q = E - V·T·V₁ᴴ, V₁ the leading square block: Q - E has the LU factors V and
U = -T·V₁ᴴ (G. Ballard et al., "Reconstructing Householder Vectors from Tall-Skinny QR", 2014).
So V and τ = -diag U move as the factors of an LU decomposition do,

    V₁⁻¹·dV₁ = L,   dU = V₁⁻¹·dQ₁ - L·U,   L the strict lower triangle of V₁⁻¹·dQ₁·U⁻¹.
"""

from __future__ import annotations

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.matrices import (
    columns,
    diagonal,
    identity,
    matmul,
    on_diagonal,
    pad,
    per_column,
    rows,
    strictly_lower,
    transposed,
    triangle,
)
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import concatenate, select
from funcdiff.space import add, neg, zeros


def reflector_tangents(
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
    *_, length, rank = q.shape
    v = _with_unit_diagonal(columns(transposed(h), 0, rank))
    head = rows(v, 0, rank)
    u = triangle(triangular_solve(head, rows(_less_unit(q), 0, rank), lower=True), lower=False)
    none = equal(tau, zeros(tau.type))
    regular = select(per_column(none, u.shape), identity(u.type), u)
    b = triangular_solve(head, rows(dq, 0, rank), lower=True)
    turn = strictly_lower(_divide(b, regular))
    turn = strictly_lower(require_zero(turn, per_column(none, turn.shape), "reflectors"))
    du = add(b, neg(matmul(turn, u)))
    dv = matmul(head, turn)
    if length > rank:
        below = add(rows(dq, rank, length), neg(matmul(rows(v, rank, length), du)))
        below = _divide(below, regular)
        below = require_zero(below, per_column(none, below.shape), "reflectors")
        dv = concatenate([dv, below], dv.ndim - 2)
    upper, lower = pad(dr, dr.ndim - 2, length), pad(dv, dv.ndim - 1, dr.shape[-1])
    return transposed(add(upper, lower)), neg(diagonal(du))


def _with_unit_diagonal(x: Tracer) -> Tracer:
    """Return the vectors: what is below the diagonal, which is 1."""
    return select(on_diagonal(x.type), constant(1, x.type), strictly_lower(x))


def _less_unit(q: Tracer) -> Tracer:
    return add(q, neg(select(on_diagonal(q.type), constant(1, q.type), zeros(q.type))))


def _divide(x: Tracer, u: Tracer) -> Tracer:
    """Return X·U⁻¹."""
    return transposed(triangular_solve(transposed(u), transposed(x), lower=True))
