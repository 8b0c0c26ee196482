"""Eigenvalues and eigenvectors of general square matrices.

With A·V = V·diag(w) and G = V⁻¹·dA·V (M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation", 2008, section 3.1; C. Boeddeker et al., "On the
Computation of Complex-valued Gradients", 2017, arXiv:1701.00392),

    dw = diag(G),   dV = V·(F∘G) + V·diag(c),   F[i, j] = 1/(w[j] - w[i]), and 0 for i = j,

where c keeps every eigenvector as LAPACK leaves it: of unit 2-norm, its largest element real.

Where eigenvalues are equal up to rounding errors, they share their slopes, and their vectors have
none.  A matrix without a basis of eigenvectors has no derivative of either.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType, complex_dtype
from funcdiff.ops.axes.reductions import argmax, argmin, reduce_any
from funcdiff.ops.elementwise.complex import conj, imag, join, modulus, real
from funcdiff.ops.elementwise.logic import equal, logical_and, logical_not, logical_or
from funcdiff.ops.elementwise.mathematics import div, reciprocal, sqrt, sub
from funcdiff.ops.families import constant_op, unary
from funcdiff.ops.linalg.degeneracy import (
    differences,
    eigen_differential,
    generic_rotation,
    mean_over_ties,
    require_zero,
)
from funcdiff.ops.linalg.matrices import (
    diagonal,
    identity,
    matmul,
    on_diagonal,
    per_column,
    per_matrix,
    per_row,
    scale_columns,
    square,
)
from funcdiff.ops.linalg.systems import solve
from funcdiff.ops.structure.structural import convert, iota, select, stop_gradient
from funcdiff.space import Maybe, add, mul, neg, reduce_sum, zeros

# ---- where eigenvalues are equal -----------------------------------------------------------------


def _multiplicities(w: Any, v: Any) -> Any:
    """Find equal eigenvalues, and eigenvectors that are no basis, up to rounding errors.

    NumPy computes in double precision: eigenvalues are then as exact as the smallest singular
    value of V allows (F. Bauer, C. Fike, 1960), and those of a Jordan block part by the square
    root of the precision.  What is returned has been rounded to its own.
    """
    n, eps, rounding = w.shape[-1], np.finfo(float).eps, np.finfo(w.dtype).eps
    if n == 0:
        return np.zeros((*w.shape, 0), bool), np.zeros(w.shape[:-1], bool)
    smallest = np.linalg.svd(v, compute_uv=False)[..., -1]
    defective = smallest < 16 * max(np.sqrt(eps), rounding)
    error = np.maximum(rounding, eps / np.where(defective, 1, smallest))
    tolerance = 4 * n * error * np.abs(w).max(axis=-1)
    distances = np.abs(w[..., :, None] - w[..., None, :])
    same = distances <= tolerance[..., None, None]
    while not np.array_equal(wider := same @ same, same):  # a chain of neighbours is one group
        same = wider
    return same, defective


multiplicities_p: Final = constant_op(
    "multiplicities",
    Params,
    abstract=lambda _p, w, v: (v.with_dtype(BOOL), w.with_shape(w.shape[:-1]).with_dtype(BOOL)),
    impl=lambda _p: _multiplicities,
    facts=Facts(raises=True),
)


def multiplicities(w: Tracer, v: Tracer) -> tuple[Tracer, ...]:
    """Return the mask of pairs of equal eigenvalues, and that of defective matrices."""
    return bind(multiplicities_p, NONE, w, v)


# ---- the eigenproblem ----------------------------------------------------------------------------


def _abstract_eigvals(_p: Params, a: ArrayType) -> Types:
    return (square(a).with_shape(a.shape[:-1]).with_dtype(complex_dtype(a.dtype)),)


def _abstract_eig(_p: Params, a: ArrayType) -> Types:
    return (*_abstract_eigvals(_p, a), a.with_dtype(complex_dtype(a.dtype)))


def _eig_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    if xs[0].type.size == 0:
        return list(eig(*xs)), [None, None]
    (w, v), same, missing, (slopes, turned) = _differential(xs[0], ts[0], generic=False)
    moved = mean_over_ties(slopes, same)
    return [w, v], [moved, require_zero(turned, missing, "eigenvectors")]


def _eig_linearize(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    """Share slopes, and ask of results of both that eigenvalues that are equal are used alike.

    Vectors of equal ones are generic: LAPACK's own may be those at which a result that depends on
    how they part is stationary.
    """
    if xs[0].type.size == 0:
        return list(eig(*xs)), [None, None]
    (w, v), same, missing, (slopes, turned) = _differential(xs[0], ts[0], generic=True)
    moved, turned = eigen_differential(slopes, turned, same, unitary=False)
    return [w, v], [moved, require_zero(turned, missing, "eigenvectors")]


def _differential(
    a: Tracer, t: Maybe, *, generic: bool
) -> tuple[tuple[Tracer, ...], Tracer, Tracer, tuple[Tracer, Tracer]]:
    """Return eigenvalues and vectors, which are equal, which vectors have no slope, and slopes."""
    assert t is not None
    w, v = eig(a)
    same, defective = multiplicities(w, v)
    itself, one = on_diagonal(v.type), constant(1, v.type)
    others = reduce_any(logical_and(same, logical_not(itself)), (v.ndim - 2,))
    if generic:
        combined = matmul(v, _generic_combination(v, same, others))
        v = select(per_column(others, v.shape), combined, v)
    mask = per_matrix(defective, v.shape)
    basis = select(mask, identity(v.type), v)
    t = require_zero(convert(t, v.dtype), mask, "eigenvalues")
    inner = solve(basis, matmul(t, v))
    slopes = require_zero(diagonal(inner), per_matrix(defective, w.shape), "eigenvalues")

    # infinite between equal ones: what does not move all of them alike is to be noticed
    speeds = reciprocal(select(same, one, differences(w, v.shape)))
    apart = add(slopes, neg(mean_over_ties(slopes, same)))
    generator = select(itself, zeros(v.type), mul(inner, speeds))
    turned = add(_normalize(v, matmul(v, generator)), scale_columns(v, apart))
    return (w, v), same, logical_or(per_column(others, v.shape), mask), (slopes, turned)


def _generic_combination(v: Tracer, same: Tracer, others: Tracer) -> Tracer:
    """Return combinations of vectors of equal eigenvalues, normalized as LAPACK's are."""
    v, row = stop_gradient(v), v.ndim - 2
    rotation = generic_rotation(v.type, same)
    turned = matmul(v, rotation)
    sizes = modulus(turned)
    largest = equal(iota(v.shape, row), per_column(argmax(sizes, row), v.shape))
    lead = reduce_sum(select(largest, turned, zeros(v.type)), (row,))
    length = sqrt(reduce_sum(mul(sizes, sizes), (row,)))
    scale = div(conj(lead), convert(mul(modulus(lead), length), v.dtype))
    scale = select(others, scale, constant(1, scale.type))
    return stop_gradient(mul(rotation, per_column(scale, v.shape)))


