"""Cholesky factors, eigenvalues and eigenvectors of Hermitian matrices.

Matrices that are Hermitian by convention have Hermitian tangents, see `matrices`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import real_part
from funcdiff.ops.families import unary
from funcdiff.ops.linalg.cholesky_differential import LARGE, cholesky_differential
from funcdiff.ops.linalg.degeneracy import (
    blocks,
    eigen_differential,
    equal_pairs,
    generic_rotation,
    reciprocal_gaps,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    diagonal,
    in_basis,
    lower_half,
    matmul,
    square,
    symmetric_tangent,
)
from funcdiff.ops.linalg.routines import routine
from funcdiff.ops.linalg.systems import Triangle, triangular_inv
from funcdiff.space import mul

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


def _eigh_jvp(p: Hermitian, xs: Tracers, ts: Tangents) -> Pushed:
    """Follow the direction: it says how equal eigenvalues part, and with which eigenvectors.

    Those are the eigenvectors of the projected perturbation; they are chosen among all that `a`
    has, so that for simple eigenvalues nothing changes.
    """
    (a,), (t,) = xs, ts
    assert t is not None
    w, v = eigh(a, lower=p.lower, driver=p.driver)
    same = equal_pairs(w)
    inner = in_basis(v, symmetric_tangent(a, t, lower=p.lower))
    slopes, rotation = blocks(inner, same)
    v, inner = matmul(v, rotation), in_basis(rotation, inner)
    return [w, v], [slopes, matmul(v, mul(reciprocal_gaps(w, same, v.dtype), inner))]


def _eigh_linearize(p: Hermitian, xs: Tracers, ts: Tangents) -> Pushed:
    """dw = diag(Vᴴ·dA·V), averaged over equal eigenvalues, and dV = V·(F∘Vᴴ·dA·V).

    F[i, j] = 1/(w[j] - w[i]), and 0 between equal eigenvalues: there the derivative exists only
    for results that do not depend on the choice of eigenvectors, which `eigen_differential` makes
    sure of.  The choice is made generic for that: LAPACK's own may be one at which such a result
    is stationary.  The formulas keep LAPACK's, which the order of the eigenvalues belongs to.
    """
    (a,), (t,) = xs, ts
    assert t is not None
    w, v = eigh(a, lower=p.lower, driver=p.driver)
    same = equal_pairs(w)
    inner = in_basis(v, symmetric_tangent(a, t, lower=p.lower))
    rotation = generic_rotation(v.type, same)
    generator = mul(reciprocal_gaps(w, same, v.dtype), inner)
    slopes, generator = eigen_differential(real_part(diagonal(inner)), generator, same)
    return [w, matmul(v, rotation)], [slopes, matmul(matmul(v, generator), rotation)]


def _eigh_impl(p: Hermitian) -> Callable[..., Any]:
    if p.driver:
        return routine("eigh", lower=p.lower, driver=p.driver)
    return lambda a: tuple(np.linalg.eigh(a, "L" if p.lower else "U"))


eigh_p: Final = Primitive(
    "eigh",
    Hermitian,
    abstract=_abstract_eigh,
    impl=_eigh_impl,
    jvp=_eigh_jvp,
    linearize=_eigh_linearize,
    access=signature("...??->...?,...??"),
    facts=Facts(raises=True, spectral=True),
)


def eigh(a: Tracer, *, lower: bool, driver: str = "") -> tuple[Tracer, ...]:
    """Return the eigenvalues, ascending, and eigenvectors of the Hermitian matrix of a triangle.

    Which of the possible eigenvectors depends on the driver.
    """
    return bind(eigh_p, Hermitian(lower, driver), a)


def _eigvalsh_rule(rule: Callable[..., Any]) -> Callable[..., Any]:
    def forward(p: Hermitian, xs: Tracers, ts: Tangents) -> Pushed:
        _, (slopes, _) = rule(p, xs, ts)
        return [eigvalsh(xs[0], lower=p.lower)], [slopes]

    return forward


eigvalsh_p: Final = Primitive(
    "eigvalsh",
    Hermitian,
    abstract=_abstract_eigvalsh,
    impl=lambda p: lambda a: np.linalg.eigvalsh(a, "L" if p.lower else "U"),
    jvp=_eigvalsh_rule(_eigh_jvp),
    linearize=_eigvalsh_rule(_eigh_linearize),
    access=signature("...??->...?"),
    facts=Facts(raises=True, spectral=True),
)


def eigvalsh(a: Tracer, *, lower: bool) -> Tracer:
    """Return the eigenvalues, ascending, of the Hermitian matrix of a triangle."""
    return bind(eigvalsh_p, Hermitian(lower, ""), a)[0]
