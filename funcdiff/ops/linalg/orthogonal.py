"""The QR factorization of matrices of every shape, and Householder's reflectors of its Q.

With A = Q·R and U the leading square block of R, the rotation Ω = Qᴴ·dQ and dR follow from
B = Qᴴ·dA·U⁻¹, because dR·R⁻¹ is upper triangular with a real diagonal, as LAPACK's R is
(S. Walter, L. Lehmann, "Algorithmic Differentiation of Linear Algebra Functions", 2018,
arXiv:1001.1654; D. Roberts, L. Roberts, "QR and LQ Decomposition Matrix Backpropagation
Algorithms for Square, Wide, and Deep Matrices", 2020, arXiv:2009.10071):

    Ω = K - Kᴴ + i·Im(diag B),   dR = Qᴴ·dA - Ω·R,   dQ = Q·Ω + (1 - Q·Qᴴ)·dA·U⁻¹,

with K the strict lower triangle of B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import imag, join
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.families import DIAGONAL, refusal, symmetric
from funcdiff.ops.linalg.degeneracy import (
    Directed,
    directed_assertion,
    require_zero,
    significant,
    skew_part,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    columns,
    diagonal,
    diagonal_part,
    factorizable,
    identity,
    matmul,
    matrix_transpose,
    on_diagonal,
    pad,
    per_column,
    per_row,
    rows,
    strictly_lower,
    triangle,
)
from funcdiff.ops.linalg.matrices import rows as take_rows
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import concatenate, iota, select
from funcdiff.space import add, neg, zeros

# ---- Householder's reflectors, by which LAPACK represents the Q of a factorization ---------------
#
# Q = H₁·H₂ ⋯ with Hₖ = 1 - τₖ·vₖ·vₖᴴ, and the first element of vₖ that is not 0 is a 1 in row k.
# With the columns of V the vectors, E those of the unit matrix, and T upper triangular with
# diagonal τ, that is Q = E - V·T·V₁ᴴ, V₁ the leading square block: Q - E has the LU factors V and U
# = -T·V₁ᴴ (G. Ballard et al., "Reconstructing Householder Vectors from Tall-Skinny QR", 2014). So V
# and τ = -diag U move as the factors of an LU decomposition do,
#
#     V₁⁻¹·dV₁ = L,   dU = V₁⁻¹·dQ₁ - L·U,   L the strict lower triangle of V₁⁻¹·dQ₁·U⁻¹.


def reflector_tangents(
    h: Tracer, tau: Tracer, q: Tracer, dq: Tracer, dr: Tracer
) -> tuple[Tracer, Tracer]:
    """Return how `h`, (..., N, M), and `tau`, (..., K), of ``np.linalg.qr(a, "raw")`` move.

    They move with the reduced Q, (..., M, K), and R, (..., K, N), for K = min(M, N).
    """
    *_, length, rank = q.shape
    below = columns(matrix_transpose(h), 0, rank)
    v = select(on_diagonal(below.type), constant(1, below.type), strictly_lower(below))
    head = rows(v, 0, rank)
    top = rows(q, 0, rank)
    u = triangle(triangular_solve(head, add(top, neg(identity(top.type))), lower=True), lower=False)
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
    return matrix_transpose(add(upper, lower)), neg(diagonal(du))


def _divide(x: Tracer, u: Tracer) -> Tracer:
    """Return X·U⁻¹."""
    return matrix_transpose(triangular_solve(matrix_transpose(u), matrix_transpose(x), lower=True))


# ---- columns that are any basis of a space -----------------------------------------------------


class Complement(Directed):
    """Where the columns begin that are an arbitrary basis, and whether to check a cotangent."""

    start: int


def _check(p: Complement) -> Callable[..., Any]:
    """Return what raises unless <ct, K> = 0 for all skew-Hermitian K among those columns."""
    start = p.start

    def is_skew(ct: Any) -> Any:
        return significant(skew_part(ct[..., start:, start:]), ct)

    return refusal(
        is_skew,
        "the result depends on which of many bases qr(mode='complete') returns for the vectors "
        "orthogonal to all columns: it has no derivative. Pass mode='reduced' if only the first "
        f"{p.start} columns of Q are needed; of the others, use what does not depend on that "
        "choice, such as the projector q2 @ q2.conj().T.",
    )


complement_gauge_p: Final = directed_assertion("complement_gauge", Complement, _check)


def complement_gauge(x: Tracer, start: int, *, checked: bool) -> Tracer:
    """Return the rotation Ω of an orthogonal matrix, or its cotangent, as it is.

    The columns from `start` on are any basis of the complement of the others: a cotangent must
    not ask for rotations among them.
    """
    return bind(complement_gauge_p, Complement(checked, start), x)[0]


# ---- infinite derivatives ----------------------------------------------------------------------


def _diverge(x: Any, mask: Any) -> Any:
    return x * np.where(mask & (x != 0), x.dtype.type(np.inf), x.dtype.type(1))


diverge_p: Final = symmetric("diverge", Params, impl=lambda _p: _diverge, facts=DIAGONAL)


def diverge(x: Tracer, mask: Tracer) -> Tracer:
    """Return x·∞ where the mask is true, but zeros, which nothing depends on, stay zero."""
    return bind(diverge_p, NONE, x, mask)[0]


# ---- the factorization -------------------------------------------------------------------------


class Qr(Params):
    """Which of the factors, and how much of them: NumPy's "reduced", "complete", "r" or "raw"."""

    mode: str