def _normalize(v: Tracer, x: Tracer) -> Tracer:
    """Return X + V·diag(c): norms do not change, and the largest elements stay real.

    LAPACK leaves an imaginary part of exactly zero in one of the largest elements of a vector.
    """
    row, phase = v.ndim - 2, imag(v)
    is_real = equal(phase, zeros(phase.type))
    place = argmax(select(is_real, modulus(v), constant(-1, phase.type)), row)
    largest = equal(iota(v.shape, row), per_column(place, v.shape))
    unit = reciprocal(select(largest, v, constant(1, v.type)))
    turn = reduce_sum(mul(x, select(largest, unit, zeros(v.type))), (row,))
    growth = reduce_sum(mul(conj(v), x), (row,))
    c = join(real(growth), imag(turn))
    return add(x, neg(mul(v, per_column(c, v.shape))))


def _complex_eig(a: Any) -> tuple[Any, ...]:
    return tuple(x.astype(complex_dtype(x.dtype), copy=False) for x in np.linalg.eig(a))


eig_p: Final = Primitive(
    "eig",
    Params,
    abstract=_abstract_eig,
    impl=lambda _p: _complex_eig,
    jvp=_eig_jvp,
    linearize=_eig_linearize,
    access=signature("...??->...?,...??"),
    facts=Facts(raises=True),
)


def eig(a: Tracer) -> tuple[Tracer, ...]:
    """Return the eigenvalues and eigenvectors, complex even where all of them are real."""
    return bind(eig_p, NONE, a)


def _eigvals_tangent(p: Params, a: Tracer, y: Tracer, t: Tracer) -> Maybe:
    """Take the slopes of `eig`, which may have the eigenvalues in another order."""
    (w, _), (slopes, _) = _eig_jvp(p, [a], [t])
    if slopes is None:
        return None
    shape = (*w.shape, w.shape[-1])
    column = len(shape) - 1
    place = argmin(modulus(sub(per_row(y, shape), per_column(w, shape))), column)
    nearest = equal(iota(shape, column), per_row(place, shape))
    offered = per_column(slopes, shape)
    return reduce_sum(select(nearest, offered, zeros(offered.type)), (column,))


def _complex_eigvals(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return w.astype(complex_dtype(w.dtype), copy=False)


eigvals_p: Final = unary(
    "eigvals",
    Params,
    abstract=_abstract_eigvals,
    impl=lambda _p: _complex_eigvals,
    tangent=_eigvals_tangent,
    access=signature("...??->...?"),
    facts=Facts(raises=True),
)


def eigvals(a: Tracer) -> Tracer:
    """Return the eigenvalues, complex even where all of them are real."""
    return bind(eigvals_p, NONE, a)[0]
