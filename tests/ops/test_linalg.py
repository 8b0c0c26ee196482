"""The primitives of linear algebra: operands, singular and degenerate matrices, batches."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from funcdiff.core.builder import Builder, Tracer
from funcdiff.core.evaluate import evaluate
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops import degeneracy, determinants, factorizations, linalg
from funcdiff.transforms.jvp import jvp
from funcdiff.transforms.linearize import linearize
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
    x = _run(lambda a, b: linalg.triangular_solve(a, b, lower=lower), a, b)
    part = np.tril(a) if lower else np.triu(a)
    assert x.dtype == dtype
    np.testing.assert_allclose(part @ x, b, rtol=1e-3 if dtype == "f4" else 1e-11)


def test_a_triangular_solve_is_accurate_where_pivoting_would_mix_rows() -> None:
    a = np.tril(np.full((60, 60), -1e8), -1) + np.eye(60)
    exact = np.zeros((60, 1))
    exact[-1] = 1.0
    x = _run(lambda a, b: linalg.triangular_solve(a, b, lower=True), a, a @ exact)
    np.testing.assert_array_equal(x, exact)


def test_right_hand_sides_of_one_matrix_are_solved_together() -> None:
    b = RANDOM.normal(size=(5, 4, 2))
    batched, _ = vmap(_program(linalg.solve, A, b[0]), 5, (False, True))
    (eq,) = [eq for eq in batched.equations if eq.primitive is linalg.solve_p]
    assert eq.results[0].type.shape == (4, 10)
    np.testing.assert_allclose(evaluate(batched, [A, b])[0], np.linalg.solve(A, b), rtol=1e-12)


@pytest.mark.parametrize(("shapes", "dtype"), [
    (((3, 2), (3, 1)), "f8"),
    (((3, 3), (2, 1)), "f8"),
    (((3, 3), (3,)), "f8"),
    (((3, 3), (3, 1)), "f2"),
    (((3, 3), (3, 1)), "i8"),
])  # fmt: skip
def test_a_system_that_does_not_fit_is_refused(shapes: Any, dtype: str) -> None:
    with pytest.raises(TypeError):
        _program(linalg.solve, *(np.ones(shape, dtype) for shape in shapes))


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
    same = _run(degeneracy.tied, w)
    np.testing.assert_array_equal(same[0], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(same[1], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(same[2], [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_a_direction_parts_equal_eigenvalues() -> None:
    a = np.diag([2.0, 2.0, 5.0])
    t = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 4.0], [3.0, 4.0, 6.0]])
    pushed, _ = jvp(_program(lambda a: factorizations.eigh(a, lower=True), a), (True,))
    w, v, dw, dv = evaluate(pushed, [a, t])
    np.testing.assert_allclose(dw, [-np.sqrt(5), np.sqrt(5), 6.0])
    h = 1e-6
    later = np.linalg.eigh(a + h * t)[1]
    np.testing.assert_allclose(np.abs(v), np.abs(later), atol=1e-5)
    np.testing.assert_allclose(v @ np.diag(w) @ v.T, a, atol=1e-14)
    np.testing.assert_allclose(
        dv @ np.diag(w) @ v.T + v @ np.diag(dw) @ v.T + v @ np.diag(w) @ dv.T, t, atol=1e-14
    )


def test_the_linear_derivative_of_equal_eigenvalues_is_their_average() -> None:
    a, t = np.eye(3), T[:3, :3]
    program = _program(lambda a: factorizations.eigvalsh(a, lower=True), a)
    primal, linear, *_ = linearize(program, (True,))
    _, *residuals = evaluate(primal, [a])
    (dw,) = evaluate(linear, [t, *residuals])
    np.testing.assert_allclose(dw, np.full(3, np.trace(t) / 3))


def test_blocks_are_in_ascending_order_each() -> None:
    same = np.kron(np.eye(2), np.ones((2, 2))) > 0
    m = A + A.T
    slopes, rotation = _run(degeneracy.blocks, m, same)
    for block in (slice(0, 2), slice(2, 4)):
        w, v = np.linalg.eigh(m[block, block])
        np.testing.assert_array_equal(slopes[block], w)
        np.testing.assert_array_equal(rotation[block, block], v)
    assert all(a <= b for a, b in pairwise(slopes[:2]))
    assert not rotation[:2, 2:].any()


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
