"""Riccati's and Sylvester's matrix equations: derivatives are Sylvester's equations.

    AᴴXE + EᴴXA - GᴴR⁻¹G + Q = 0,   G = BᴴXE + Sᴴ,                     continuous;
    AᴴXA - EᴴXE - GᴴW⁻¹G + Q = 0,   G = BᴴXA + Sᴴ,   W = R + BᴴXB,     discrete.

With the gain K, R⁻¹G or W⁻¹G, the closed loop M = (A - BK)E⁻¹ and the change C of the left-hand
side at a fixed X, between E⁻ᴴ and E⁻¹, the change of the solution solves

    MᴴdX + dX·M = -C   or   Mᴴ·dX·M - dX = -C

(T. Kao, G. Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati
equations", 2020, arXiv:2011.11430).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.matrices import adjoint, identity, matmul, matrix_transpose, square
from funcdiff.ops.linalg.routines import over_stack, routine, scipy_linalg
from funcdiff.ops.linalg.systems import solve
from funcdiff.space import Maybe, add, instantiate, neg, sum_tangents, zeros

# --------------------------------------------------------------------------------------------------
# Sylvester's equation A·X + X·B = Q, which is linear in X: its derivatives are such equations.
#
# A·dX + dX·B = dQ - dA·X - X·dB,
#
# and the transpose of the solution as a function of Q solves Aᵀ·Y + Y·Bᵀ = C.


def _abstract_sylvester(_p: Params, a: ArrayType, b: ArrayType, q: ArrayType) -> Types:
    shape = (*square(a).shape[:-1], square(b).shape[-1])
    if q.shape != shape or a.shape[:-2] != b.shape[:-2] or not a.dtype == b.dtype == q.dtype:
        raise TypeError(f"there is no Sylvester equation of {a}, {b} and {q}")
    return (q,)


def _jvp_sylvester(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (a, b, q), (ta, tb, tq) = xs, ts
    x = sylvester(a, b, q)
    terms = [
        tq,
        None if ta is None else neg(matmul(ta, x)),
        None if tb is None else neg(matmul(x, tb)),
    ]
    change = sum_tangents(terms)
    assert change is not None
    return [x], [sylvester(a, b, change)]


def _transpose(_p: Params, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (a, b, _) = cts, xs
    assert a is not None, "solving is linear in the right-hand side alone"
    assert b is not None, "solving is linear in the right-hand side alone"
    return [None, None, sylvester(matrix_transpose(a), matrix_transpose(b), ct)]


sylvester_p: Final = Primitive(
    "sylvester",
    Params,
    abstract=_abstract_sylvester,
    impl=lambda _p: routine("solve_sylvester", 2, 2, 2),
    jvp=_jvp_sylvester,
    transpose=_transpose,
    facts=Facts(raises=True),
)


def sylvester(a: Tracer, b: Tracer, q: Tracer) -> Tracer:
    """Return the solution of A·X + X·B = Q for stacks of matrices of one depth."""
    return bind(sylvester_p, NONE, a, b, q)[0]


class Riccati(Params):
    """Which equation it is, which of E and S there are, and whether it is balanced before."""

    discrete: bool
    has_e: bool
    has_s: bool
    balanced: bool


def _abstract(p: Riccati, *xs: ArrayType) -> Types:
    a, b, q, r, *others = xs
    e, s = _optional_matrices(p, others)
    squares = [a, q] if e is None else [a, q, e]
    fits = (
        all(x is square(a) for x in squares)
        and b.shape[:-1] == a.shape[:-1]
        and r.shape == (*a.shape[:-2], b.shape[-1], b.shape[-1])
        and s in (None, b)
        and len({x.dtype for x in xs}) == 1
    )
    if not fits:
        raise TypeError(f"there is no Riccati equation of {xs}")
    return (a,)


def _optional_matrices(p: Riccati, others: Any) -> tuple[Any, Any]:
    """Return E and S, or None."""
    known = iter(others)
    return (next(known) if p.has_e else None), (next(known) if p.has_s else None)


def _impl(p: Riccati) -> Callable[..., Any]:
    name = "solve_discrete_are" if p.discrete else "solve_continuous_are"

    def function(a: Any, b: Any, q: Any, r: Any, *others: Any) -> Any:
        e, s = _optional_matrices(p, others)
        return scipy_linalg(name)(a, b, q, r, e, s, balanced=p.balanced)

    return over_stack(function)


def _jvp(p: Riccati, xs: Tracers, ts: Tangents) -> Pushed:
    a, b, _, r, *others = xs
    e, s = _optional_matrices(p, others)
    e = identity(a.type) if e is None else e
    s = zeros(b.type) if s is None else s
    ta, tb, tq, tr, te, ts_ = (*ts[:4], *_optional_matrices(p, ts[4:]))
    (x,) = bind(riccati_p, p, *xs)
    inner, tinner = (a, ta) if p.discrete else (e, te)
    bx = matmul(adjoint(b), x)
    weight = add(r, matmul(bx, b)) if p.discrete else r
    gain = solve(weight, add(matmul(bx, inner), adjoint(s)))
    turned = _sum(
        _times(_turn(tb), matmul(x, inner)), _times(bx, tinner), _turn(ts_), like=adjoint(b)
    )
    xe, xa = matmul(adjoint(e), x), matmul(adjoint(a), x)
    tweight = _sum(tr, *(_both(_times(bx, tb)) if p.discrete else ()), like=r)
    first, second = (
        (_times(xa, ta), _minus(_times(xe, te))) if p.discrete else (_times(xe, ta), _times(xa, te))
    )
    change = _sum(
        tq,
        *_both(first),
        *_both(second),
        *_both(neg(matmul(adjoint(gain), turned))),
        matmul(matmul(adjoint(gain), tweight), gain),
        like=a,
    )
    loop = add(a, neg(matmul(b, gain)))
    if p.has_e:
        back = adjoint(e)
        loop, change = _over(loop, back), _over(solve(back, change), back)
    return [x], [stein(loop, change) if p.discrete else sylvester(adjoint(loop), loop, neg(change))]


def _over(x: Tracer, adjoint_of_e: Tracer) -> Tracer:
    """Return X·E⁻¹."""
    return adjoint(solve(adjoint_of_e, adjoint(x)))


def _times(x: Maybe, y: Maybe) -> Maybe:
    return None if x is None or y is None else matmul(x, y)


def _turn(x: Maybe) -> Maybe:
    return None if x is None else adjoint(x)


def _minus(x: Maybe) -> Maybe:
    return None if x is None else neg(x)


def _both(x: Maybe) -> tuple[Maybe, Maybe]:
    """Return terms that together are Hermitian."""
    return x, _turn(x)


def _sum(*terms: Maybe, like: Tracer) -> Tracer:
    return instantiate(sum_tangents(terms), like.type)


def stein(m: Tracer, c: Tracer) -> Tracer:
    """Return the solution of Mᴴ·X·M - X + C = 0 by a bilinear transformation.

    No eigenvalue of M may be -1 (K. Chu, "The solution of the matrix equations AXB - CXD = E and
    (YA - DZ, YC - BZ) = (E, F)", Linear Algebra Appl. 93, 1987).
    """
    unit = identity(m.type)
    inverse = solve(add(m, unit), unit)
    b = matmul(add(m, neg(unit)), inverse)
    right = matmul(matmul(adjoint(inverse), c), inverse)
    return sylvester(adjoint(b), b, neg(add(right, right)))


riccati_p: Final = Primitive(
    "riccati", Riccati, abstract=_abstract, impl=_impl, jvp=_jvp, facts=Facts(raises=True)
)


def riccati(xs: Tracers, e: Maybe, s: Maybe, *, discrete: bool, balanced: bool) -> Tracer:
    """Return the stabilizing solution X for A, B, Q and R, and perhaps E and S."""
    p = Riccati(discrete, e is not None, s is not None, balanced)
    return bind(riccati_p, p, *xs, *(x for x in (e, s) if x is not None))[0]
