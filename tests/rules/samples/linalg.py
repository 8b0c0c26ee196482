"""Samples of linear algebra: stacks, both triangles, singular matrices.

Functions of Hermitian matrices take the Hermitian part first, because that is how their tangents
are understood; complex eigenvectors are used in a way that does not depend on their phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.primitive import NONE
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.running.walk import inline
from funcdiff.core.types import FLOAT
from funcdiff.ops.elementwise.complex import real as real_of
from funcdiff.ops.elementwise.complex import real_part
from funcdiff.ops.elementwise.logic import less
from funcdiff.ops.linalg.degeneracy import (
    agreement,
    checked,
    digits,
    eigen_differential,
    equal_pairs,
    gauge,
    generic_rotation_p,
    mean_over_ties,
    reciprocal_gaps,
    simple_spectrum,
)
from funcdiff.ops.linalg.determinants import adjugate, det, slogdet
from funcdiff.ops.linalg.divided_differences import near_pairs_p
from funcdiff.ops.linalg.factorizations import (
    HermitianTurn,
    Way,
    cholesky,
    cholesky_differential_p,
    eigh,
    eigvalsh,
    hermitian_turn_p,
)
from funcdiff.ops.linalg.general_eigen import eig
from funcdiff.ops.linalg.invariant_subspaces import Kept, pick, whole_ties
from funcdiff.ops.linalg.matrices import (
    OneTriangle,
    adjoint,
    diagonal_part,
    hermitian,
    lower_half,
    matmul,
    mirrored,
    shares_p,
    strictly_lower,
    triangle,
)
from funcdiff.ops.linalg.matrix_functions import (
    Spectral,
    SpectralSum,
    spectral,
    spectral_sum,
)
from funcdiff.ops.linalg.systems import inv, solve, triangular_inv, triangular_solve
from funcdiff.ops.structure.structural import convert, stop_gradient
from funcdiff.scipy.primitives.linalg.general_functions import Diagonalized, diagonalized
from funcdiff.space import broadcast, mul, reduce_sum
from tests.rules.sample import Sample, body, complex_, real, sample

REGULAR = 2.0 * np.eye(3) + real(3, 3, low=-0.7, high=0.8)
STACK = 2.0 * np.eye(2) + real(3, 2, 2, low=-0.7, high=0.8)
COMPLEX = 2.0 * np.eye(2) + 0.4 * complex_(2, 2)
HERMITIAN = COMPLEX + COMPLEX.conj().T
POSITIVE = REGULAR @ REGULAR.T
SPREAD = np.diag([0.4, 2.0, 3.7]) + real(3, 3, low=-0.3, high=0.4)
SINGULAR = np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [-1.0, 0.3, 0.7]])
PAIRS = np.stack([STACK[0], STACK[1] + STACK[1].T])
NEAR = np.array([[0.3, 0.3 + 1e-9, 2.0], [1.0, 1.5, 1.5 - 1e-12]])
LABELS, PAIRED = np.array([3, 1, 2]), np.array([1, 1, 2])


def _projector(a: Any) -> Any:
    """Return V·w³·Vᴴ, which depends on neither order nor phase of the eigenvectors."""
    w, v = eigh(hermitian(a), lower=True)
    cubes = convert(mul(w, mul(w, w)), v.dtype)
    return matmul(mul(v, broadcast(cubes, v.shape, (v.ndim - 1,))), adjoint(v))


def _near(x: Any) -> Any:
    """Return which numbers are near each other for the exponential function."""
    w = real_part(x)
    y = np.exp(x)
    series: Any = [y / k for k in (1, 1, 2, 6)]
    return bind(near_pairs_p, NONE, w, equal_pairs(w), *series)[0]


def _watched(x: Any, labels: Any) -> Any:
    return gauge(x, equal_pairs(convert(labels, FLOAT)), checked=False)


def _turned(x: Any, a: Any) -> Any:
    a = hermitian(a)
    w, v = eigh(a, lower=True)
    same = equal_pairs(w)
    gaps = stop_gradient(reciprocal_gaps(w, same, x.dtype))
    way = HermitianTurn(transposed=False, order=1, lower=True)
    return bind(hermitian_turn_p, way, x, gaps, same, a, v)[0]


def _settled(x: Any, t: Any, labels: Any) -> Any:
    return eigen_differential(x, t, equal_pairs(convert(labels, FLOAT)))


def _shared(x: Any, labels: Any) -> Any:
    return mean_over_ties(x, equal_pairs(convert(labels, FLOAT)))


def _precise(x: Any, gaps: Any) -> Any:
    return digits(x, less(constant(1e8, gaps.type), gaps), checked=False)


def _agreeing(x: Any, labels: Any) -> Any:
    return agreement(x, equal_pairs(convert(labels, FLOAT)))


def _cubes(w: Any, s: Any) -> Any:
    return (broadcast(s, w.shape, tuple(range(s.ndim))) * w**3,)


def _squares(w: Any, s: Any) -> Any:
    return (w * w + broadcast(s, w.shape, ()) * w,)


def _waves(w: Any, s: Any) -> Any:
    return (np.exp(1j * w * s),)


def _spectral(a: Any, s: Any, f: Any, kept: Kept = ()) -> Any:
    """Return V·f(w)·Vᴴ, of those values that are kept, known to be that."""
    a = hermitian(a)
    w, v = (pick(x, kept) for x in eigh(a, lower=True))
    program = body(f, np.ones(w.shape), np.ones(s.shape, s.dtype))
    (values,) = inline(program, [w, s])
    basis = convert(v, values.dtype)
    y = matmul(mul(basis, broadcast(values, v.shape, (v.ndim - 1,))), adjoint(basis))
    return spectral(Spectral(program, kept, lower=True), [y, a, s])


def _diagonalized(a: Any, s: Any, f: Any) -> Any:
    """Return V·f(w)·V⁻¹, known to be that."""
    w, v = eig(a)
    program = body(f, np.ones(w.shape, w.dtype), np.ones(s.shape, s.dtype))
    (values,) = inline(program, [w, s])
    scaled = mul(v, broadcast(values, v.shape, (v.ndim - 1,)))
    y = stop_gradient(matmul(scaled, inv(v)))
    return diagonalized(Diagonalized(program, ()), [y, a, s])


def _spectral_sum(a: Any, s: Any, f: Any) -> Any:
    """Return Σ f(w), known to be that."""
    a = hermitian(a)
    w = eigvalsh(a, lower=False)
    program = body(f, np.ones(w.shape), np.ones(s.shape))
    (values,) = inline(program, [w, s])
    axes = tuple(range(w.ndim))
    known = SpectralSum(program, lower=False, axes=axes)
    return spectral_sum(known, [reduce_sum(values, axes), a, s])


def _differential(way: bool, factor: Any, t: Any) -> Any:
    return bind(cholesky_differential_p, Way(way), factor, t)[0]


SAMPLES: dict[str, list[Sample]] = {
    "inv": [sample(inv, REGULAR), sample(inv, STACK, order=1), sample(inv, COMPLEX)],
    "solve": [
        sample(solve, REGULAR, real(3, 2)), sample(solve, STACK, real(3, 2, 1), order=1),
        sample(solve, COMPLEX, complex_(2, 3)),
    ],
    "triangular_solve": [
        sample(lambda a, b: triangular_solve(a, b, lower=True), REGULAR, real(3, 2)),
        sample(lambda a, b: triangular_solve(a, b, lower=False), REGULAR, real(3, 1)),
        sample(lambda a, b: triangular_solve(a, b, lower=True), COMPLEX, complex_(2, 3)),
    ],
    "triangular_inv": [
        sample(triangular_inv, REGULAR), sample(triangular_inv, STACK, order=1),
        sample(triangular_inv, COMPLEX),
    ],
    "det": [
        sample(det, REGULAR), sample(det, SINGULAR), sample(det, STACK, order=1),
        sample(det, COMPLEX),
    ],
    "adjugate": [
        sample(adjugate, REGULAR), sample(adjugate, SINGULAR, real(3, 3)),
        sample(adjugate, COMPLEX, complex_(2, 2)),
    ],
    "slogdet": [sample(slogdet, REGULAR), sample(slogdet, -STACK), sample(slogdet, COMPLEX)],
    "part": [
        sample(lambda x: triangle(x, lower=True), real(2, 3, 2)),
        sample(lambda x: triangle(x, lower=False), complex_(2, 3)), sample(lower_half, real(3, 3)),
        sample(lambda x: mul(strictly_lower(x), diagonal_part(x[::-1])), real(3, 2)),
    ],
    "cholesky": [
        sample(lambda a: cholesky(hermitian(a), lower=True), POSITIVE),
        sample(lambda a: cholesky(hermitian(a), lower=False), POSITIVE),
        sample(lambda a: cholesky(hermitian(a), lower=True), HERMITIAN),
        sample(lambda a: cholesky(a, lower=False), POSITIVE + np.tri(3, k=-1), order=1),
    ],
    "cholesky_differential": [
        sample(lambda a, t: _differential(False, a, t), REGULAR, real(3, 3)),
        sample(lambda a, t: _differential(True, a, t), REGULAR, real(3, 3)),
        sample(lambda a, t: _differential(True, a, t), STACK, real(3, 2, 2), order=1),
    ],
    "eigh": [
        sample(lambda a: eigh(hermitian(a), lower=True), SPREAD),
        sample(lambda a: eigh(hermitian(a), lower=False), SPREAD, order=1),
        sample(_projector, HERMITIAN), sample(lambda a: eigh(a, lower=True), SPREAD),
    ],
    "eigvalsh": [
        sample(lambda a: eigvalsh(hermitian(a), lower=True), SPREAD),
        sample(lambda a: eigvalsh(hermitian(a), lower=False), HERMITIAN),
    ],
    "triangle_shares": [
        sample(lambda a: bind(shares_p, OneTriangle(lower=True, hermitian=True), a)[0], REGULAR),
        sample(lambda a: bind(shares_p, OneTriangle(lower=False, hermitian=False), a)[0], PAIRS),
        sample(lambda a: bind(shares_p, OneTriangle(lower=True, hermitian=True), a)[0], HERMITIAN),
    ],
    "mirrored": [
        sample(lambda a: mirrored(a, lower=True), REGULAR),
        sample(lambda a: mirrored(a, lower=False, hermitian=False), COMPLEX),
        sample(lambda a: mirrored(a, lower=False), COMPLEX),
    ],
    "equal_pairs": [
        sample(equal_pairs, np.array([1.0, 3.0, 2.0]), order=1),
        sample(lambda n: equal_pairs(convert(n, FLOAT)), PAIRED),
    ],
    "near_pairs": [
        sample(_near, NEAR, order=1),
        sample(lambda w: _near(convert(w, np.dtype(complex))), NEAR[0], order=1),
    ],
    "generic_rotation": [
        sample(lambda n: bind(generic_rotation_p, NONE, equal_pairs(convert(n, FLOAT)))[0], PAIRED)
    ],
    "digits": [sample(_precise, real(3, 3), SPREAD)],
    "whole_ties": [
        sample(
            lambda x, n: whole_ties(x, equal_pairs(convert(n, FLOAT)), (0, 2, 1)),
            real(3, 3), LABELS,
        ),
    ],
    "gauge": [
        sample(_watched, real(3, 3), LABELS),
        sample(lambda x, n: real_of(_watched(convert(x, np.dtype(complex)), n)), SPREAD, LABELS),
    ],
    "eigen_differential": [sample(_settled, real(3), real(3, 3), LABELS)],
    "hermitian_turn": [
        sample(_turned, real(3, 3), SPREAD),
        sample(_turned, complex_(2, 2), HERMITIAN),
    ],
    "checked": [sample(lambda x: checked(x, reduce_sum(x, (0, 1))), real(3, 3))],
    "mean_over_ties": [
        sample(_shared, real(3), LABELS),
    ],
    "agreement": [sample(_agreeing, real(3), LABELS)],
    "spectral": [
        sample(lambda a, s: _spectral(a, s, _waves), SPREAD, np.array(0.6)),
        sample(lambda a, s: _spectral(a, s, _waves, (2, 2, -2)), SPREAD, np.array(0.6)),
        sample(lambda a, s: _spectral(a, s, _waves), HERMITIAN, np.array(0.6)),
        sample(lambda a, s: _spectral(a, s, _waves), HERMITIAN, np.array(0.6 - 0.2j), order=1),
        sample(lambda a, s: _spectral(a, s, _cubes), SPREAD, np.array([1.4, 0.3, 0.9])),
    ],
    "diagonalized": [
        sample(lambda a, s: _diagonalized(a, s, _waves), complex_(3, 3), np.array(0.6)),
        sample(lambda a, s: _diagonalized(a, s, _squares), complex_(2, 2), np.array(0.6 + 0j)),
    ],
    "spectral_sum": [
        sample(lambda a, s: _spectral_sum(a, s, _cubes), SPREAD, np.array(1.4)),
        sample(lambda a, s: _spectral_sum(a, s, _waves), HERMITIAN, np.array(0.6)),
        sample(lambda a, s: _spectral_sum(a, s, _cubes), STACK, np.array([1.4, 0.3, 0.9]), order=1),
    ],
    "simple_spectrum": [
        sample(lambda x, n: simple_spectrum(x, equal_pairs(convert(n, FLOAT))), real(3), LABELS)
    ],
}  # fmt: skip
