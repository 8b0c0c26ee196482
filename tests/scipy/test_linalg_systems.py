"""`scipy.linalg`: systems, factorizations for solving them, bands, equations of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg as plain
from scipy.sparse import csc_array

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.testing import check_grads
from tests.rules.sample import complex_, real
from tests.scipy.agreement import Call, assert_agrees

LINALG: Any = fd.scipy.linalg

A = 3.0 * np.eye(3) + real(3, 3, low=-0.9, high=0.8)
C = 3.0 * np.eye(3) + 0.5 * complex_(3, 3)
STACK = 3.0 * np.eye(3) + real(2, 3, 3, low=-0.9, high=0.8)
POSITIVE = A @ A.T
HERMITIAN = C @ C.conj().T
X, Y = real(3), complex_(3, 2)
SMALL = real(3, 3, low=-0.5, high=0.4)
BAND = np.array([[0.3], [4.0], [-0.8], [0.5]]) + real(4, 5, low=-0.2, high=0.3)
COMPLEX_BAND = BAND + 0.2j * BAND[::-1]
B = real(5, 2)


def even(x: Any) -> Any:
    """Return the Hermitian part."""
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def symmetric(x: Any) -> Any:
    """Return the symmetric part."""
    return (x + x.T) / 2


SYSTEMS: dict[str, tuple[Any, ...]] = {
    "solve": (lambda s, a, b: s.solve(a, b), A, X),
    "solve, transposed": (lambda s, a, b: s.solve(a, b, transposed=True), A, Y.real),
    "solve, stacks": (lambda s, a, b: s.solve(a, b), STACK, X),
    "solve, one number": (lambda s, a, b: s.solve(a, b), A[:1, :1], X),
    "inv": (lambda s, a: s.inv(a), C),
    "inv, upper": (lambda s, a: s.inv(np.triu(a), assume_a="upper triangular"), C),
    "det": (lambda s, a: s.det(a), C),
    "det, singular": (lambda s, a: s.det(a - a), A),
    "cholesky": (lambda s, a: s.cholesky(even(a)), HERMITIAN),
    "cholesky, lower, stacks": (lambda s, a: s.cholesky(even(a) + 9 * np.eye(3), True), STACK),
    "cho_solve": (lambda s, a, b: s.cho_solve(s.cho_factor(even(a)), b), POSITIVE, X),
    "cho_solve, lower": (lambda s, a, b: s.cho_solve(s.cho_factor(even(a), True), b), HERMITIAN, Y),
    "lu_factor": (lambda s, a: s.lu_factor(a), C[::-1]),
    "lu_factor, tall": (lambda s, a: s.lu_factor(a)[0], real(4, 2)),
    "lu_solve": (lambda s, a, b: s.lu_solve(s.lu_factor(a), b), C[::-1], Y),
    "lu_solve, transposed": (lambda s, a, b: s.lu_solve(s.lu_factor(a), b, 1), STACK[:, ::-1], X),
    "lu_solve, adjoint": (lambda s, a, b: s.lu_solve(s.lu_factor(a), b, trans=2), C[::-1], Y),
    "lu": (lambda s, a: s.lu(a), real(2, 3, 2)),
    "lu, wide": (lambda s, a: s.lu(a, permute_l=True), complex_(2, 4)),
    "lu, indices": (lambda s, a: s.lu(a, p_indices=True), A[::-1]),
    "solve_banded": (lambda s, a, b: s.solve_banded((2, 1), a, b), BAND, B[:, 0]),
    "solve_banded, complex": (lambda s, a, b: s.solve_banded((1, 2), a, b), COMPLEX_BAND[::-1], B),
    "solve_banded, three": (lambda s, a, b: s.solve_banded((1, 1), a, b), BAND[:3], B),
    "solve_banded, upper": (lambda s, a, b: s.solve_banded((0, 1), a, b), BAND[:2], B),
    "solve_banded, stacks": (
        lambda s, a, b: s.solve_banded((2, 1), a, b), np.stack([BAND, BAND + 0.1]), B,
    ),
    "solveh_banded": (lambda s, a, b: s.solveh_banded(a, b, lower=True), BAND[1:], B),
    "solveh_banded, two": (lambda s, a, b: s.solveh_banded(a, b), COMPLEX_BAND[:2], B[:, 0]),
    "cholesky_banded": (lambda s, a: s.cholesky_banded(a, lower=True), COMPLEX_BAND[1:]),
    "cholesky_banded, upper": (lambda s, a: s.cholesky_banded(a), BAND[[3, 0, 1]]),
    "cholesky_banded, blocks": (lambda s, a: s.cholesky_banded(a), np.tile(BAND[:2], 7)[:, :33]),
    "cho_solve_banded": (
        lambda s, a, b: s.cho_solve_banded((s.cholesky_banded(a, lower=True), True), b),
        COMPLEX_BAND[1:], B,
    ),
    "cho_solve_banded, upper": (
        lambda s, a, b: s.cho_solve_banded((s.cholesky_banded(a), False), b), BAND[:2], B[:, 0],
    ),
    "solve_toeplitz": (lambda s, c, b: s.solve_toeplitz(c, b), A[0], X),
    "solve_toeplitz, both": (lambda s, c, r, b: s.solve_toeplitz((c, r), b), C[0], C[0] * 1j, Y),
    "matmul_toeplitz": (lambda s, c, b: s.matmul_toeplitz(c, b), A[0], Y.real),
    "matmul_toeplitz, both": (
        lambda s, c, r, b: s.matmul_toeplitz((c, r), b), real(4), complex_(3), X,
    ),
    "solve_circulant": (lambda s, c, b: s.solve_circulant(c, b), A[0], X),
    "solve_circulant, axes": (
        lambda s, c, b: s.solve_circulant(c, b, baxis=1, outaxis=-1), STACK[:, 0], real(2, 3),
    ),
    "sylvester": (lambda s, a, b, q: s.solve_sylvester(a, b, q), C, C[:2, :2], Y),
    "lyapunov": (lambda s, a, q: s.solve_continuous_lyapunov(a, q), C, POSITIVE),
    "discrete lyapunov": (lambda s, a, q: s.solve_discrete_lyapunov(a, q), SMALL, POSITIVE),
    "discrete lyapunov, bilinear": (
        lambda s, a, q: s.solve_discrete_lyapunov(a, q, "bilinear"), 0.3 * C, HERMITIAN,
    ),
}  # fmt: skip


@pytest.mark.thinned(19)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_has_scipys_solution_and_all_derivatives(name: str) -> None:
    assert_agrees("scipy.linalg", *SYSTEMS[name], order=1, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["solve", "cho_solve", "lu_solve", "solve_banded", "inv"])
def test_second_derivatives_of_solutions_agree_with_differences(name: str) -> None:
    assert_agrees("scipy.linalg", *SYSTEMS[name], batched=False)


_PARTS: dict[str, Call] = {
    "gen": lambda x: x,
    "diagonal": lambda x: np.eye(3) * x,
    "tridiagonal": lambda x: np.triu(np.tril(x, 1), -1),
    "banded": lambda x: np.tril(x, 1),
    "upper triangular": np.triu,
    "lower triangular": np.tril,
    "sym": symmetric,
    "her": even,
    "pos": even,
}


@pytest.mark.thinned(14)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("kind", _PARTS)
def test_every_structure_is_solved_and_differentiated(kind: str, lower: bool) -> None:
    part = _PARTS[kind]
    matrix = HERMITIAN if kind in ("her", "pos") else C
    assert_agrees(
        "scipy.linalg",
        lambda s, a, b: s.solve(part(a), b, assume_a=kind, lower=lower),
        matrix,
        Y,
        order=1,
        rtol=1e-11,
    )


@pytest.mark.thinned(14)
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, "T", 2])
def test_triangular_systems(trans: Any, lower: bool, unit: bool) -> None:
    assert_agrees(
        "scipy.linalg",
        lambda s, a, b: s.solve_triangular(a, b, trans, lower, unit_diagonal=unit),
        C,
        Y[:, 0],
        order=1,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccati_equations(name: str) -> None:
    def equation(s: Any, a: Any, b: Any, q: Any, r: Any, *others: Any) -> Any:
        return getattr(s, name)(a, b, even(q), even(r), *others, balanced=not others)

    given = SMALL, real(3, 2), POSITIVE, np.eye(2) + 0.2
    assert_agrees("scipy.linalg", equation, *given, order=1, rtol=1e-9)
    assert_agrees(
        "scipy.linalg",
        equation,
        *given,
        np.eye(3) + 0.1 * real(3, 3),
        0.1 * real(3, 2),
        order=1,
        rtol=1e-9,
        batched=False,
    )


@pytest.mark.parametrize("kind", ["diagonal", "tridiagonal", "upper triangular"])
def test_what_the_structure_leaves_out_has_no_gradient(kind: str) -> None:
    def total(a: Any) -> Any:
        return np.sum(LINALG.solve(a, X, assume_a=kind))

    mask = _PARTS[kind](np.ones((3, 3)))
    np.testing.assert_array_equal(fd.grad(total)(A * mask)[mask == 0], 0)


def test_a_singular_system_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        fd.grad(lambda a: np.sum(LINALG.solve_triangular(a, X)))(np.zeros((3, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        fd.grad(lambda c: np.sum(LINALG.solve_circulant(c, X)))(np.ones(3))

    def least(c: Any) -> Any:
        return LINALG.solve_circulant(c, X, singular="lstsq")

    y, _ = fd.vjp(least, np.ones(3))
    np.testing.assert_allclose(y, np.full(3, X.mean() / 3))


def test_an_unknown_structure_is_an_error() -> None:
    with pytest.raises(ValueError, match="round is not a recognized"):
        fd.grad(lambda a: np.sum(LINALG.solve(a, X, assume_a="round")))(A)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Diagonal number")
@pytest.mark.parametrize("name", ["lu", "lu_factor"])
def test_factors_of_a_singular_matrix_have_derivatives_if_the_last_pivot_is_zero(name: str) -> None:
    singular = np.array([[4.0, 3.0, 3.0], [2.0, 1.0, 1.0], [1.0, 1.75, 1.75]])
    assert LINALG.lu_factor(singular)[0][2, 2] == 0

    def f(a: Any) -> Any:
        found = getattr(LINALG, name)(a)
        return np.sum((found[-1] if name == "lu" else found[0]) ** 2 * A)

    check_grads(f, (singular,))
    zero = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    for way in (fd.grad, fd.jacfwd):
        with pytest.raises(NotDifferentiableError, match="pivot"):
            way(f)(zero)


WIDE: dict[str, Any] = {
    "inv": lambda s, a: s.inv(a),
    "solve": lambda s, a: s.solve(a, [True, False, True]),
    "solve int8": lambda s, a: s.solve(a, np.array([1, 2, 3], np.int8)),
    "lstsq": lambda s, a: s.lstsq(a, a)[0],
    "expm": lambda s, a: s.expm(a),
    "norm": lambda s, a: s.norm(a[0]),
}


@pytest.mark.filterwarnings("ignore:Calling .* is deprecated in SciPy 1.18")
@pytest.mark.parametrize("name", WIDE)
def test_half_extended_and_complex_matrices_have_scipys_value_and_dtype(name: str) -> None:
    for dtype in "efdFD" if name == "expm" else "efdgFDG":
        a = (C if dtype in "FDG" else A).astype(dtype)
        found = fd.vjp(lambda a: (np.sum(a.real), WIDE[name](LINALG, a)), a, has_aux=True)[2]
        expected = WIDE[name](plain, a)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        rtol = 2e-3 if dtype == "e" else 1e-5 if dtype in "fF" else 1e-12
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_norms_of_single_precision_do_not_overflow() -> None:
    large = np.array([1e20, 2e20], np.float32)
    np.testing.assert_allclose(fd.vjp(LINALG.norm, large)[0], plain.norm(large), rtol=1e-6)


def test_a_singular_matrix_of_one_number_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        fd.vjp(lambda a: LINALG.solve(a, [0.0, 1.0]), np.zeros((1, 1)))
    value = fd.vjp(lambda a: LINALG.solve(a, [0.0, 1.0]), np.full((1, 1), 4.0))[0]
    np.testing.assert_array_equal(value, [0.0, 0.25])


APART: dict[str, Any] = {
    "solve": lambda b: LINALG.solve(A, b),
    "solve_triangular": lambda b: LINALG.solve_triangular(A, b),
    "solve_banded": lambda b: LINALG.solve_banded((1, 1), A, b),
    "solveh_banded": lambda b: LINALG.solveh_banded(np.array([[0.0] * 3, [4.0] * 3]), b),
    "solve_toeplitz": lambda b: LINALG.solve_toeplitz(np.array([4.0, 1.0, 0.5]), b),
    "cho_solve": lambda b: LINALG.cho_solve(LINALG.cho_factor(POSITIVE), b),
    "lu_solve": lambda b: LINALG.lu_solve(LINALG.lu_factor(A), b),
    "spsolve": lambda b: fd.scipy.sparse.linalg.spsolve(csc_array(A), b),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_an_infinite_slope_stays_with_its_right_hand_side(name: str) -> None:
    """Columns are solved for apart: of the second one all is zero, whatever the slope there."""

    def f(x: Any) -> Any:
        return np.cbrt(APART[name](np.where(np.array([True, False]), x[:, None], 0.0)))

    x = np.array([1.0, 2.0, 3.0])
    assert np.isfinite(fd.jacfwd(f)(x)).all()
    assert not fd.jacfwd(f)(x)[:, 1].any()
