"""Cholesky factors, eigenvalues and eigenvectors of Hermitian matrices.

Matrices that are Hermitian by convention have Hermitian tangents, see `matrices`.

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
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import real_part
from funcdiff.ops.families import unary
from funcdiff.ops.linalg.degeneracy import (
    Turn,
    eigen_differential,
    equal_pairs,
    generic_rotation,
    reciprocal_gaps,
    turning,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    commutator,
    diagonal,
    in_basis,
    lower_half,
    matmul,
    matrix_transpose,
    square,
    symmetric_tangent,
    triangle,
)
from funcdiff.ops.linalg.routines import routine
from funcdiff.ops.linalg.systems import Triangle, triangular_inv
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.space import Maybe, add, neg, sum_tangents

LARGE: Final = 128
"""Rows from which blocks are faster than an inverse of the factor and products with it: with these
a Gaussian process of 600 points takes 1.8 to 2 times as long, one of 200 1.4 times."""

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


def _swap_axes(x: Any) -> Any:
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
        moved = x_left @ _swap_axes(left)
        t = (x - moved - _swap_axes(moved)) * half
        x[...] = block @ ((inverse @ (t + _swap_axes(t)) @ _swap_axes(inverse)) * half)
        x_below -= x_corner @ _swap_axes(left)
        x_below -= corner @ _swap_axes(x_left)
        x_below -= below @ _swap_axes(x)
        x_below[...] = x_below @ _swap_axes(inverse)
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
        above = _swap_axes(w_below)
        w_corner -= w_below @ left
        w_left -= above @ corner
        w -= (above @ below) * lower
        t = _swap_axes(inverse) @ ((_swap_axes(block) @ w) * half) @ inverse
        t = t + _swap_axes(t)
        w_left -= t @ left
        np.multiply(t, half, out=w)
    return result


def _abstract(_p: Way, factor: ArrayType, t: ArrayType) -> Types:
    if square(factor) is not t or t.dtype.kind != "f":
        raise TypeError(f"a factor and a change of real matrices are needed, got {factor}, {t}")
    return (t,)


def _solution_jvp(p: Way, xs: Tracers, ts: Tangents) -> Pushed:
    """Differentiate dX·Lᵀ + L·dXᵀ = dT - X·dLᵀ - dL·Xᵀ, and the adjoint of that."""
    (factor, _), (tf, t) = xs, ts
    y, change = _solution(p, *xs), None
    if tf is not None:
        tf = triangle(tf, lower=True)
        if p.adjoint:
            change = neg(matmul(add(y, matrix_transpose(y)), tf))
        else:
            half = neg(matmul(y, matrix_transpose(tf)))
            change = add(half, matrix_transpose(half))
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
    _solution_jvp,
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


# ---- Cholesky ----------------------------------------------------------------------------------


def _cholesky_tangent(p: Triangle, a: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """dL = L·Φ(L⁻¹·dA·L⁻ᴴ), Φ the lower triangle with half the diagonal.

    I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, equation 8.  One
    inverse serves both sides, and both modes.  Larger real matrices go by blocks.
    """
    factor = y if p.lower else adjoint(y)
    t = symmetric_tangent(a, t, lower=p.lower)
    if a.shape[-1] >= LARGE and a.dtype.kind == "f":
        moved = cholesky_differential(factor, t)
    else:
        inverse = triangular_inv(factor)
        inner = matmul(matmul(inverse, t), adjoint(inverse))
        moved = matmul(factor, lower_half(inner))
    return moved if p.lower else adjoint(moved)


cholesky_p: Final = unary(
    "cholesky",
    Triangle,
    abstract=lambda _p, a: (square(a),),
    impl=lambda p: lambda a: np.linalg.cholesky(a, upper=not p.lower),
    tangent=_cholesky_tangent,
    access=signature("...??->...??"),
    facts=Facts(raises=True),
)


def cholesky(a: Tracer, *, lower: bool) -> Tracer:
    """Return the triangular L with A = L·Lᴴ, or U with A = Uᴴ·U, of a positive definite matrix."""
    return bind(cholesky_p, Triangle(lower), a)[0]


# ---- Hermitian eigenproblem ----------------------------------------------------------------------


class Hermitian(Params):
    """Which triangle of a matrix counts, and the name of SciPy's driver; none for NumPy's."""

    lower: bool
    driver: str


def _abstract_eigvalsh(_p: Hermitian, a: ArrayType) -> Types:
    values = square(a).with_shape(a.shape[:-1])
    return (values.with_dtype(real_dtype(a.dtype)),)


def _abstract_eigh(p: Hermitian, a: ArrayType) -> Types:
    return (*_abstract_eigvalsh(p, a), a)


class HermitianTurn(Turn):
    """Which triangle of the matrix counts."""

    lower: bool


def _in_basis(p: HermitianTurn, point: Tracers, t: Tracer) -> Tracer:
    a, v = point
    return in_basis(v, symmetric_tangent(a, t, lower=p.lower))


def _equations(p: HermitianTurn, y: Tracer, split: Tracer) -> Tracer:
    """Return Y·Λ - Λ·Y; the transpose by Y of that is the one with the transpose of Λ."""
    return commutator(y, matrix_transpose(split) if p.transposed else split)


hermitian_turn_p: Final = turning("hermitian_turn", HermitianTurn, _in_basis, _equations, squares=1)
"""The Y with Y·Λ - Λ·Y = X outside of the blocks of equal eigenvalues, Λ = Vᴴ·A·V, 0 in them."""


def _eigh_rule(*, generic: bool) -> Callable[..., Pushed]:
    """Return the rule for LAPACK's choice of eigenvectors, or for a generic one."""

    def forward(p: Hermitian, xs: Tracers, ts: Tangents) -> Pushed:
        """dw = diag(Vᴴ·dA·V), averaged over equal eigenvalues, and dV = V·(F∘Vᴴ·dA·V).

        F[i, j] = 1/(w[j] - w[i]), and 0 between equal eigenvalues: there the derivative exists
        only for results that do not depend on the choice of eigenvectors, which
        `eigen_differential` makes sure of.  The choice is made generic for that: LAPACK's own may
        be one at which such a result is stationary.  The formulas keep LAPACK's, which the order
        of the eigenvalues belongs to.
        """
        (a,), (t,) = xs, ts
        assert t is not None
        w, v = eigh(a, lower=p.lower, driver=p.driver)
        same = equal_pairs(w)
        inner = in_basis(v, symmetric_tangent(a, t, lower=p.lower))
        gaps = stop_gradient(reciprocal_gaps(w, same, v.dtype))
        way = HermitianTurn(transposed=False, order=1, lower=p.lower)
        (generator,) = bind(hermitian_turn_p, way, inner, gaps, same, a, v)
        slopes, generator = eigen_differential(real_part(diagonal(inner)), generator, same)
        moved = matmul(v, generator)
        if generic:
            rotation = generic_rotation(v.type, same)
            v, moved = matmul(v, rotation), matmul(moved, rotation)
        return [w, v], [slopes, moved]

    return forward


