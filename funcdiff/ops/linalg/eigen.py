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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType, complex_dtype
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.axes.reductions import argmax, argmin, reduce_any
from funcdiff.ops.elementwise.complex import conj, imag, join, modulus, real
from funcdiff.ops.elementwise.logic import equal, logical_and, logical_not, logical_or
from funcdiff.ops.elementwise.mathematics import reciprocal, sub
from funcdiff.ops.families import DIAGONAL, constant_op, symmetric, unary
from funcdiff.ops.linalg.degeneracy import shared
from funcdiff.ops.linalg.matrices import diagonal, identity, matmul, on_diagonal, square
from funcdiff.ops.linalg.systems import solve
from funcdiff.ops.structure.structural import convert, iota, select
from funcdiff.space import Maybe, add, broadcast, mul, neg, reduce_sum, zeros

# ---- where eigenvalues are equal -----------------------------------------------------------------


def _entangled(w: Any, v: Any) -> Any:
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


entangled_p: Final = constant_op(
    "entangled",
    Params,
    abstract=lambda _p, w, v: (v.with_dtype(BOOL), w.with_shape(w.shape[:-1]).with_dtype(BOOL)),
    impl=lambda _p: _entangled,
)


def entangled(w: Tracer, v: Tracer) -> tuple[Tracer, ...]:
    """Return the mask of pairs of equal eigenvalues, and that of defective matrices."""
    return bind(entangled_p, NONE, w, v)


@dataclass(frozen=True, slots=True)
class Existing(Params):
    """Of what the operand is a derivative: eigenvectors, or else eigenvalues."""

    vectors: bool


_MISSING: Final = {
    True: (
        "eigenvectors of eig that belong to an eigenvalue that occurs more than once have no "
        "derivative: they are any basis of their space, or the matrix has no basis of eigenvectors"
        " at all. Use eigh for Hermitian matrices, where what does not depend on the choice has "
        "one, or the eigenvalues alone."
    ),
    False: (
        "eigenvalues of eig or eigvals have no derivative at a matrix that has no basis of "
        "eigenvectors, such as [[1, 1], [0, 1]]: they part with infinite speed. Use what is smooth "
        "in the elements of the matrix: its trace, powers or determinant."
    ),
}


def _check(p: Existing) -> Callable[..., Any]:
    def checked(x: Any, missing: Any) -> Any:
        if (missing & (x != 0)).any():
            raise NotDifferentiableError(_MISSING[p.vectors])
        return x

    return checked


existing_p: Final = symmetric("existing", Existing, impl=_check, facts=DIAGONAL)


def existing(x: Tracer, missing: Tracer, *, vectors: bool) -> Tracer:
    """Return a tangent or cotangent as it is; only zeros may stand where there is no derivative."""
    return bind(existing_p, Existing(vectors), x, missing)[0]


# ---- the eigenproblem ----------------------------------------------------------------------------


def _abstract_eigvals(_p: Params, a: ArrayType) -> Types:
    return (square(a).with_shape(a.shape[:-1]).with_dtype(complex_dtype(a.dtype)),)


def _abstract_eig(_p: Params, a: ArrayType) -> Types:
    return (*_abstract_eigvals(_p, a), a.with_dtype(complex_dtype(a.dtype)))


def _eig_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (t,) = xs, ts
    assert t is not None
    w, v = eig(a)
    if a.type.size == 0:
        return [w, v], [None, None]
    same, defective = entangled(w, v)
    *stack, row, column = range(v.ndim)
    mask = broadcast(defective, v.shape, tuple(stack))
    basis = select(mask, identity(v.type), v)
    t = existing(convert(t, v.dtype), mask, vectors=False)
    inner = solve(basis, matmul(t, v))
    slopes = shared(diagonal(inner), same, strict=False)
    moved = existing(slopes, broadcast(defective, w.shape, tuple(stack)), vectors=False)

    itself, one = on_diagonal(v.type), constant(1, v.type)
    gaps = sub(broadcast(w, v.shape, (*stack, column)), broadcast(w, v.shape, (*stack, row)))
    speeds = reciprocal(select(same, one, gaps))  # infinite between equal ones: 1 to be noticed
    generator = mul(inner, select(itself, zeros(v.type), speeds))
    others = reduce_any(logical_and(same, logical_not(itself)), (row,))
    missing = logical_or(broadcast(others, v.shape, (*stack, column)), mask)
    turned = existing(matmul(v, generator), missing, vectors=True)
    return [w, v], [moved, _normalized(v, turned)]


def _normalized(v: Tracer, x: Tracer) -> Tracer:
    """Return X + V·diag(c): norms do not change, and the largest elements stay real.

    LAPACK leaves an imaginary part of exactly zero in one of the largest elements of a vector.
    """
    *stack, row, column = range(v.ndim)
    phase = imag(v)
    is_real = equal(phase, zeros(phase.type))
    place = argmax(select(is_real, modulus(v), constant(-1, phase.type)), row)
    largest = equal(iota(v.shape, row), broadcast(place, v.shape, (*stack, column)))
    unit = reciprocal(select(largest, v, constant(1, v.type)))
    turn = reduce_sum(mul(x, select(largest, unit, zeros(v.type))), (row,))
    growth = reduce_sum(mul(conj(v), x), (row,))
    c = join(real(growth), imag(turn))
    return add(x, neg(mul(v, broadcast(c, v.shape, (*stack, column)))))


def _complex_eig(a: Any) -> tuple[Any, ...]:
    return tuple(x.astype(complex_dtype(x.dtype), copy=False) for x in np.linalg.eig(a))


eig_p: Final = Primitive(
    "eig",
    Params,
    abstract=_abstract_eig,
    impl=lambda _p: _complex_eig,
    jvp=_eig_jvp,
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
    *stack, row, column = range(len(shape))
    near, far = broadcast(y, shape, (*stack, row)), broadcast(w, shape, (*stack, column))
    place = argmin(modulus(sub(near, far)), column)
    nearest = equal(iota(shape, column), broadcast(place, shape, (*stack, row)))
    offered = broadcast(slopes, shape, (*stack, column))
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
)


def eigvals(a: Tracer) -> Tracer:
    """Return the eigenvalues, complex even where all of them are real."""
    return bind(eigvals_p, NONE, a)[0]
