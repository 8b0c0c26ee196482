"""Singular values and vectors: the eigenproblem of [[0, A], [Aᴴ, 0]], at the cost of one of A.

Its eigenvalues are ±s, and 0 for what is left of the longer side.  In the basis of eigenvectors a
perturbation is made of two blocks, the Hermitian part H and the skew part K of P = Uᴴ·dA·V, so
that (J. Townsend, "Differentiating the singular value decomposition", 2016; written with sums and
gaps of the values instead of those of their squares)

    dU = U·(G + J) + (1 - U·Uᴴ)·dA·V/s,  dV = V·(G - J),  ds = diag(H),
    G[i, j] = H[i, j]/(s[j] - s[i]),     J[i, j] = K[i, j]/(s[j] + s[i]),

for A with no fewer rows than columns.  The phase of complex vectors is free, and shared by both.
Where values are equal or zero, `degeneracy` and the gauge of null spaces say what exists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import conj, real_part
from funcdiff.ops.elementwise.logic import logical_and
from funcdiff.ops.families import assertion, refusal, unary
from funcdiff.ops.linalg.degeneracy import (
    GAUGE,
    Gauge,
    Turn,
    directed_assertion,
    eigen_differential,
    eps_of,
    equal_pairs,
    gauge,
    generic_rotation,
    reciprocal,
    reciprocal_gaps,
    significant,
    turning,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    block_matrix,
    columns,
    commutator,
    diagonal,
    factorizable,
    hermitian,
    identity,
    matmul,
    matrix_transpose,
    pad,
    per_column,
    per_row,
    rows,
)
from funcdiff.ops.linalg.routines import routine
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape, stop_gradient
from funcdiff.space import add, neg, zeros

# ---- what leaves the space of the singular vectors -----------------------------------------------


# --------------------------------------------------------------------------------------------------
# Singular vectors of the singular value zero: on each side an arbitrary basis of a null space.
#
# Unlike those of equal positive values they turn on either side alone, and where the matrix is not
# square, together with directions that are no singular vectors.


def _has_null_vectors(ct: Any, zero: Any) -> Any:
    return zero[..., None, :] & significant(np.abs(ct), ct)


_VANISHING: Final = refusal(_has_null_vectors, GAUGE)
normal_component_p: Final = directed_assertion("normal_component", Gauge, lambda _p: _VANISHING)


def normal_component(x: Tracer, zero: Tracer, *, checked: bool = False) -> Tracer:
    """Return how singular vectors leave their span, or its cotangent, as it is.

    The vectors are columns; `zero` says which belong to the singular value zero.  The cotangent
    must not ask for those.
    """
    return bind(normal_component_p, Gauge(checked), x, zero)[0]


# ---- functions of singular values at zero --------------------------------------------------------


def _on_kernel(_t: Any, values: Any, zero: Any) -> Any:
    """Return which values are more than rounding errors where they have to be zero."""
    scale = np.abs(values).max(axis=-1, keepdims=True)
    return zero & (np.abs(values) > eps_of(values) ** 0.5 * scale)


_KERNEL: Final = refusal(
    _on_kernel,
    "(u * f(s)) @ vh with f(0) different from 0 at a singular value zero: it depends on which "
    "singular vectors svd returns, and has no derivative. Keep the singular values away from "
    "zero, or use an f that is 0 there.",
)
vanish_on_kernel: Final = assertion("vanish_on_kernel", _KERNEL)
"""Return `t`, a direction or its cotangent, if the values are zero where they have to be."""


# ---- which values are equal, and which are zero --------------------------------------------------


class Ties(NamedTuple):
    """Singular values that rounding does not tell apart."""

    same: Tracer  # which pairs are equal
    zero: Tracer  # which are zero


def ties(s: Tracer) -> Ties:
    """Return which singular values are equal, and which are zero."""
    count, last = s.shape[-1], s.ndim - 1
    every = equal_pairs(pad(s, last, count + 1))
    upper = rows(every, 0, count)
    lowest = columns(rows(every, count, count + 1), 0, count)
    return Ties(columns(upper, 0, count), reshape(lowest, s.shape))


def pairs(zero: Tracer) -> Tracer:
    """Return the mask of pairs of two marked ones."""
    shape = (*zero.shape, zero.shape[-1])
    return logical_and(per_row(zero, shape), per_column(zero, shape))


def _reciprocal_sums(s: Tracer, zero: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """Return 1/(s[i] + s[j]), and 0 between zeros."""
    shape = (*s.shape, s.shape[-1])
    sums = add(per_row(s, shape), per_column(s, shape))
    return convert(reciprocal(sums, pairs(zero)), dtype)


# ---- values and vectors --------------------------------------------------------------------------


class Vectors(Params):
    """Whether there are as many singular vectors as rows, and as columns; SciPy's driver, or none.

    NumPy's is gesdd.
    """

    full: bool
    driver: str


def _abstract_svdvals(_p: Params, a: ArrayType) -> Types:
    rank = min(factorizable(a).shape[-2:])
    return (a.with_shape((*a.shape[:-2], rank)).with_dtype(real_dtype(a.dtype)),)


def _abstract_svd(p: Vectors, a: ArrayType) -> Types:
    (s,) = _abstract_svdvals(NONE, a)
    *stack, rows, columns = a.shape
    (rank,) = s.shape[-1:]
    left, right = (rows, columns) if p.full else (rank, rank)
    return a.with_shape((*stack, rows, left)), s, a.with_shape((*stack, right, columns))


def _head(x: Tracer, count: int, axes: int = 2) -> Tracer:
    """Return the first elements along the last axes."""
    for axis in range(x.ndim - axes, x.ndim):
        x = slice_along(x, axis, 0, count)
    return x


def _border(x: Tracer, size: int, below: Tracer | None = None) -> Tracer:
    """Return [[X, -Bᴴ], [B, 0]] with `size` rows and columns."""
    *stack, count = x.shape[:-1]
    if size == count:
        return x
    if below is None:
        below = zeros(x.type.with_shape((*stack, size - count, count)))
    corner = zeros(x.type.with_shape((*stack, size - count, size - count)))
    return block_matrix([x, neg(adjoint(below))], [below, corner])


def _skew(x: Tracer) -> Tracer:
    """Return (X - Xᴴ)/2."""
    return add(x, neg(hermitian(x)))


def _parts(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Return the square matrices and the rest that stand above each other."""
    *_, size, count = x.shape
    return rows(x, 0, count), rows(x, count, 2 * count), rows(x, 2 * count, size)


