"""The pseudoinverse and least squares, where the rank of the matrix is constant.

Where the rank changes neither is continuous, so all derivatives are along what preserves it (G.
Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
whose variables separate", SIAM J. Numer. Anal. 10, 1973, equation 4.12):

    dA⁺ = -A⁺·dA·A⁺ + A⁺·A⁺ᴴ·dAᴴ·(1 - A·A⁺) + (1 - A⁺·A)·dAᴴ·A⁺ᴴ·A⁺.

Which singular values count as zero is decided by a tolerance relative to the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType, real_dtype
from funcdiff.errors import ConcreteValueError
from funcdiff.ops.elementwise.complex import conj, real_part
from funcdiff.ops.families import assertion, is_marked, refusal
from funcdiff.ops.linalg.degeneracy import eps_of
from funcdiff.ops.linalg.matrices import (
    adjoint,
    factorizable,
    matmul,
    mirrored,
    square,
    symmetric_tangent,
)
from funcdiff.ops.linalg.singular import svdvals, svdvals_p
from funcdiff.space import Maybe, add, mul, neg, reduce_sum, sum_tangents

_RANK: Final = np.dtype(np.int32)
"""The dtype of LAPACK's rank."""

# ---- constant rank -------------------------------------------------------------------------------


def _is_neglected(_t: Any, s: Any, tolerance: Any) -> Any:
    """Return which singular values are neglected that are more than rounding error."""
    largest = s.max(axis=-1, keepdims=True)
    is_zero = s <= tolerance[..., None] * largest
    return is_zero & (s > eps_of(s) ** 0.5 * largest)


_CONSTANT: Final = refusal(
    _is_neglected,
    "pinv or lstsq neglects singular values that are not zero, of which the derivative depends "
    "too. Pass a smaller rcond, or say what is neglected: u, s, vh = np.linalg.svd(a, "
    "full_matrices=False); keep = s > limit; f = np.where(keep, 1 / np.where(keep, s, 1), 0); "
    "and ((u * f) @ vh).conj().T is the pseudoinverse.",
)
constant_rank: Final = assertion("constant_rank", _CONSTANT)
"""Return `t`, a direction or its cotangent, if singular values that count as zero are zero."""


_ASSURED: Final = refusal(
    is_marked,
    "a matrix whose rank is not full in lstsq or a distribution, where the trace had no values "
    "(inside scan, cond or trace, in vmap over matrices of several ranks, or in a derivative of a "
    "function under jit): the rank was taken to be full. Pass allow_singular=True to a "
    "distribution; write np.sum(np.abs(b - a @ x) ** 2, axis=0) for the residuals of lstsq, which "
    "NumPy leaves out; or call them outside.",
    ConcreteValueError,
)
assured_rank: Final = assertion("assured_rank", _ASSURED)
"""Return `x`, which is right if a rank is full: if nothing is missing."""


# ---- the pseudoinverse ---------------------------------------------------------------------------


class Pseudoinverse(Params):
    """Whether the matrix is Hermitian, and only its lower triangle looked at."""

    hermitian: bool


def _abstract_pinv(p: Pseudoinverse, a: ArrayType, tolerance: ArrayType) -> Types:
    *stack, rows, columns = (square(a) if p.hermitian else factorizable(a)).shape
    if tolerance.shape != tuple(stack) or tolerance.dtype.kind not in "fiu":
        raise TypeError(f"one real tolerance per matrix of {a} is needed, got {tolerance}")
    return (a.with_shape((*stack, columns, rows)),)


def _tangent(a: Tracer, x: Tracer, t: Tracer) -> Tracer:
    """Return dA⁺ in the order of products that is cheap for no fewer rows than columns."""
    turned = adjoint(t)
    inner = matmul(x, t)
    gram = matmul(x, adjoint(x))
    beside = add(adjoint(inner), neg(matmul(matmul(x, a), adjoint(inner))))
    before = add(beside, neg(add(inner, matmul(gram, matmul(turned, a)))))
    return add(matmul(before, x), matmul(gram, turned))


def _pinv_jvp(p: Pseudoinverse, xs: Tracers, ts: Tangents) -> Pushed:
    (a, tolerance), t = xs, ts[0]
    x = pinv(a, tolerance, symmetric=p.hermitian)
    if t is None:
        return [x], [None]
    if p.hermitian:
        a, t = mirrored(a, lower=True), symmetric_tangent(a, t, lower=True)
    t = constant_rank(t, svdvals(a), tolerance)
    if a.shape[-2] >= a.shape[-1]:
        return [x], [_tangent(a, x, t)]
    return [x], [adjoint(_tangent(adjoint(a), adjoint(x), adjoint(t)))]


