"""Triangular matrices are found in programs, and their systems solved by substitution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code.scipy_routines import lower_inverse, substitution, triangles
from funcdiff.backend.kernels import Kernel
from funcdiff.backend.native.routine import Routine, text_of
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.systems import solve_p, triangular_inv_p
from tests.backend.test_kernels import assert_computes

KNOWN: dict[str, Callable[[Any], Any]] = {
    "lower factor": np.linalg.cholesky,
    "upper factor": lambda a: np.linalg.cholesky(a, upper=True),
    "transposed": lambda a: np.linalg.cholesky(a).T,
    "transposed twice": lambda a: np.linalg.cholesky(a).T.conj().T,
    "stack of transposed": lambda a: np.linalg.cholesky(np.stack([a, a])).transpose(0, 2, 1),
    "negative": lambda a: -np.linalg.cholesky(a).T,
    "converted": lambda a: np.linalg.cholesky(a).astype(np.complex64),
    "matrix": lambda a: a * a,
    "rows added up": lambda a: np.cumsum(np.linalg.cholesky(a), axis=0),
    "axis moved": lambda a: np.linalg.cholesky(np.stack([a, a])).transpose(1, 0, 2),
}


def part(x: Any, *, lower: bool) -> Any:
    return np.tril(x) if lower else np.triu(x)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_to_be_a_triangle_is_one(name: str, dtype: type) -> None:
    K: Any = (np.diag([3.0, 4.0, 5.0]) + np.arange(3.0)[:, None] * np.arange(3.0) / 9.0).astype(
        dtype
    )
    K = K + 0.1 + (0.2j * (np.tri(3) - np.tri(3).T) if dtype is complex else 0.0)
    program = fd.trace(KNOWN[name])(K)
    found = triangles(program).get(program.equations[-1].results[0].number)
    zero = KNOWN[name](K) == 0.0
    if name in ("matrix", "rows added up", "axis moved"):
        assert found is None
    else:
        assert found is not None
        assert zero[..., *np.triu_indices(3, 1) if found else np.tril_indices(3, -1)].all()


def test_a_system_of_a_factor_is_solved_by_substitution() -> None:
    def f(K: Any, y: Any) -> Any:
        L = np.linalg.cholesky(K)
        return np.sum(np.linalg.solve(L.T, np.linalg.solve(L, y)) * y)

    random = np.random.default_rng(2)
    K, y = random.normal(size=(140, 140)), random.normal(size=140)
    program = fd.trace(fd.value_and_grad(f, argnums=(0, 1)))(K @ K.T / 140 + np.eye(140), y)
    text = Kernel(program, None).source.text
    assert "triangular_" in text
    assert " solve" not in text
    assert_computes(program, [K @ K.T / 140 + np.eye(140), y])


def test_machine_code_solves_by_substitution_as_well() -> None:
    def f(K: Any, y: Any) -> Any:
        return np.exp(np.sum(np.linalg.solve(np.linalg.cholesky(K), y) ** 2) / 100)

    K, y = np.eye(6) + 0.1, np.arange(6.0)
    program = fd.trace(fd.value_and_grad(f, argnums=(0, 1)))(K, y)
    steps = text_of(program, alone=True).steps
    solved = [s for s in steps if s.operation.primitive in (solve_p, triangular_inv_p)]
    assert solved
    assert all(s.function is not s.operation.function for s in solved)
    for found, expected in zip(
        Routine(program, text_of(program, alone=True), lambda: Kernel(program, None))(K, y),
        evaluate(program, [K, y]),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
def test_lapack_reads_one_triangle_in_any_order(dtype: type, lower: bool) -> None:
    pytest.importorskip("scipy")
    random = np.random.default_rng(3)
    matrix: Any = (random.normal(size=(5, 5)) + 3.0 * np.eye(5)).astype(dtype)
    if matrix.dtype.kind == "c":
        matrix = matrix + matrix.dtype.type(0.5j) * random.normal(size=(5, 5)).astype(dtype)
    b: Any = random.normal(size=(5, 2)).astype(dtype)
    type_ = ArrayType(matrix.shape, matrix.dtype)
    solve, invert = substitution(type_, lower=lower), lower_inverse(type_)
    assert solve is not None
    assert invert is not None
    tolerance = 1e-5 if matrix.dtype.char in "fF" else 1e-12
    for a in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=0)[::2]):
        triangle, before = part(a, lower=lower), a.copy()
        np.testing.assert_allclose(triangle @ solve(a, b), b, atol=tolerance)
        expected = np.linalg.inv(np.tril(a))
        np.testing.assert_allclose(invert(a), expected, atol=tolerance)
        np.testing.assert_array_equal(a, before)
    matrix[2, 2] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        solve(matrix, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        invert(matrix)


def test_without_lapack_numpy_does_it() -> None:
    half, stack = np.dtype(np.longdouble), ArrayType((2, 3, 3), np.dtype(float))
    for type_ in (ArrayType((3, 3), half), stack, ArrayType((0, 0), np.dtype(float))):
        assert substitution(type_, lower=True) is None
        assert lower_inverse(type_) is None
