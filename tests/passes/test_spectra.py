"""Functions of Hermitian matrices are recognised, and keep their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.tracing import record
from funcdiff.core.evaluate import evaluate
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
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
    trace = record(f, [a], lambda ts: f(ts[0]), lifts=False)
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


@pytest.mark.parametrize("f", [other_vectors, other_values])
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
    assert {primitive.name for primitive in spectra.rules} >= {"contract"}
