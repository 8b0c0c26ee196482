"""Determinants of stacks of square matrices, exact at singular ones to any order.

The derivative of det is the adjugate, a polynomial in the elements of the matrix.  One primitive
has all derivatives of the adjugate: its rules lead from each order to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import imaginary_part, join, real_part
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.families import unary
from funcdiff.ops.linalg.matrices import (
    identity,
    matrix_transpose,
    per_matrix,
    square,
    trace_of_product,
)
from funcdiff.ops.linalg.systems import inv
from funcdiff.ops.structure.structural import select
from funcdiff.space import Maybe, mul, sum_tangents, zeros


def _abstract_det(_p: Params, a: ArrayType) -> Types:
    return (square(a).with_shape(a.shape[:-2]),)


det_p: Final = unary(
    "det",
    Params,
    abstract=_abstract_det,
    impl=lambda _p: np.linalg.det,
    # d(det A) = tr(adj(A)·dA), Jacobi's formula
    tangent=lambda _p, a, _y, t: trace_of_product(adjugate(a), t),
    access=signature("...??->..."),
)


def det(a: Tracer) -> Tracer:
    """Return the determinant."""
    return bind(det_p, NONE, a)[0]


# ---- the adjugate and its derivatives ----------------------------------------------------------


def _abstract_adjugate(_p: Params, a: ArrayType, *directions: ArrayType) -> Types:
    if any(t is not a for t in directions):
        raise TypeError(f"directions must have the type of the matrix, {a}, got {directions}")
    return (square(a),)


def _adjugate(a: Any, *directions: Any) -> Any:
    """Return Dᵐadj(A)[T₁,…,Tₘ], m = 0 and 1 through the inverse where that is as exact."""
    if a.size == 0:
        return _general_adjugate(a, *directions)
    finite = np.all([np.isfinite(x).all(axis=(-2, -1)) for x in (a, *directions)], axis=0)
    if len(directions) > 1:
        result, regular = np.full_like(a, np.nan), ~finite
    else:
        result, regular = _regular_adjugate(a, *directions)
        regular |= ~finite  # where an SVD would raise
    if regular.all():
        return result
    places = ~regular
    result = np.array(result)
    result[places] = _general_adjugate(*(x[places] for x in (a, *directions)))
    return result


def _regular_adjugate(a: Any, *directions: Any) -> tuple[Any, Any]:
    """Return det(A)·X or det(A)·(tr(X·T)·X - X·T·X) with X = A⁻¹, and where that is exact.

    Each factor X multiplies the rounding errors by the condition of A.
    """
    exact = np.result_type(a.dtype, np.float64)
    wide, *turns = (x.astype(exact, copy=False) for x in (a, *directions))
    factor = np.linalg.det(wide)
    regular = (factor != 0) & np.isfinite(factor)
    x = np.linalg.inv(np.where(regular[..., None, None], wide, np.eye(a.shape[-1])))
    condition = np.linalg.norm(wide, 1, (-2, -1)) * np.linalg.norm(x, 1, (-2, -1))
    regular &= condition < 1e6 ** (1 / (1 + len(directions)))
    for t in turns:
        turned = x @ t
        x = np.einsum("...ii->...", turned)[..., None, None] * x - turned @ x
    return (factor[..., None, None] * x).astype(a.dtype, copy=False), regular


def _general_adjugate(a: Any, *directions: Any) -> Any:
    """Return Dᵐadj(A)[T₁,…,Tₘ] through A = U·S·Vᴴ, where S is diagonal and nothing is divided by.

    adj(A + E) = det(U)·det(Vᴴ)·V·adj(S + UᴴEV)·Uᴴ.
    """
    u, s, vh = np.linalg.svd(a)
    uh, v = (np.conj(np.swapaxes(x, -1, -2)) for x in (u, vh))
    core = _diagonal_adjugate(s, [uh @ t @ v for t in directions])
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return phase[..., None, None] * (v @ core @ uh)


def _diagonal_adjugate(s: Any, directions: Sequence[Any]) -> Any:
    """Return Dᵐadj(S)[T₁,…,Tₘ] for diagonal S.

    With k = m + 1, by the expansion of det into permutations,

        Dᵏdet(S)[T₀,…,Tₘ] = Σ_a Q_a Σ_σ sgn(σ) Π_l (T_l)[a_l, a_σ(l)]

    over tuples `a` of distinct indices, where Q_a is the product of the s that are not among
    them; and adj[i, j] is the derivative by the element (j, i), the direction T₀.
    """
    n, count = s.shape[-1], len(directions) + 1
    rest = _products_without(s, count)
    letters = "abcdefghijklmnopqrstuvwxyz"[:count]
    result = np.zeros((*s.shape, n), rest.dtype if not directions else directions[0].dtype)
    for sigma in permutations(range(count)):
        terms = [f"...{letters[k]}{letters[sigma[k]]}" for k in range(1, count)]
        on_diagonal = sigma[0] == 0
        out = "a" if on_diagonal else letters[sigma[0]] + "a"
        formula = f"...{letters},{','.join(terms)}".rstrip(",") + f"->...{out}"
        term = _sign(sigma) * np.einsum(formula, rest, *directions)
        if on_diagonal:
            np.einsum("...aa->...a", result)[...] += term
        else:
            result += term
    return result


def _products_without(s: Any, count: int) -> Any:
    """Return Q[a₁,…,a_count], the product of all s but those, and 0 where indices coincide."""
    n = s.shape[-1]
    rest = np.ones((*s.shape[:-1], *(n,) * count), s.dtype)
    indices = np.indices((n,) * count)
    for k in range(n):
        factor = s[(..., k, *(None,) * count)]
        rest *= np.where((indices == k).any(axis=0), s.dtype.type(1), factor)
    for first in range(count):
        for second in range(first):
            rest[..., indices[first] == indices[second]] = 0
    return rest


def _sign(sigma: Sequence[int]) -> int:
    inversions = sum(sigma[i] > sigma[k] for k in range(len(sigma)) for i in range(k))
    return -1 if inversions % 2 else 1


def _adjugate_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    a, *directions = xs
    ta, *others = ts
    terms: list[Maybe] = [] if ta is None else [adjugate(a, *directions, ta)]
    for k, t in enumerate(others):
        if t is not None:
            terms.append(adjugate(a, *directions[:k], t, *directions[k + 1 :]))
    return [adjugate(*xs)], [sum_tangents(terms)]


def _adjugate_transpose(_p: Params, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    """Use that Dᵐ⁺¹det(A)[Cᵀ, T₁,…] = <C, Dᵐadj(A)[T₁,…]> is symmetric in the directions."""
    turned = matrix_transpose(cts[0])
    operands = [turned if x is None else x for x in xs]
    ct = matrix_transpose(adjugate(*operands))
    return [ct if x is None else None for x in xs]


adjugate_p: Final = Primitive(
    "adjugate",
    Params,
    abstract=_abstract_adjugate,
    impl=lambda _p: _adjugate,
    jvp=_adjugate_jvp,
    transpose=_adjugate_transpose,
    access=signature("...??->...??"),
)


def adjugate(a: Tracer, *directions: Tracer) -> Tracer:
    """Return adj(A), or its derivative of the order of the directions given, linear in each."""
    return bind(adjugate_p, NONE, a, *directions)[0]


# ---- the logarithm of the determinant ------------------------------------------------------------


def _abstract_slogdet(_p: Params, a: ArrayType) -> Types:
    (sign,) = _abstract_det(_p, a)
    return sign, sign.with_dtype(real_dtype(a.dtype))


def _slogdet_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    """d(log det A) = tr(A⁻¹·dA): the real part moves the modulus, the imaginary one the phase.

    At a singular matrix the slope is infinite; that it can be masked, nothing raises there.
    """
    (a,), (t,) = xs, ts
    assert t is not None
    sign, logarithm = slogdet(a)
    singular = equal(sign, zeros(sign.type))
    mask = per_matrix(singular, a.shape)
    slope = trace_of_product(inv(select(mask, identity(a.type), a)), t)
    slope = mul(slope, select(singular, constant(np.inf, sign.type), constant(1, sign.type)))
    real = real_part(slope)
    if a.dtype.kind != "c":
        return [sign, logarithm], [None, real]
    turn = join(zeros(logarithm.type), imaginary_part(slope))
    return [sign, logarithm], [mul(sign, turn), real]


slogdet_p: Final = Primitive(
    "slogdet",
    Params,
    abstract=_abstract_slogdet,
    impl=lambda _p: lambda a: tuple(np.linalg.slogdet(a)),
    jvp=_slogdet_jvp,
    access=signature("...??->...,..."),
)


def slogdet(a: Tracer) -> tuple[Tracer, ...]:
    """Return sign (or phase) and logarithm of the modulus of the determinant."""
    return bind(slogdet_p, NONE, a)
