"""`scipy.linalg`: functions of matrices, and matrices of a special form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import linalg
from tests.rules.sample import complex_, real
from tests.scipy.agreement import assert_agrees
from tests.scipy.test_linalg_systems import HERMITIAN, POSITIVE, SMALL
from tests.together import together

LINALG: Any = fd.scipy.linalg

TINY = SMALL[:2, :2]
COMPLEX = 0.5 * complex_(2, 2)
ROOT = POSITIVE[:2, :2]
X, Z = real(4), complex_(3)

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "expm": (lambda s, a: s.expm(a), TINY),
    "expm, stacks": (lambda s, a: s.expm(a), real(2, 2, 2, low=-0.5)),
    "expm, triangular": (lambda s, a: s.expm(np.triu(a)), TINY),
    "expm at zero": (lambda s, a: s.expm(a - a), TINY),
    "expm of a number": (lambda s, a: s.expm(a), np.array(0.3)),
    "cosm": (lambda s, a: s.cosm(a), TINY),
    "sinm": (lambda s, a: s.sinm(a), COMPLEX),
    "tanm": (lambda s, a: s.tanm(a), TINY),
    "coshm": (lambda s, a: s.coshm(a), COMPLEX),
    "sinhm": (lambda s, a: s.sinhm(a), TINY),
    "tanhm": (lambda s, a: s.tanhm(a), COMPLEX),
    "sqrtm": (lambda s, a: s.sqrtm(a), ROOT),
    "sqrtm at the unit matrix": (lambda s, a: s.sqrtm(a), np.eye(2)),
    "sqrtm, complex": (lambda s, a: s.sqrtm(a), HERMITIAN),
    "logm": (lambda s, a: s.logm(a), ROOT),
    "logm, complex": (lambda s, a: s.logm(a), HERMITIAN[:2, :2]),
    "fractional power": (lambda s, a: s.fractional_matrix_power(a, -1.3), ROOT),
    "whole power": (lambda s, a: s.fractional_matrix_power(a, 3), TINY),
    "signm": (lambda s, a: s.signm(a - 11 * np.eye(2)), ROOT),
    "funm": (lambda s, a: s.funm(a, np.sin), ROOT),
    "expm_frechet": (lambda s, a, e: s.expm_frechet(a, e), TINY, real(2, 2)),
    "expm_frechet alone": (
        lambda s, a, e: s.expm_frechet(a, e, "blockEnlarge", compute_expm=False), COMPLEX, TINY,
    ),
}  # fmt: skip

MATRICES: dict[str, tuple[Any, ...]] = {
    "toeplitz": (lambda s, c, r: s.toeplitz(c, r), X, Z),
    "toeplitz, Hermitian": (lambda s, c: s.toeplitz(c), complex_(2, 3)),
    "circulant": (lambda s, c: s.circulant(c), real(2, 3)),
    "hankel": (lambda s, c, r: s.hankel(c, r), Z, X),
    "hankel, zeros": (lambda s, c: s.hankel(c), X),
    "leslie": (lambda s, f, x: s.leslie(f, x), real(2, 4), X[1:]),
    "companion": (lambda s, a: s.companion(a), Z),
    "fiedler": (lambda s, a: s.fiedler(a), X),
    "fiedler_companion": (lambda s, a: s.fiedler_companion(a), real(5)),
    "block_diag": (lambda s, a, b: s.block_diag(a, b, 1), real(2, 3), X),
    "khatri_rao": (lambda s, a, b: s.khatri_rao(a, b), real(2, 3), real(4, 3)),
    "convolution_matrix": (lambda s, a: s.convolution_matrix(a, 3, "same"), X),
    "convolution_matrix, valid": (lambda s, a: s.convolution_matrix(a, 3, "valid"), real(2, 4)),
    "diagsvd": (lambda s, a: [s.diagsvd(a, 4, 6), s.diagsvd(a, 5, 4)], X),
}  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_scipys_values_and_derivatives(name: str) -> None:
    assert_agrees("scipy.linalg", *FUNCTIONS[name], order=1, rtol=1e-10)


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_of_special_form_is_linear_in_what_it_is_made_of(name: str) -> None:
    assert_agrees("scipy.linalg", *MATRICES[name], order=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expm", "sqrtm", "tanm", "funm"])
def test_second_derivatives_of_functions_agree_with_differences(name: str) -> None:
    assert_agrees("scipy.linalg", *FUNCTIONS[name], rtol=1e-10, batched=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_negative_eigenvalues_make_a_real_matrix_complex(name: str) -> None:
    matrix = np.array([[-2.0, 0.3, 0.1], [0.5, 1.4, -0.8], [0.2, 0.9, 1.1]])
    assert_agrees(
        "scipy.linalg", lambda s, a: getattr(s, name)(a), matrix,
        order=1, rtol=1e-10, batched=False,
    )  # fmt: skip


def test_a_root_that_has_to_be_real_and_is_not_is_an_error() -> None:
    with pytest.raises(ConcreteValueError, match=r"sqrtm\(a.astype\(complex\)\)"):
        fd.scan(lambda c, a: (c, LINALG.sqrtm(a)), 0.0, np.stack([ROOT, -ROOT]))


def test_the_exponent_of_a_power_has_a_derivative() -> None:
    slope = fd.jacobian(lambda t: LINALG.fractional_matrix_power(np.diag([2.0, 3.0]), t))(0.5)
    expected = np.diag(np.log([2.0, 3.0]) * np.sqrt([2.0, 3.0]))
    np.testing.assert_allclose(slope, expected, atol=1e-12)


def test_facts_of_matrices_are_constants() -> None:
    def facts(s: Any, a: Any) -> Any:
        return [
            bool(s.issymmetric(a + a.T)),
            bool(s.ishermitian(1j * (a + a.T))),
            bool(s.issymmetric(a, atol=9.0)),
            [int(k) for k in s.bandwidth(np.triu(a, -1))],
            [bool(k) for k in s.issymmetric(np.stack([a, a + a.T]))],
            [[int(k) for k in ks] for ks in s.bandwidth(np.stack([a, np.triu(a)]))],
            a,
        ]

    assert_agrees("scipy.linalg", facts, SMALL, order=1, batched=False)


def test_derivatives_of_the_exponential_of_a_large_matrix() -> None:
    a, e, f = 0.1 * real(30, 30), real(30, 30, start=5), real(30, 30, start=9)

    def along(t: Any) -> Any:
        return fd.jvp(LINALG.expm, (a + t * f,), (e,))[1]

    first, second = fd.jvp(along, (0.0,), (1.0,))
    step = 1e-4
    moved = [LINALG.expm(a + x * step * e) for x in (1, -1)]
    np.testing.assert_allclose(first, (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(second, (along(step) - along(-step)) / (2 * step), atol=1e-5)


def test_the_condition_of_the_exponential_of_a_normal_matrix_is_its_norm() -> None:
    value, pullback = fd.vjp(LINALG.expm_cond, np.diag([3.0, -1.0]))
    assert np.isfinite(pullback(1.0)[0]).all()
    np.testing.assert_allclose(value, np.linalg.norm([3.0, -1.0]) / np.hypot(1, np.exp(-4)))


BASIS = np.random.default_rng(0).normal(size=(3, 3))
WEIGHTS = np.arange(9.0).reshape(3, 3)
EQUAL = {
    "unit": np.eye(3),
    "diagonal": np.diag([1.0, 1.0, 2.0]),
    "rotation": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.5]]),
    **{
        f"gap {gap}": np.linalg.solve(BASIS, np.diag([1.0, 1.0 + gap, 2.0]) @ BASIS)
        for gap in (0.0, 1e-14, 1e-9, 1e-5, 1e-2)
    },
    "near unit": np.eye(3) + 1e-9 * WEIGHTS,
}


def _total(matrix: Any) -> Any:
    return np.sum(WEIGHTS * matrix).real


@pytest.mark.parametrize("derive", [
    fd.grad, lambda f: fd.jit(fd.grad(f)), lambda f: fd.jacobian(f, mode="forward"), fd.hessian,
    lambda f: lambda a: fd.vmap(fd.grad(f))(np.stack([a, a]))[1],
])  # fmt: skip
@pytest.mark.thinned(2)
@together
@pytest.mark.parametrize("name", EQUAL)
def test_a_function_by_eigenvalues_has_the_derivatives_of_the_whole_at_equal_ones(
    name: str, derive: Any
) -> None:
    found = derive(lambda a: _total(linalg.funm(a, np.exp)))(EQUAL[name])
    expected = derive(lambda a: _total(linalg.expm(a)))(EQUAL[name])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_function_by_eigenvalues_of_a_matrix_without_a_basis_of_them_is_refused() -> None:
    defective = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
    for derive in (fd.grad, lambda f: fd.jit(fd.grad(f)), lambda f: fd.grad(fd.jit(f))):
        with pytest.raises(NotDifferentiableError, match="Use expm, logm, sqrtm"):
            derive(lambda a: _total(linalg.funm(a, np.exp)))(defective)


def test_a_function_by_eigenvalues_may_close_over_what_is_differentiated() -> None:
    a = EQUAL["diagonal"]
    found = fd.hessian(lambda t: _total(linalg.funm(a, lambda w: np.exp(t * w))))(0.7)
    np.testing.assert_allclose(found, fd.hessian(lambda t: _total(linalg.expm(t * a)))(0.7))


def test_a_function_of_all_eigenvalues_together_is_no_function_of_a_matrix() -> None:
    with pytest.raises(UnsupportedNumPyError, match="must not depend on the others"):
        fd.grad(lambda a: _total(linalg.funm(a, lambda w: w / np.sum(w))))(EQUAL["diagonal"])
