"""The primitives of linear algebra: operands, singular and degenerate matrices, batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.linalg import degeneracy, determinants, systems
from funcdiff.transforms.vmap import vmap

RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=(4, 4))
T = RANDOM.normal(size=(4, 4))


def _program(operation: Callable[..., Any], *arrays: Any) -> Program:
    with Builder("test") as builder:
        inputs = [builder.input(ArrayType(x.shape, x.dtype)) for x in arrays]
        result = operation(*inputs)
        return builder.program([result] if isinstance(result, Tracer) else result)


def _run(operation: Callable[..., Any], *arrays: Any) -> Any:
    results = evaluate(_program(operation, *arrays), arrays)
    return results[0] if len(results) == 1 else results


# ---- systems -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_a_triangular_solve_does_not_look_at_the_other_triangle(lower: bool, dtype: str) -> None:
    a, b = A.astype(dtype), T[:, :2].astype(dtype)
    x = _run(lambda a, b: systems.triangular_solve(a, b, lower=lower), a, b)
    part = np.tril(a) if lower else np.triu(a)
    assert x.dtype == dtype
    np.testing.assert_allclose(part @ x, b, rtol=1e-3 if dtype == "f4" else 1e-11)


def test_a_triangular_solve_is_accurate_where_pivoting_would_mix_rows() -> None:
    a = np.tril(np.full((60, 60), -1e8), -1) + np.eye(60)
    exact = np.zeros((60, 1))
    exact[-1] = 1.0
    x = _run(lambda a, b: systems.triangular_solve(a, b, lower=True), a, a @ exact)
    np.testing.assert_array_equal(x, exact)


def test_right_hand_sides_of_one_matrix_are_solved_together() -> None:
    b = RANDOM.normal(size=(5, 4, 2))
    batched, _ = vmap(_program(systems.solve, A, b[0]), 5, (False, True))
    (eq,) = [eq for eq in batched.equations if eq.primitive is systems.solve_p]
    assert eq.results[0].type.shape == (4, 10)
    np.testing.assert_allclose(evaluate(batched, [A, b])[0], np.linalg.solve(A, b), rtol=1e-12)


# ---- determinants ------------------------------------------------------------------------------


def _cofactors(a: Any) -> Any:
    n = len(a)
    minors = [
        [np.linalg.det(np.delete(np.delete(a, i, 0), k, 1)) for k in range(n)] for i in range(n)
    ]
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    return signs * np.array(minors)


def _of_rank(rank: int) -> Any:
    return A[:, :rank] @ T[:rank]


@pytest.mark.parametrize("rank", range(5))
def test_the_adjugate_is_the_matrix_of_cofactors_whatever_the_rank(rank: int) -> None:
    a = _of_rank(rank)
    np.testing.assert_allclose(
        _run(determinants.adjugate, a), _cofactors(a).T, rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("rank", range(5))
def test_derivatives_of_the_adjugate_are_exact_whatever_the_rank(rank: int) -> None:
    a, s = _of_rank(rank), np.triu(A) - T.T
    h = 2.0**-7  # the adjugate is a cubic polynomial, which central differences get exactly
    first = _run(determinants.adjugate, a, T)
    second = _run(determinants.adjugate, a, T, s)
    third = _run(determinants.adjugate, a, T, T, T)
    plus, minus = (_cofactors(a + sign * T).T for sign in (1, -1))
    np.testing.assert_allclose((plus - minus) / 2, first + third / 6, rtol=1e-9, atol=1e-12)
    moved = [_run(determinants.adjugate, a + sign * h * s, T) for sign in (1, -1)]
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * h), second, rtol=1e-8, atol=1e-10)


def test_the_highest_derivative_of_the_adjugate_is_a_constant() -> None:
    fourth = _run(determinants.adjugate, A, T, T, T, T)
    np.testing.assert_array_equal(fourth, np.zeros((4, 4)))
    np.testing.assert_allclose(
        _run(determinants.adjugate, A, T, T, T), 6 * _cofactors(T).T, rtol=1e-10
    )


# ---- equal eigenvalues -------------------------------------------------------------------------


def test_eigenvalues_within_rounding_are_equal() -> None:
    w = np.array([[1.0, 1.0 + 4e-16, 2.0], [0.0, 0.0, 1e-300], [-1.0, 3.0, 3.0]])
    same = _run(degeneracy.equal_pairs, w)
    np.testing.assert_array_equal(same[0], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(same[1], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(same[2], [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_a_generic_rotation_turns_each_block() -> None:
    same = np.kron(np.eye(2), np.ones((2, 2))) > 0
    rotation = degeneracy._generic_rotation(same)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-15)
    assert (np.abs(rotation[same]) > 0.1).all()
    assert not rotation[~same].any()
    unit = degeneracy._generic_rotation(np.eye(3) > 0)
    np.testing.assert_array_equal(unit, np.eye(3))


@pytest.mark.parametrize("ct", [
    np.array([[0.0, 1.0], [0.0, 0.0]]),
    np.array([[1j, 0.0], [0.0, 1.0]]),
])  # fmt: skip
def test_a_cotangent_that_turns_equal_eigenvectors_raises(ct: Any) -> None:
    same = np.ones((2, 2), bool)
    turned = degeneracy.Gauge(checked=True)
    with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
        degeneracy.gauge_p.impl(turned)(ct, same)


def test_a_cotangent_that_turns_different_eigenvectors_is_passed_on() -> None:
    ct = np.array([[3.0, 1.0], [0.0, 0.0]])
    watched = degeneracy.gauge_p.impl(degeneracy.Gauge(checked=True))
    assert watched(ct, np.eye(2, dtype=bool)) is ct


@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0], [1.0, 1.0 + 1e-6, 3.0]])
def test_values_that_should_agree_but_do_not_raise(x: Any) -> None:
    same = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], bool)
    with pytest.raises(NotDifferentiableError, match="in different ways"):
        degeneracy.mean_over_ties_p.impl(degeneracy.Sharing(checked=True))(np.array(x), same)


# ---- functions of a matrix ---------------------------------------------------------------------

TURNED, _ = np.linalg.qr(A)
COMPLEX_TURNED, _ = np.linalg.qr(A + 1j * T)
SPECTRA = ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0], [1.0, 3.0, 3.0, 3.0])
SPELLINGS: dict[str, Callable[[Any, Any], Any]] = {
    "columns": lambda f, v: (v * f) @ v.conj().T,
    "rows": lambda f, v: v @ (f[:, None] * v.conj().T),
    "diag": lambda f, v: v @ np.diag(f) @ v.conj().T,
    "einsum": lambda f, v: np.einsum("ij,j,kj->ik", v, f, v.conj()),
    "division": lambda f, v: (v / (1 / f)) @ v.conj().T,
    "transpose": lambda f, v: (v.conj() * f) @ v.T,
    "scaled": lambda f, v: (v * (2.0 * f) * 0.5) @ v.T.conj(),
}


def _with_spectrum(v: Any, w: Any) -> Any:
    return (v * np.array(w)) @ v.conj().T


def _weighted(f: Callable[[Any], Any], spell: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.real(np.sum(spell(f(w), v) * (A + 0.3 * T.T)))

    return function


def _assert_first_derivatives(f: Callable[[Any], Any], x: Any, t: Any) -> None:
    h = 1e-5
    slope = (f(x + h * t) - f(x - h * t)) / (2 * h)
    gradient = fd.grad(f)(x)
    np.testing.assert_allclose(np.real(np.sum(gradient.conj() * t)), slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fd.jvp(f, (x,), (t,))[1], slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fd.linearize(f, x)[1](t), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("v", [TURNED, COMPLEX_TURNED], ids=["real", "complex"])
def test_every_spelling_of_a_function_of_a_matrix_is_known(spelling: str, v: Any) -> None:
    t = _with_spectrum(v[::-1], [0.3, -1.1, 0.8, 0.5])
    f = _weighted(np.exp, SPELLINGS[spelling])
    _assert_first_derivatives(f, _with_spectrum(v, SPECTRA[1]), t)


@pytest.mark.slow
def test_the_fourth_derivative_of_an_exponential_along_a_line_is_exact() -> None:
    t = A + A.T

    def line(s: Any) -> Any:
        w, v = np.linalg.eigh(np.eye(4) + s * t)
        return np.sum(((v * np.exp(w)) @ v.T) * T)

    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda s: fd.jvp(f, (s,), (1.0,))[1]

    fourth = derivative(derivative(derivative(derivative(line))))(0.0)
    np.testing.assert_allclose(fourth, np.e * np.sum(np.linalg.matrix_power(t, 4) * T), rtol=1e-9)


def _apply(x: Any) -> Any:
    """Return a weighted V·(log(w)·(Vᵀ·A)), which is not recognised, and log(1) is 0."""
    w, v = np.linalg.eigh(x)
    return np.sum((v @ (np.log(w)[:, None] * (v.T @ A))) * T)


def _reversed_values(x: Any) -> Any:
    w, v = np.linalg.eigh(x)
    return np.sum(((v * w[::-1]) @ v.T) * T)


def _numbered_values(x: Any) -> Any:
    w, v = np.linalg.eigh(x)
    return np.sum(((v * (w + np.arange(4.0))) @ v.T) * T)


@pytest.mark.parametrize("f", [_apply, _reversed_values, _numbered_values])
@pytest.mark.parametrize("derive", [fd.grad, fd.jacrev, fd.jacfwd])
def test_what_is_ambiguous_at_equal_eigenvalues_raises(f: Any, derive: Any) -> None:
    with pytest.raises(NotDifferentiableError, match="in different ways"):
        derive(f)(np.eye(4))
    assert np.isfinite(derive(f)(np.diag([1.0, 2, 3, 4]))).all()