def _eigh_impl(p: Hermitian) -> Callable[..., Any]:
    if p.driver:
        return routine("eigh", lower=p.lower, driver=p.driver)
    return lambda a: tuple(np.linalg.eigh(a, "L" if p.lower else "U"))


eigh_p: Final = Primitive(
    "eigh",
    Hermitian,
    abstract=_abstract_eigh,
    impl=_eigh_impl,
    jvp=_eigh_rule(generic=False),
    linearize=_eigh_rule(generic=True),
    access=signature("...??->...?,...??"),
    facts=Facts(raises=True, spectral=True),
)


def eigh(a: Tracer, *, lower: bool, driver: str = "") -> tuple[Tracer, ...]:
    """Return the eigenvalues, ascending, and eigenvectors of the Hermitian matrix of a triangle.

    Which of the possible eigenvectors depends on the driver.
    """
    return bind(eigh_p, Hermitian(lower, driver), a)


def _eigvalsh_tangent(p: Hermitian, a: Tracer, _y: Tracer, t: Tracer) -> Maybe:
    _, (slopes, _) = _eigh_rule(generic=False)(p, [a], [t])
    return slopes


eigvalsh_p: Final = unary(
    "eigvalsh",
    Hermitian,
    abstract=_abstract_eigvalsh,
    impl=lambda p: lambda a: np.linalg.eigvalsh(a, "L" if p.lower else "U"),
    tangent=_eigvalsh_tangent,
    access=signature("...??->...?"),
    facts=Facts(raises=True, spectral=True),
)


def eigvalsh(a: Tracer, *, lower: bool) -> Tracer:
    """Return the eigenvalues, ascending, of the Hermitian matrix of a triangle."""
    return bind(eigvalsh_p, Hermitian(lower, ""), a)[0]