def _abstract_qr(p: Qr, a: ArrayType) -> Types:
    *stack, rows, columns = factorizable(a).shape
    if p.mode == "raw":
        return a.with_shape((*stack, columns, rows)), a.with_shape((*stack, min(rows, columns)))
    inner = rows if p.mode == "complete" else min(rows, columns)
    r = a.with_shape((*stack, inner, columns))
    return (r,) if p.mode == "r" else (a.with_shape((*stack, rows, inner)), r)


def _qr_jvp(p: Qr, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (t,) = xs, ts
    assert t is not None
    q, r = qr(a, "complete" if p.mode == "complete" else "reduced")
    moved: Tangents = [None, None]
    if 0 not in a.shape[-2:]:
        dq, dr = moved = _tangents(q, r, t)
    if p.mode == "raw":
        h, tau = qr(a, "raw")
        return [h, tau], moved if moved[0] is None else reflector_tangents(h, tau, q, dq, dr)
    return ([r], moved[1:]) if p.mode == "r" else ([q, r], moved)


def _tangents(q: Tracer, r: Tracer, t: Tracer) -> list[Tracer]:
    """Return dQ and dR by the formulas above.

    The columns of a complete Q that are orthogonal to A move without rotating among themselves.
    What belongs to a column of A that depends on those before, or to a later one, diverges.
    """
    *_, rows, width = q.shape
    rank, qh = min(t.shape[-2:]), adjoint(q)
    u = _leading(r, rows)
    dependent = _dependent(u)
    regular = select(per_column(dependent, u.shape), identity(u.type), u)
    x = columns(t, 0, rank)
    d = matrix_transpose(
        triangular_solve(matrix_transpose(regular), matrix_transpose(x), lower=True)
    )
    d = diverge(d, per_column(dependent, d.shape))
    b = matmul(qh, d)
    if width > rank:
        dependent, b = (pad(y, y.ndim - 1, width) for y in (dependent, b))
    rotation = _rotation(b)
    if width > rank:
        rotation = complement_gauge(rotation, rank, checked=False)
    dr = triangle(add(matmul(qh, t), neg(matmul(rotation, r))), lower=False)
    dq = matmul(q, rotation)
    if width < rows:
        dq = add(dq, add(d, neg(matmul(q, b))))
    return [dq, diverge(dr, per_row(dependent, r.shape))]


def _leading(r: Tracer, rows: int) -> Tracer:
    """Return the leading square block of R.

    Of a real matrix with no more rows than columns, the last column of the block does not matter,
    because the last column of Q is fixed by the others: it is that of the unit matrix here.
    """
    column = r.ndim - 1
    rank = min(rows, r.shape[column])
    u = take_rows(columns(r, 0, rank), 0, rank)
    if r.dtype.kind == "c" or rows > rank:
        return u
    number = iota(u.shape, column)
    return select(equal(number, constant(rank - 1, number.type)), identity(u.type), u)


def _dependent(u: Tracer) -> Tracer:
    """Return from which column of A on not all are independent, up to rounding errors."""
    elements: Any = u
    distances: Any = diagonal(u)
    lengths = np.max(np.abs(elements), axis=-2)
    tolerance = u.shape[-1] * float(np.finfo(u.dtype).eps)
    found: Any = np.cumsum(np.abs(distances) <= tolerance * lengths, axis=-1)
    dependent: Tracer = found > 0
    return dependent


def _rotation(b: Tracer) -> Tracer:
    """Return the skew-Hermitian matrix with the lower triangle of B."""
    below = strictly_lower(b)
    skew = add(below, neg(adjoint(below)))
    if b.dtype.kind != "c":
        return skew
    phase = imag(b)
    turn = join(zeros(phase.type), phase)
    return add(skew, diagonal_part(turn))


qr_p: Final[Primitive[Qr]] = Primitive(
    "qr",
    Qr,
    abstract=_abstract_qr,
    impl=lambda p: lambda a: _factors(p, a),
    jvp=_qr_jvp,
    facts=Facts(raises=True),  # the LinAlgError of an argument that LAPACK refuses
)


def _factors(p: Qr, a: Any) -> Any:
    found = np.linalg.qr(a, p.mode)  # type: ignore[call-overload]
    return found if p.mode == "r" else tuple(found)


def qr(a: Tracer, mode: str) -> tuple[Tracer, ...]:
    """Return Q, with orthonormal columns, and the upper triangular R; only R for mode "r".

    For mode "raw", return what LAPACK makes of `a`, transposed, and the factors of the reflectors.
    """
    return bind(qr_p, Qr(mode), a)