def _perturbation(_p: Params, point: Tracers, t: Tracer) -> Tracer:
    """Return H, K and B of dA, above each other.

    H and K are the Hermitian and the skew part of Uᴴ·dA·V, and B is what leaves the span of the
    singular vectors: in coordinates, if U has further columns.
    """
    _, u, v = point
    count, size = v.shape[-1], u.shape[-1]
    moved = matmul(t, v)
    inner = matmul(adjoint(u), moved)
    head = _head(inner, count)
    parts = [hermitian(head), _skew(head)]
    if size > count:
        parts.append(rows(inner, count, size))
    elif u.shape[-2] > count:
        parts.append(add(moved, neg(matmul(u, inner))))
    return concatenate(parts, t.ndim - 2)


def _equations(p: Turn, y: Tracer, split: Tracer) -> Tracer:
    """Return what the turn J, G, Z makes of H, K, E above each other, or the transpose by the turn.

    In the basis of its singular vectors A is S above 0, and S + H + K above E next to it: H is
    Hermitian, of equal values, K skew, of zeros, and E has the columns of zeros.  The equations are

        [J, H] + {G, K} - (Zᴴ·E + Eᴴ·Z)/2,
        [J, K] + {G, H} - (Zᴴ·E - Eᴴ·Z)/2,
        Z·(H + K) - E·(J - G).
    """
    (j, g, z), (h, k, e) = _parts(y), _parts(split)
    if not p.transposed:
        beside = matmul(adjoint(z), e)
        top = [commutator(j, h), _anticommutator(g, k), neg(hermitian(beside))]
        middle = [commutator(j, k), _anticommutator(g, h), neg(_skew(beside))]
        inner = add(j, neg(g))
    else:
        h, k = matrix_transpose(h), matrix_transpose(k)
        beside = matmul(matrix_transpose(e), z)
        top = [commutator(j, h), commutator(g, k), neg(beside)]
        middle = [_anticommutator(j, k), _anticommutator(g, h), beside]
        inner, e = add(hermitian(j), neg(_skew(g))), conj(e)
    below = [matmul(z, add(h, k)), neg(matmul(e, inner))]
    return concatenate([reduce(add, terms) for terms in (top, middle, below)], y.ndim - 2)


def _anticommutator(x: Tracer, y: Tracer) -> Tracer:
    return add(matmul(x, y), matmul(y, x))


singular_turn_p: Final = turning("singular_turn", Turn, _perturbation, _equations, squares=2)
"""How singular vectors turn together, J, in opposite senses, G, and leave their span, Z."""


def turn(a: Tracer, u: Tracer, s: Tracer, v: Tracer, known: Ties, x: Tracer) -> Tracer:
    """Return J, G and Z of the H, K and B in `x`."""
    *stack, size, count = x.shape
    shape = (*stack, size - 2 * count, count)
    inverse = convert(reciprocal(s, known.zero), x.dtype)
    sums = _reciprocal_sums(s, known.zero, x.dtype)
    gaps = [reciprocal_gaps(s, known.same, x.dtype), sums, per_column(inverse, shape)]
    masks = [known.same, pairs(known.zero), per_column(known.zero, shape)]
    factors, mask = (concatenate(parts, x.ndim - 2) for parts in (gaps, masks))
    operands = (x, stop_gradient(factors), mask, a, u, v)
    return bind(singular_turn_p, Turn(transposed=False, order=1), *operands)[0]


