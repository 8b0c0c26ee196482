"""`scipy.linalg`: eigenvalues, singular values, orthogonal factors, least squares, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.scipy import linalg
from tests.rules.sample import complex_, real
from tests.scipy.agreement import assert_agrees
from tests.scipy.test_linalg_systems import HERMITIAN, POSITIVE, SMALL, A, C, even

LINALG: Any = fd.scipy.linalg

SPREAD = np.diag([0.4, 2.0, 3.7]) + 0.3 * even(SMALL)
COMPLEX = np.diag([0.4, 2.0, 3.7]) + 0.3 * even(C)
STACK = np.stack([SPREAD, SPREAD + 0.1 * POSITIVE])
TALL, WIDE = real(4, 2), complex_(2, 3)
BAND = np.array([[0.0, 2.0, 5.0, 9.0], [0.4, -0.3, 0.2, 0.7]])
D, E = real(4), real(3)
ROTATION = np.array([[0.0, -1, 0.3], [1, 0.2, 0], [0.1, 0, 2]])
BALANCED = A * np.array([[1e3, 1.0, 1e-2]])


def phaseless(w: Any, *vectors: Any) -> Any:
    """Return eigenvalues, and what of vectors does not depend on a phase."""
    return [w, *(np.abs(v) ** 2 for v in vectors)]


def projector(q: Any) -> Any:
    """Return Q·Qᴴ."""
    return q @ np.conj(np.swapaxes(q, -1, -2))


SPECTRA: dict[str, tuple[Any, ...]] = {
    "eigh": (lambda s, a: s.eigh(even(a)), SPREAD),
    "eigh, upper, complex": (lambda s, a: phaseless(*s.eigh(even(a), lower=False)), COMPLEX),
    "eigh, stacks": (lambda s, a: s.eigh(even(a), driver="evd"), STACK),
    "eigh, driver": (lambda s, a: s.eigh(even(a), driver="evx"), SPREAD),
    "eigh, by index": (lambda s, a: s.eigh(even(a), subset_by_index=(1, 2)), SPREAD),
    "eigh of pairs": (lambda s, a, b: s.eigh(even(a), even(b)), SPREAD, POSITIVE),
    "eigh of pairs, upper": (
        lambda s, a, b: s.eigh(even(a), even(b), lower=False), STACK, POSITIVE,
    ),
    "eigh of pairs, complex": (
        lambda s, a, b: phaseless(*s.eigh(even(a), even(b))), COMPLEX, HERMITIAN,
    ),
    "eigh of products": (lambda s, a, b: s.eigh(even(a), even(b), type=2), SPREAD, POSITIVE),
    "eigh of products, turned": (
        lambda s, a, b: s.eigh(even(a), even(b), type=3, subset_by_index=[0, 1]), SPREAD, POSITIVE,
    ),
    "eigvalsh": (lambda s, a, b: s.eigvalsh(even(a), even(b)), COMPLEX, HERMITIAN),
    "eig": (lambda s, a: s.eig(a, left=True), SPREAD + 0.3 * SMALL),
    "eig, complex": (lambda s, a: s.eig(a), C),
    "eig, left": (lambda s, a: s.eig(a, left=True, right=False), C),
    "eig, a rotation": (lambda s, a: s.eig(a), ROTATION),
    "eig of pairs": (lambda s, a, b: s.eig(a, b, left=True), SPREAD + 0.3 * SMALL, POSITIVE),
    "eigvals": (lambda s, a: s.eigvals(a), C),
    "eigvals of pairs": (lambda s, a, b: s.eigvals(a, b), C, HERMITIAN),
    "eig_banded": (lambda s, a: s.eig_banded(a, lower=True), BAND),
    "eig_banded, some": (
        lambda s, a: s.eig_banded(a, select="i", select_range=(1, 2)), BAND[::-1].copy(),
    ),
    "eigvals_banded": (lambda s, a: s.eigvals_banded(a + 0.1j * a, lower=True), BAND),
    "eigh_tridiagonal": (lambda s, d, e: s.eigh_tridiagonal(d, e), D, E),
    "eigh_tridiagonal, some": (
        lambda s, d, e: s.eigh_tridiagonal(d, e, select="i", select_range=(0, 1)), D, E,
    ),
    "eigvalsh_tridiagonal": (lambda s, d, e: s.eigvalsh_tridiagonal(d, e), D, E),
    "svd": (lambda s, a: s.svd(a), A),
    "svd, economic": (lambda s, a: s.svd(a, full_matrices=False), TALL),
    "svd, gesvd": (lambda s, a: s.svd(a, full_matrices=False, lapack_driver="gesvd"), TALL.T),
    "svdvals": (lambda s, a: s.svdvals(a), WIDE),
    "polar": (lambda s, a: s.polar(a), TALL),
    "polar, left": (lambda s, a: s.polar(a, "left"), C),
    "procrustes": (lambda s, a, b: s.orthogonal_procrustes(a, b), TALL, real(4, 2, start=9)),
    "orth": (lambda s, a: projector(s.orth(a)), TALL),
    "null_space": (lambda s, a: projector(s.null_space(a)), WIDE),
    "subspace_angles": (lambda s, b: s.subspace_angles(real(5, 2), b), real(5, 3, start=4)),
    "qr": (lambda s, a: s.qr(a), C),
    "qr, pivoting": (lambda s, a: s.qr(a, mode="economic", pivoting=True), TALL),
    "qr, r": (lambda s, a: s.qr(a, mode="r"), WIDE),
    "qr, raw": (lambda s, a: s.qr(a, mode="raw"), TALL),
    "qr_multiply": (lambda s, a, c: s.qr_multiply(a, c, "left"), TALL, real(2, 3)),
    "qr_multiply, right": (lambda s, a, c: s.qr_multiply(a, c, conjugate=True), C, WIDE),
    "rq": (lambda s, a: s.rq(a), C),
    "rq, tall": (lambda s, a: s.rq(a, mode="economic"), TALL),
    "ldl": (lambda s, a: s.ldl(even(a)), SMALL),
    "ldl, upper, stacks": (lambda s, a: s.ldl(even(a), lower=False), STACK),
    "ldl, complex": (lambda s, a: s.ldl(a + a.T, hermitian=False), C),
    "schur": (lambda s, a: s.schur(a), SPREAD + 0.3 * SMALL),
    "schur, a rotation": (lambda s, a: s.schur(a, sort="rhp"), ROTATION),
    "schur, complex": (lambda s, a: [np.abs(x) for x in s.schur(a, output="complex")], ROTATION),
    "lstsq": (lambda s, a, b: s.lstsq(a, b)[::3], TALL, real(4)),
    "lstsq, residuals": (lambda s, a, b: s.lstsq(a, b)[1], TALL, real(4, 3)),
    "lstsq, gelsy": (lambda s, a, b: s.lstsq(a, b, lapack_driver="gelsy")[:2], WIDE, real(2)),
    "pinv": (lambda s, a: s.pinv(a, atol=0.01, rtol=1e-3), WIDE),
    "pinvh": (lambda s, a: s.pinvh(even(a), lower=False), HERMITIAN),
    "norm": (lambda s, a: [s.norm(a), s.norm(a, 1), s.norm(a, 2), s.norm(a, np.inf)], A),
    "norm along an axis": (lambda s, a: s.norm(a, 3, axis=1, keepdims=True), WIDE),
    "matrix_balance": (lambda s, a: s.matrix_balance(a), BALANCED),
    "matrix_balance, separate": (lambda s, a: s.matrix_balance(a, separate=True), BALANCED),
}  # fmt: skip


@pytest.mark.thinned(19)
@pytest.mark.parametrize("name", SPECTRA)
def test_spectra_and_factors_have_scipys_values_and_derivatives(name: str) -> None:
    assert_agrees("scipy.linalg", *SPECTRA[name], order=1, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eigh", "eigh, by index", "polar", "svdvals", "subspace_angles"])
def test_second_derivatives_of_spectra_agree_with_differences(name: str) -> None:
    assert_agrees("scipy.linalg", *SPECTRA[name], rtol=1e-10, batched=False)


def test_eigenvalues_in_an_interval() -> None:
    def some(s: Any, a: Any) -> Any:
        return s.eigh(even(a), subset_by_value=(1.0, 9.0))

    assert_agrees("scipy.linalg", some, SPREAD, order=1, batched=False)


def test_an_empty_matrix_has_no_eigenvalues() -> None:
    w, v = fd.vjp(LINALG.eig, np.zeros((0, 0)))[0]
    assert w.shape == (0,)
    assert v.shape == (0, 0)


def test_ranks_are_constants() -> None:
    rank = fd.vjp(lambda a: LINALG.pinv(a, return_rank=True), TALL[:, [0, 0, 1]])[0][1]
    assert rank == 2
    rank = fd.vjp(lambda a: LINALG.lstsq(a, real(4)), TALL)[0][2]
    assert (rank, rank.dtype) == (2, int)


def test_what_depends_on_a_choice_of_basis_has_no_gradient() -> None:
    with pytest.raises(NotDifferentiableError, match="null space"):
        fd.grad(lambda a: LINALG.null_space(a)[0, 0])(real(2, 4))


def test_keywords_without_a_derivative_are_refused() -> None:
    with pytest.raises(TypeError, match=r"homogeneous_eigvals.* leave it out"):
        fd.grad(lambda a: LINALG.eigvals(a, homogeneous_eigvals=True)[0, 0].real)(A)


def test_null_spaces_of_a_stack_are_those_of_its_matrices() -> None:
    a = np.random.default_rng(5).normal(size=(2, 3, 2, 4))
    basis = fd.vjp(lambda a: linalg.null_space(a), a)[0]
    assert basis.shape == scipy.linalg.null_space(a).shape
    np.testing.assert_allclose(a @ basis, 0.0, atol=1e-14)
    with pytest.raises(ValueError, match="one rank"):
        fd.vjp(lambda a: linalg.null_space(a), np.stack([np.eye(2), np.zeros((2, 2))]))


@pytest.mark.parametrize("values", [
    [1.0, 1.0], [2.0, -1.0, 2.0], [2.0, 2.0, 2.0, 2.0], [1.0, 3.0, 1.0, 3.0, 0.0],
])  # fmt: skip
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
def test_vectors_of_equal_eigenvalues_are_a_basis_where_they_are_traced(
    values: Any, pair: bool, dtype: Any
) -> None:
    """One vector may not be found for two values: the recomposed matrix is the matrix."""
    n = len(values)
    random = np.random.default_rng(n)
    basis, b = random.normal(size=(2, n, n)) + 2 * np.eye(n)
    if dtype is complex:
        basis = basis * (1 + 0.2j * random.normal(size=(n, n)))
    for v in (np.eye(n), basis):
        a = (v * values) @ np.linalg.inv(v)

        def recomposed(a: Any) -> Any:
            w, v = LINALG.eig(b @ a, b) if pair else LINALG.eig(a)
            return (v * w) @ np.linalg.inv(v)

        for f in (recomposed, fd.jit(recomposed)):
            np.testing.assert_allclose(f(a), a, atol=1e-8)
        np.testing.assert_allclose(fd.vmap(recomposed)(np.stack([a, 2 * a])), [a, 2 * a], atol=1e-8)