def _pinv_impl(p: Pseudoinverse) -> Callable[..., Any]:
    return lambda a, tolerance: np.linalg.pinv(a, tolerance, p.hermitian)


pinv_p: Final = Primitive(
    "pinv",
    Pseudoinverse,
    abstract=_abstract_pinv,
    impl=_pinv_impl,
    jvp=_pinv_jvp,
    facts=Facts(raises=True),
)


def pinv(a: Tracer, tolerance: Tracer, *, symmetric: bool = False) -> Tracer:
    """Return A⁺; singular values up to a tolerance times the largest are taken for zero."""
    return bind(pinv_p, Pseudoinverse(symmetric), a, tolerance)[0]


# ---- least squares -------------------------------------------------------------------------------


class Tolerance(Params):
    """The part of the largest singular value up to which others are zero; negative: rounding."""

    relative: float


def _abstract_lstsq(_p: Tolerance, a: ArrayType, b: ArrayType) -> Types:
    *stack, rows, columns = factorizable(a).shape
    if b.ndim != a.ndim or b.shape[:-1] != (*stack, rows) or b.dtype != a.dtype:
        raise TypeError(f"cannot solve a system of {a} for {b}")
    count, real = b.shape[-1], real_dtype(a.dtype)
    return (
        a.with_shape((*stack, columns, count)),
        ArrayType((*stack, count), real),
        ArrayType(tuple(stack), _RANK),
        ArrayType((*stack, min(rows, columns)), real),
    )


def _lstsq_impl(p: Tolerance) -> Callable[..., Any]:
    """Solve matrix by matrix, as NumPy does no stacks; the residuals are there for every rank."""

    def function(a: Any, b: Any) -> Any:
        stack, (rows, columns), count = a.shape[:-2], a.shape[-2:], b.shape[-1]
        real = a.real.dtype
        x = np.empty((*stack, columns, count), a.dtype)
        squares, rank = np.empty((*stack, count), real), np.empty(stack, _RANK)
        s = np.empty((*stack, min(rows, columns)), real)
        for k in np.ndindex(stack):
            x[k], given, rank[k], s[k] = np.linalg.lstsq(a[k], b[k], p.relative)
            rest = b[k] - a[k] @ x[k]
            known = rows > columns and rank[k] == columns
            squares[k] = given if known else (rest * rest.conj()).real.sum(axis=0)
        return x, squares, rank[()], s

    return function


def _lstsq_jvp(p: Tolerance, xs: Tracers, ts: Tangents) -> Pushed:
    """dX = A⁺·dB + dA⁺·B, and the squares of the rest B - A·X move by 2·Re Σ rest·(dB - dA·X).

    The rest is orthogonal to what A·dX adds.
    """
    (a, b), (ta, tb) = xs, ts
    ys = lstsq(a, b, relative=p.relative)
    x, rest = ys[0], add(b, neg(matmul(a, ys[0])))
    relative = p.relative if p.relative >= 0 else float(np.finfo(FLOAT).eps)
    tolerance = constant(relative, ArrayType(a.shape[:-2], FLOAT))
    inverse = pinv(a, tolerance)
    changed, terms = tb, []
    ds: Maybe = None
    if ta is not None:
        assert svdvals_p.jvp is not None
        _, (ds,) = svdvals_p.jvp(NONE, [a], [ta])
        ta = constant_rank(ta, ys[3], tolerance)
        turned, back = adjoint(ta), adjoint(inverse)
        beside = matmul(turned, matmul(back, x))
        changed = sum_tangents([tb, neg(matmul(ta, x))])
        terms = [
            matmul(inverse, matmul(back, matmul(turned, rest))),
            add(beside, neg(matmul(inverse, matmul(a, beside)))),
        ]
    assert changed is not None
    overlap = real_part(mul(conj(rest), changed))
    squares = reduce_sum(mul(overlap, constant(2, overlap.type)), (overlap.ndim - 2,))
    return ys, [sum_tangents([matmul(inverse, changed), *terms]), squares, None, ds]


lstsq_p: Final = Primitive(
    "lstsq",
    Tolerance,
    abstract=_abstract_lstsq,
    impl=_lstsq_impl,
    jvp=_lstsq_jvp,
    facts=Facts(raises=True),
)


def lstsq(a: Tracer, b: Tracer, *, relative: float) -> tuple[Tracer, ...]:
    """Return the least solution of least squares, those squares, the rank and singular values."""
    return bind(lstsq_p, Tolerance(relative), a, b)