def _mark_the_rest(zero: Tracer, size: int) -> Tracer:
    """Mark further vectors, which belong to no singular value, as those of zero."""
    more = ArrayType((*zero.shape[:-1], size - zero.shape[-1]), BOOL)
    return concatenate([zero, constant(True, more)], zero.ndim - 1) if more.shape[-1] else zero


def _differential(
    a: Tracer, u: Tracer, s: Tracer, v: Tracer, t: Tracer, *, generic: bool
) -> tuple[list[Tracer], list[Tracer]]:
    """Return U and V, and how U, s and V move, linear in the direction.

    The vectors of equal values may be made generic, as those of `eigh`, and those of zero apart.
    All are watched for what depends on their choice.
    """
    count, size = s.shape[-1], u.shape[-1]
    known = ties(s)
    null = pairs(known.zero)  # and which of the eigenvalues s and -s are equal
    change = _perturbation(NONE, (a, u, v), t)
    joint, opposite, outside = _parts(turn(a, u, s, v, known, change))
    slopes = real_part(diagonal(rows(change, 0, count)))
    signed = concatenate([slopes, neg(slopes)], slopes.ndim - 1)
    same = block_matrix([known.same, null], [null, known.same])
    both = eigen_differential(signed, _border(joint, 2 * count), same)
    slopes, joint = (_head(x, count, k) for k, x in enumerate(both, 1))
    opposite = gauge(opposite, null, checked=False)
    left, right = add(joint, opposite), add(joint, neg(opposite))
    if size > count:
        rest = pairs(_mark_the_rest(known.zero, size))
        left = gauge(_border(left, size, outside), rest, checked=False)
    du, dv = matmul(u, left), matmul(v, right)
    if size == count < u.shape[-2]:
        du = add(du, normal_component(outside, known.zero))
    if not generic:
        return [u, v], [du, slopes, dv]
    rotation = generic_rotation(v.type, known.same)
    further = generic_rotation(v.type, null)
    around = _with_unit(matmul(rotation, further), u.shape[-1])
    turned = [matmul(u, around), matmul(v, rotation)]
    return turned, [matmul(du, around), slopes, matmul(dv, rotation)]


def _with_unit(x: Tracer, size: int) -> Tracer:
    """Return [[X, 0], [0, 1]] with `size` rows and columns."""
    count = x.shape[-1]
    if size == count:
        return x
    unit = identity(x.type.with_shape((*x.shape[:-2], size, size)))
    beside = zeros(x.type.with_shape((*x.shape[:-2], count, size - count)))
    return block_matrix([x, beside], [rows(unit, count, size)])


def _rule(*, generic: bool) -> Callable[..., Pushed]:
    """Return the rule for matrices of every shape from that for tall ones."""

    def forward(p: Vectors, xs: Tracers, ts: Tangents) -> Pushed:
        (a,), (t,) = xs, ts
        assert t is not None
        u, s, vh = svd(a, full=p.full, driver=p.driver)
        if a.shape[-2] >= a.shape[-1]:
            (u, v), (du, ds, dv) = _differential(a, u, s, adjoint(vh), t, generic=generic)
        else:
            b, v, t = map(adjoint, (a, vh, t))
            (v, u), (dv, ds, du) = _differential(b, v, s, u, t, generic=generic)
        return [u, s, adjoint(v)], [du, ds, adjoint(dv)]

    return forward


def _svd_impl(p: Vectors) -> Callable[..., Any]:
    if p.driver:
        return routine("svd", full_matrices=p.full, lapack_driver=p.driver)
    return lambda a: tuple(np.linalg.svd(a, full_matrices=p.full))


svd_p: Final = Primitive(
    "svd",
    Vectors,
    abstract=_abstract_svd,
    impl=_svd_impl,
    jvp=_rule(generic=False),
    linearize=_rule(generic=True),
    access=signature("...??->...??,...?,...??"),
    facts=Facts(raises=True, spectral=True),
)


def svd(a: Tracer, *, full: bool, driver: str = "") -> tuple[Tracer, ...]:
    """Return U, s and Vᴴ with A = U·s·Vᴴ, s descending; `full` U and V are square."""
    return bind(svd_p, Vectors(full, driver), a)


# ---- the values alone ----------------------------------------------------------------------------


_THIN: Final = Vectors(full=False, driver="")

svdvals_p: Final = unary(
    "svdvals",
    Params,
    abstract=_abstract_svdvals,
    impl=lambda _p: lambda a: np.linalg.svd(a, compute_uv=False),
    # as with the vectors: a derivative that uses both has to use equal values alike
    tangent=lambda _p, a, _y, t: _rule(generic=False)(_THIN, [a], [t])[1][1],
    access=signature("...??->...?"),
    facts=Facts(raises=True, spectral=True),
)


def svdvals(a: Tracer) -> Tracer:
    """Return the singular values, descending."""
    return bind(svdvals_p, NONE, a)[0]
