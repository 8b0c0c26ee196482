"""Functions of matrices are recognised, and keep their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.calls.tracing import nested_policy, record
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.core.running.evaluate import evaluate
from funcdiff.ops.products.contract import contract_p
from funcdiff.passes import spectra
from funcdiff.passes.simplify import simplify

A = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 3.0]])


def columns(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.T


def rows(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return v @ (np.exp(w)[:, None] * v.T)


def diagonal(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return v @ np.diag(np.exp(w)) @ v.T


def einsum(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return np.einsum("ij,j,kj->ik", v, np.exp(w), v)


def other_vectors(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v


def other_values(a: Any) -> Any:
    _, v = np.linalg.eigh(a)
    return (v * a[0]) @ v.T


def as_recorded(f: Callable[[Any], Any], a: Any) -> Program:
    """Return the program of `f` without simplification."""
    trace = record(f, [a], lambda ts: f(ts[0]), nested_policy(lifts=False))
    return program_of(*trace.recording)


def names(program: Program) -> set[str]:
    return {eq.primitive.name for eq in program.equations}


@pytest.mark.parametrize("f", [columns, rows, diagonal, einsum])
def test_a_function_of_a_matrix_is_recognised_and_keeps_every_bit(f: Callable[[Any], Any]) -> None:
    program = as_recorded(f, A)
    simplified = simplify(program)
    assert "spectral" in names(simplified)
    for matrix in (A, np.eye(3), np.diag([1.0, 1.0, 2.0])):
        (before,), (after,) = evaluate(program, [matrix]), evaluate(simplified, [matrix])
        np.testing.assert_array_equal(before, after)


def only_the_diagonal(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return np.einsum("ik,ik->i", v * np.exp(w), v)


def stack_behind(a: Any) -> Any:
    w, v = np.linalg.eigh(np.stack([a, 2.0 * a]))
    return np.einsum("bik,bjk->ijb", v * np.exp(w)[:, None, :], v)


@pytest.mark.parametrize("f", [other_vectors, other_values, only_the_diagonal, stack_behind])
def test_what_is_no_function_of_the_matrix_is_left_alone(f: Callable[[Any], Any]) -> None:
    assert "spectral" not in names(simplify(as_recorded(f, A)))


@pytest.mark.parametrize("f", [columns, rows, diagonal, einsum])
def test_every_spelling_has_the_one_derivative_at_equal_eigenvalues(
    f: Callable[[Any], Any],
) -> None:
    weights = np.array([[1.0, 2.0, 0.0], [2.0, 5.0, 1.0], [0.0, 1.0, -1.0]])
    gradient = fd.grad(lambda a: np.sum(f(a) * weights))(np.eye(3))
    np.testing.assert_allclose(gradient, np.e * weights, rtol=1e-12)


def test_recognition_is_idempotent() -> None:
    once = simplify(as_recorded(columns, A))
    assert simplify(once) == once


def test_the_rules_stand_for_the_products_that_may_be_one() -> None:
    assert contract_p in spectra.rules


# ---- functions of singular values ----------------------------------------------------------------


def scaled_left(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * np.exp(s)) @ vh


def scaled_right(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u @ (np.exp(s)[:, None] * vh)


def transposed(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return vh.conj().T @ np.diag(np.exp(s)) @ u.conj().T


def of_full(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    return (u[:, : len(s)] * np.exp(s)) @ vh[: len(s)]


def fewer(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u[:, :1] * s[:1]) @ vh[:1]


def fewer_on_one_side(a: Any) -> Any:
    u, s, _ = np.linalg.svd(a)
    return (u[:, :1] * s[:1]) @ u[:, :1].conj().T


def turned_around(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    count = len(s)
    return (u[:, count - 1 :: -1] * s[::-1]) @ vh[count - 1 :: -1]


def one_side(a: Any) -> Any:
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return (u * np.exp(s)) @ u.T


def other_ones(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    return (u[:, :2] * s[:2]) @ vh[1:]


def other_scales(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    return (u[:, ::-1] * s) @ vh[::-1]


RECOGNISED = [
    scaled_left, scaled_right, transposed, of_full, fewer, fewer_on_one_side, turned_around
]  # fmt: skip


@pytest.mark.parametrize("f", RECOGNISED)
@pytest.mark.parametrize("dtype", [float, complex])
def test_a_function_of_singular_values_is_recognised_and_keeps_every_bit(
    f: Callable[[Any], Any], dtype: Any
) -> None:
    for matrix in (A, np.eye(3, 2), np.eye(2, 3)):
        program = as_recorded(f, matrix.astype(dtype))
        simplified = simplify(program)
        assert names(simplified) & {"singular_function", "gram_function"}
        assert simplify(simplified) == simplified
        (before,) = evaluate(program, [matrix.astype(dtype)])
        (after,) = evaluate(simplified, [matrix.astype(dtype)])
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("f", [one_side, other_ones, other_scales])
def test_what_is_no_function_of_all_singular_values_is_left_alone(f: Callable[[Any], Any]) -> None:
    assert names(simplify(as_recorded(f, A))).isdisjoint(
        {"spectral", "singular_function", "gram_function"}
    )


# ---- sums ----------------------------------------------------------------------------------------


def norm(a: Any) -> Any:
    return np.linalg.norm(np.linalg.eigvalsh(a))


def mean(a: Any) -> Any:
    return np.mean(np.exp(np.linalg.eigh(a)[0]))


def dot(a: Any) -> Any:
    w = np.linalg.eigvalsh(a)
    return np.dot(w, w)


def nuclear(a: Any) -> Any:
    return np.linalg.norm(a, "nuc")


def weighted(a: Any) -> Any:
    return np.sum(np.linalg.eigvalsh(a) * a[0])


def count(a: Any) -> Any:
    return np.sum(np.linalg.eigvalsh(a) > 1)


@pytest.mark.parametrize(("f", "name"), [
    (norm, "spectral_sum"), (mean, "spectral_sum"), (dot, "spectral_sum"),
    (nuclear, "singular_sum"),
])  # fmt: skip
def test_a_sum_of_a_function_of_all_values_is_recognised_and_keeps_every_bit(
    f: Callable[[Any], Any], name: str
) -> None:
    for matrix in (A, np.eye(3)):
        program = as_recorded(f, matrix)
        simplified = simplify(program)
        assert name in names(simplified)
        assert simplify(simplified) == simplified
        assert evaluate(program, [matrix]) == evaluate(simplified, [matrix])


@pytest.mark.parametrize("f", [weighted, count])
def test_what_is_no_sum_of_one_function_or_has_no_derivative_is_left_alone(
    f: Callable[[Any], Any],
) -> None:
    assert names(simplify(as_recorded(f, A))).isdisjoint({"spectral_sum", "singular_sum"})
